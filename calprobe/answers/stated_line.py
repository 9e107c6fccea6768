"""The line of a free reply that states how sure it is, apart from the answer and its reasons."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import accumulate

from calprobe.answers.reading import MOST_CHARACTERS, Reading
from calprobe.answers.stated import StatedParser, read_stated

# Not a confidence interval, not "Sure!" or "Certainly, 12% of ..", and not the probability that a question is about.
_ABOUT = re.compile(
    r"""(?ix) \bconfiden(?:ce|t)\b(?!\s+(?:interval|region|bound|limit)|(?<=%\ confidence)\s+level) | \bcertainty\b
    | (?:\b(?:am|feel|how|quite|very|pretty|not|percent|\w{1,20}ly)|['’]m|%)\s+(?:sure|certain)\b
    | ^[\W_]*probability\s*(?:\([^()]*\))?[\W_]*[:=] | \bprobability\b(?=.{0,200}\b(?:correct|right|true)\b)"""
)
_LABEL = re.compile(
    r"(?i)\b(?:confidence|certainty|probability)\b[^:=\d(]{0,60}(?:\([^()]{0,60}\))?[^:=\w]{0,9}[:=]"
    r"|<(?:confidence|certainty|probability)\b[^<>]{0,40}>"
)
# "I'm not 100% sure" says what it is not.
_NOT = re.compile(r"(?i)(?:\bnot|n['’]t)\s+(?:\w{1,20}\s+)?[\d.]{1,8}\s*(?:%|percent\b)\s*(?:sure|certain|confident)\b")
_THAT = re.compile(r"(?i)\b(?:sure|certain|confident)\s+that\b")
_MOST_WORDS = 3  # of a heading above the number


def read_stated_line(text: str, scale: str = "x", *, parser: StatedParser = "strict") -> Reading:
    """The confidence in [0, 1] that a reply with an answer states beside it, or why there is none.

    Only what the reply says of its confidence or certainty, or of the probability that it is right, is read, in
    English: behind `Confidence:` (`Certainty:`, `Probability:`) or in a tag `<confidence>`, also if the number stands
    on the next line, else the line. Numbers elsewhere are the answer's. Of several such lines the last with a number
    counts; if that cannot be read, none does.

    Args:
        text: the reply.
        scale: what a number stands for, see `read_stated`.
        parser: which rules, see `read_stated`.
    Raises:
        UsageError: another scale, or another parser.

    >>> read_stated_line("In 1912, 3% of all ships.\\nConfidence: 80%").value
    0.8
    >>> read_stated_line("In 1912, 3% of all ships.").status
    'none'
    """
    reading = read_stated("", scale, parser=parser)  # nothing to read; refuses what is no scale and no parser
    for start, words in reversed(_said(text[:MOST_CHARACTERS])):
        reading = read_stated(words, scale, parser=parser)
        if reading.status != "none":
            if reading.start < 0:
                return reading
            return replace(reading, start=start + reading.start, end=start + reading.end)
    return reading


def _said(text: str) -> list[tuple[int, str]]:
    """What the reply says of its confidence, in order: where it begins, and the words."""
    all_lines = text.splitlines(keepends=True)
    starts = accumulate(map(len, all_lines), initial=0)
    lines = [(start, line) for start, line in zip(starts, all_lines, strict=False) if not line.isspace()]
    statements = []
    for place, (start, line) in enumerate(lines):
        if not _ABOUT.search(line) or _NOT.search(line):
            continue
        label = _LABEL.search(line)
        begin = label.end() if label else 0
        words = line[begin:].partition("</")[0]
        if that := _THAT.search(words):
            words = words[: that.end()]  # what it is sure of may have numbers of its own
        if re.search(r"\d", words):
            statements.append((start + begin, words))
        elif place + 1 < len(lines) and (len(line.split()) <= _MOST_WORDS or (label and not re.search(r"\w", words))):
            statements.append(lines[place + 1])
    return statements
