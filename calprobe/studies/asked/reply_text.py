"""Replies as lines of text: question, options, the reply with what was read off it marked, and the verdict."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator

from calprobe.answers.reading import GIVEN
from calprobe.measures.number_text import short
from calprobe.messages import shortened
from calprobe.studies.asked.shown_replies import ReplyChoice, ShownReplies, ShownReply, place_of

LONGEST = 600  # characters of a question or reply in lines of text; --json has all
LONGEST_ANSWER = 80  # of the answer in a verdict; all of it is marked in the reply
LONGEST_OPTION = 40  # of the right option in a verdict; all of it stands among the options
SPAN = (">>", "<<")  # around what the reader took


def replies_text(shown: ShownReplies, width: int, *, prompts: bool = False) -> str:
    """The replies as lines of at most `width` columns; with `prompts` each with what was sent."""
    lines = [*_wrapped(_headline(shown), width)]
    for place, reply in enumerate(shown.replies, 1):
        lines += ["", *_block(f"{place}. ", reply, shown, width, prompts=prompts)]
    return "\n".join(lines)


def _headline(shown: ShownReplies) -> str:
    """What is shown of how many, and in which order."""
    kinds = "that another run answers otherwise" if shown.others else " or ".join(sorted(shown.choice.keep))
    some = "" if len(shown.replies) == shown.kept else f" {len(shown.replies):,} of these"
    sure = "surest" if shown.choice.surest else "least sure"
    by = "" if shown.estimator is None else f", the {sure} by {shown.estimator} first"
    order = f";{some}{by}".replace(";,", ";") if some or by else ""
    chosen = f"{kinds}{_among(shown.choice)}"
    return f"{shown.run}: {shown.kept:,} of {shown.of:,} replies {chosen}{order if shown.replies else ''}."


def _among(choice: ReplyChoice) -> str:
    """Which replies were looked at, where these are not all."""
    named = (("under", choice.variants), ("to", choice.sets), ("of group", choice.groups))
    parts = [f"{word} {', '.join(names)}" for word, names in named if names is not None]
    parts += [f"with {shortened(choice.where)!r}"] if choice.where else []
    return f" among those {' '.join(parts)}" if parts else ""


def _block(mark: str, reply: ShownReply, shown: ShownReplies, width: int, *, prompts: bool) -> Iterator[str]:
    indent = " " * len(mark)
    yield from _wrapped(
        f"{reply.set} {reply.question}{_samples(reply)}, {reply.variant}: {verdict_of(reply)}", width, mark
    )
    yield from _wrapped(_shortened(reply.prompt if prompts and reply.prompt else reply.text), width, indent)
    if not prompts:
        options = [f"{label} {text}" for label, text in reply.options.items()]
        lines = ["; ".join(options)] if len("; ".join(options)) + len(indent) <= width else options
        yield from (line for option in lines for line in _wrapped(option, width, indent))
    if reply.thought:
        yield from _wrapped(f"thought: {_shortened(reply.thought)}", width, indent)
    yield from _wrapped(f"reply: {marked(reply)}" if not reply.error else f"failed: {reply.error}", width, indent)
    if reply.labels:
        probabilities = ", ".join(f"{label} {short(value, 3)}" for label, value in reply.labels.items())
        yield from _wrapped(f"labels: {probabilities}", width, indent)
    if reply.confidences:
        confidences = ", ".join(f"{name} {short(value, 3)}" for name, value in reply.confidences.items())
        yield from _wrapped(f"confidence: {confidences}", width, indent)
    if (other := shown.others.get(place_of(reply))) is not None:
        yield from _wrapped(f"other run: {verdict_of(other)}: {marked(other)}", width, indent)


def verdict_of(reply: ShownReply) -> str:
    """wrong, A where B (Paris) is right; and what is odd about the reply."""
    right = (
        f"{reply.gold} ({shortened(reply.options[reply.gold], LONGEST_OPTION)})"
        if reply.gold in reply.options
        else reply.gold
    )
    which = f"; right is {right}" if right else ""  # replies imported without questions have no right answer
    if reply.correct is None:
        return f"no reply{which}"
    if reply.rule == GIVEN:
        parts = [f"graded {'right' if reply.correct else 'wrong'} by the import{which}"]
    elif reply.answer is None:
        parts = [f"no answer read ({reply.status}){which}"]
    else:
        answer = shortened(reply.answer, LONGEST_ANSWER)  # an open one may be a paragraph
        parts = [f"right, {answer}" if reply.correct else f"wrong, {answer} where {right} is right"]
    parts += [word for word, holds in (("cut", reply.cut), ("abstained", reply.abstained)) if holds]
    parts += [reply.status] if reply.status not in ("ok", "cut") and reply.answer is not None else []
    if not math.isnan(reply.confidence):
        other = f" of {reply.confident_in}" if reply.confident_in not in ("", reply.answer) else ""
        parts.append(f"{short(reply.confidence, 2)} sure{other}")
    if reply.rule == GIVEN:
        return ", ".join(parts)
    by = f"read by {reply.reader}" + (
        f", graded by {reply.graded_by}" if reply.kind == "open" and reply.graded_by else ""
    )
    return f"{', '.join(parts)}; {by}"


def marked(reply: ShownReply) -> str:
    """The reply with what the reader took between >> and <<; long ones around it."""
    text, (start, end) = reply.reply, (reply.start, reply.end)
    if start < 0:
        return _shortened(text) or "(empty)"
    before, taken, after = text[:start], text[start:end], text[end:]
    half = LONGEST // 2
    taken = f"{taken[:half]}..{taken[-half:]}" if len(taken) > LONGEST else taken
    before = f"..{before[-half:]}" if len(before) > half else before
    after = f"{after[:half]}.." if len(after) > half else after
    return f"{before}{SPAN[0]}{taken}{SPAN[1]}{after}"


def _samples(reply: ShownReply) -> str:
    parts = [f"wording {reply.paraphrase}"] * bool(reply.paraphrase) + [f"sample {reply.sample}"] * bool(reply.sample)
    return f" ({', '.join(parts)})" if parts else ""


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}.."


def _wrapped(text: str, width: int, mark: str = "") -> Iterator[str]:
    """Lines of a text, the first behind the mark, others below it."""
    rest = " " * len(mark)
    for number, line in enumerate(text.splitlines() or [""]):
        first = mark if not number else rest
        yield from textwrap.wrap(line, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
