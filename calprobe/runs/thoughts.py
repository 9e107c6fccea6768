"""Thoughts of reasoning models, kept apart from the reply by the markers of their template's family."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from calprobe.runs.replies import THOUGHT_ENDED


class Markers(NamedTuple):
    """What stands around a thought."""

    start: str
    end: str
    before_end: str = ""  # what the family writes between a thought and its end marker


# By family: most open models; Magistral; Cohere; Seed; gpt-oss, whose answer begins where its last channel does.
FAMILIES = (
    Markers("<think>", "</think>"),
    Markers("[THINK]", "[/THINK]"),
    Markers("<|START_THINKING|>", "<|END_THINKING|>"),
    Markers("<seed:think>", "</seed:think>"),
    Markers("<|channel|>analysis<|message|>", "<|channel|>final<|message|>", "<|end|><|start|>assistant"),
)


END_OF_THOUGHT = re.compile("|".join(re.escape(markers.end) for markers in FAMILIES))


class Split(NamedTuple):
    """A reply taken apart."""

    reasoning: str | None  # None: no thought
    text: str
    is_open: bool  # the thought has no end, so there is no text


def markers_of(template: str, vocabulary: Collection[str]) -> Markers | None:
    """The markers of a chat template that has one of them, or of a vocabulary that has both; None: no such model.

    >>> markers_of("{{ messages }}<think>", ())
    Markers(start='<think>', end='</think>', before_end='')
    """
    for markers in FAMILIES:
        pair = (markers.start, markers.end)
        if any(marker in template for marker in pair) or all(marker in vocabulary for marker in pair):
            return markers
    return None


def is_opened(prompt: str, markers: Markers) -> bool:
    """Whether a prompt ends inside a thought, so that the reply begins with it."""
    return prompt.rfind(markers.start) > prompt.rfind(markers.end)


def ending(markers: Markers) -> str:
    """What ends a thought that has reached its budget, in words of our own, with the end marker."""
    if markers.before_end:
        return f"\n\n{THOUGHT_ENDED}{markers.before_end}{markers.end}"
    return f"\n\n{THOUGHT_ENDED}\n{markers.end}\n\n"


def split_thought(reply: str, markers: Markers, opened: bool) -> Split:
    """Take a thought off the beginning of a reply; white space around both, if there is a thought, goes.

    Args:
        reply: with special tokens as text.
        markers: of the model's family.
        opened: see `is_opened`.

    >>> split_thought("<think>One and one..</think>Two.", FAMILIES[0], opened=False)
    Split(reasoning='One and one..', text='Two.', is_open=False)
    >>> split_thought("One and one", FAMILIES[0], opened=True)
    Split(reasoning='One and one', text='', is_open=True)
    """
    begun = reply.lstrip().startswith(markers.start)
    thought, end, text = reply.partition(markers.end)
    if not (begun or opened or end):
        return Split(None, reply, False)
    thought = thought.strip()
    return Split(thought.removeprefix(markers.start).strip(), text.strip(), not end)


def without_thought(reply: str) -> Split:
    """The reply without a thought that whoever answered has left in front of it, in the markers of any known family."""
    for markers in FAMILIES:
        split = split_thought(reply, markers, opened=False)
        if split.reasoning is not None:
            return split
    return Split(None, reply, False)
