"""The label at the beginning of a reply, by the rules of the reliability audit (arXiv 2605.02038, appendix A.3)."""

from __future__ import annotations

import re
from collections import deque

from calprobe.answers.label_patterns import Labels
from calprobe.answers.reading import Reading

_LEADING = re.compile(r"[\W_]*")  # white space, punctuation, bullets of Markdown


def read_first_char(text: str, labels: Labels) -> Reading:
    """The label that the reply's first characters are; else one on a line of its own, the last of them.

    1. `first_line`: the first line that is not empty, without white space, punctuation and bullets in front, begins
       with a label. What follows does not matter: `Based on..` is B.
    2. `own_line`: from the last line on, a line that has a label and punctuation alone.

    Labels of one character count in their own case only, longer ones in either.

    >>> from calprobe.answers.label_patterns import labels_of
    >>> labels = labels_of(("A", "B", "C"))
    >>> [read_first_char(text, labels).value for text in ("**C**", "Based on it, A", "The sky.\\nA")]
    ['C', 'B', 'A']
    """
    something = re.search(r"\S", text)
    if something is None:
        return Reading(None, "none", "")
    end_of_line = text.find("\n", something.start())
    end = end_of_line if end_of_line >= 0 else len(text)
    begin = something.start() + len(_LEADING.match(text, something.start(), end)[0])  # type: ignore[index]
    if match := labels.prefix.match(text, begin, end):
        return Reading(labels.name_of(match[0]), "ok", "first_line", *match.span())
    if last := deque(labels.alone.finditer(text), maxlen=1):
        return Reading(labels.name_of(last[0]["label"]), "ok", "own_line", *last[0].span("label"))
    return Reading(None, "none", "")
