"""The option whose text a reply names, where it gives no label."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from calprobe.answers.denials import is_denied, is_taken_back
from calprobe.answers.reading import Reading

RULE = "option_text"
_WORD = re.compile(r"[^\W_]+")
_ARTICLES = frozenset(("a", "an", "the"))
_NAMED = re.compile(r"[^\W\d_]{3}|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")  # no number, and no "no" or "at"


def read_option_text(text: str, labels: Sequence[str], options: Sequence[str]) -> Reading:
    """The label of the one option whose text the reply names as complete words and does not deny.

    Case, punctuation and an article in front of an option do not matter. A text within a longer one (York in New York)
    counts for the longer one alone. Options of which one is a number or has no word of three letters are not looked
    for: such stand in a text for many reasons.

    >>> texts = ("It is Jupiter.", "Mars or Jupiter")
    >>> [read_option_text(text, ("A", "B"), ("Mars", "Jupiter")).value for text in texts]
    ['B', None]
    """
    if not all(map(_NAMED.search, options)):
        return Reading(None, "none", "")
    spans: dict[str, tuple[int, int]] = {}
    denied = set()
    taken = bytearray(len(text))  # 1 where a text stands that was found
    for label, option in sorted(zip(labels, options, strict=True), key=lambda pair: -len(pair[1])):
        for match in _words(option).finditer(text):
            start, end = match.span()
            if 1 in taken[start:end]:
                continue
            taken[start:end] = b"\1" * (end - start)
            if is_denied(text, start, end) or is_taken_back(text, end):
                denied.add(label)
            spans.setdefault(label, (start, end))
    named = [label for label in spans if label not in denied]
    if len(named) != 1:
        return Reading(None, "several" if named else "none", RULE if named else "")
    return Reading(named[0], "ok", RULE, *spans[named[0]])


@lru_cache(maxsize=4096)
def _words(option: str) -> re.Pattern[str]:
    words = _WORD.findall(option)
    if len(words) > 1 and words[0].casefold() in _ARTICLES:
        del words[0]
    together = r"[\W_]{1,6}".join(map(re.escape, words))
    return re.compile(rf"(?<![^\W_]){together}(?![^\W_])", re.IGNORECASE)
