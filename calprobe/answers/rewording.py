"""The question in a reply of a model that was asked to put a question in other words."""

from __future__ import annotations

import re

_MARK = re.compile(r"(?:[-–—•*]|\(?\d{1,2}[.)])\s+")  # of a list
_TITLE = re.compile(
    r"[*_#\s]{0,4}(?:(?:the|a|my|new|other|another|rephrased|reworded|rewritten|paraphrased)\s+){0,3}"
    r"(?:question|version|rephrasing|rewording|paraphrase|q)\s{0,2}[*_]{0,2}:[*_]{0,2}\s*",
    re.IGNORECASE,
)
_AROUND = ' \t\u00a0*_`"“”„«»'
_QUOTES = "'‘’"


def read_rewording(text: str, several_lines: bool = False) -> str:
    """The question that the reply asks, without what stands around it: a sentence in front, a list's mark, quotes.

    Args:
        text: the reply.
        several_lines: the question may have several lines; else it is the first that is no announcement.

    >>> read_rewording('Sure! Here is another way:\\n\\n1. "In which year did Rome fall?"\\n2. When was it?')
    'In which year did Rome fall?'
    >>> read_rewording("New question: Who led Norway?")
    'Who led Norway?'
    """
    lines = [line.strip() for line in text.strip().splitlines()]
    while len(lines) > 1 and (not lines[0] or lines[0].rstrip(_AROUND).endswith(":")):
        lines.pop(0)
    wording = " ".join(line for line in lines if line) if several_lines else (lines[0] if lines else "")
    for pattern in (_MARK, _TITLE, _MARK):
        if match := pattern.match(wording):
            wording = wording[match.end() :]
    wording = wording.strip(_AROUND)
    if len(wording) > 1 and wording[0] in _QUOTES and wording[-1] in _QUOTES:
        wording = wording[1:-1].strip()
    return wording
