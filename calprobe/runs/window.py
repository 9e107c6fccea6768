"""Label probabilities from a window of the most probable tokens, as servers and vLLM show them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from calprobe.runs.alternatives import Alternatives, least_entropy
from calprobe.runs.replies import LabelScores, said_label


class WindowToken(NamedTuple):
    """A token of a window."""

    text: str
    logprob: float
    id: int | None = None  # None where it is hidden


class Step(NamedTuple):
    """A position of the reply: the token that was chosen, and the window there."""

    chosen: WindowToken
    window: Sequence[WindowToken]


def window_label_scores(labels: tuple[str, ...], steps: Sequence[Step], text: str) -> LabelScores:
    """The labels' log-probabilities at the first position and wherever a label was generated.

    A label's mass is the sum over the tokens of the window that say it (`said_label`).
    What the window does not show is not known: a label without any token there is -inf, and `least` bounds it.

    Args:
        labels: of the question's options.
        steps: of the reply, from the first generated token on.
        text: of the reply, to find where its tokens stand.
    """
    places = [n for n, step in enumerate(steps) if n == 0 or said_label(step.chosen.text) in labels]
    starts = _starts([step.chosen.text for step in steps], text)
    logprobs = np.full((len(places), len(labels)), -np.inf)
    ranks = np.zeros((len(places), len(labels)), np.int64)
    forms: list[dict[int, None]] = [{} for _ in labels]
    least = np.full(len(places), -np.inf)
    for row, place in enumerate(places):
        window = _with_chosen(steps[place])
        values = np.array([token.logprob for token in window])
        least[row] = values.min() if len(values) else 0.0
        for column, label in enumerate(labels):
            indices = [n for n, token in enumerate(window) if said_label(token.text) == label]
            ranks[row, column] = len(window)
            if indices:
                logprobs[row, column] = min(np.logaddexp.reduce(values[indices]), 0.0)
                ranks[row, column] = (values > values[indices].max()).sum()
            forms[column] |= {number: None for n in indices if (number := window[n].id) is not None}
    offsets = None if starts is None else np.array([starts[place] for place in places], np.int64)
    return LabelScores(
        labels, tuple(tuple(form) for form in forms), np.array(places, np.int64), logprobs, least, offsets, ranks
    )


def window_alternatives(steps: Sequence[Step], count: int) -> Alternatives:
    """The generated token at each position with the most probable others of the window, `count` in all at most.

    Entropies are the least that the window allows: what it does not show counts as one token more.

    >>> step = Step(WindowToken("a", -1.0), [WindowToken("b", -0.5), WindowToken("a", -1.0)])
    >>> window_alternatives([step], 10).tokens()[0][1]
    ('b', -0.5)
    """
    positions = []
    for step in steps:
        tokens = [token for token in step.window if (token.text, token.id) != (step.chosen.text, step.chosen.id)]
        likeliest = sorted(tokens, key=lambda token: -token.logprob)[: count - 1]
        positions.append([(token.text, token.id, token.logprob) for token in (step.chosen, *likeliest)])
    return Alternatives.of(
        positions, [least_entropy([token.logprob for token in _with_chosen(step)]) for step in steps], complete=False
    )


def tokens_in_front(tokens: Sequence[str], text: str) -> int | None:
    """How many tokens stand in front of those that a text consists of; None if the last tokens are not the text.

    >>> tokens_in_front(["<think>", "Hm", "</think>", "\\n", "Two", "."], "Two.")
    4
    """
    target, tail = text.strip(), ""
    for start in range(len(tokens), -1, -1):
        tail = (tokens[start] if start < len(tokens) else "") + tail
        if len(tail) >= len(target) and tail.strip() == target:
            return start
        if len(tail.strip()) > len(target):
            break
    return None


def _with_chosen(step: Step) -> Sequence[WindowToken]:
    """The window, and the chosen token where a sample lies outside of it."""
    pairs = {(token.text, token.id) for token in step.window}
    is_outside = step.window and (step.chosen.text, step.chosen.id) not in pairs
    return [*step.window, step.chosen] if is_outside or not step.window else step.window


def _starts(tokens: Sequence[str], text: str) -> list[int] | None:
    """How many characters of the text stand before each token; None if the tokens are not the text's."""
    starts, end = [], 0
    for token in tokens:
        starts.append(min(end, len(text)))
        if not text.startswith(token, end) and end < len(text):
            return None
        end += len(token)
    return starts if end >= len(text) else None
