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
_MARKER = re.compile(
    r"(?:\A|\\boxed\b|\b(?:answer|option|choice)\b(?:\s(?:is|was|(?:would|should|must)\sbe))?)[\s:=]{0,4}",
    re.IGNORECASE,
)
# "Option" and "choice" say which one is the answer only with a word that does: "the other option is Paris".
_SAYS = re.compile(
    r"\b(?:answer|(?:correct|right|best|my)\s(?:answer\s)?(?:option|choice))\b"
    r"(?:\s(?:is|was|(?:would|should|must)\sbe)\b|[*_]{0,3}\s?:)[\s:*_\"“'‘(]{0,6}(?:(?:an?|the)\s)?",
    re.IGNORECASE,
)
# In front of it in its sentence: it is another's answer, or none: "many think the answer is Paris".
_NOT_SAID = re.compile(
    r"(?:\b(?:wrong|incorrect|other|another|common|popular|obvious|says?|said|think|thinks|thought|believes?|claims?|guess|doubt"
    r"|if|whether|unless|not|never|neither|nor)\b|n['’]t\b)[^.!?\n]*\Z",
    re.IGNORECASE,
)
_SENTENCE = 200  # characters in front of it that are looked at
_QUOTES = " \t\"'“”‘’`*_$()[]{}"  # around an option: no sign, unit or decimal point of a number


def read_option_text(text: str, labels: Sequence[str], options: Sequence[str], *, cut: bool = False) -> Reading:
    """The label of the one option whose text the reply names as complete words and does not deny.

    Case, punctuation and an article in front of an option do not matter. A text within a longer one (York in New York)
    counts for the longer one alone. Where the reply names several, the one right behind "the answer is" counts if it
    names no other there or later. Options of which one is a number or has no word of three letters stand in a text
    for many reasons. Of these one counts only if it is the whole reply, or the rest of the line behind its last
    "answer", "option", "choice" or box; not at the end of a reply that was `cut`.

    >>> texts = ("It is Jupiter.", "Mars or Jupiter")
    >>> [read_option_text(text, ("A", "B"), ("Mars", "Jupiter")).value for text in texts]
    ['B', None]
    >>> texts = ("18", "The answer is **18**.", "18 of 20 are left.")
    >>> [read_option_text(text, ("A", "B"), ("17", "18")).value for text in texts]
    ['B', 'B', None]
    """
    if not all(map(_NAMED.search, options)):
        return _alone(text, labels, options, cut)
    spans: dict[str, tuple[int, int]] = {}
    last: dict[str, tuple[int, int]] = {}
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
            last[label] = (start, end)
    named = [label for label in spans if label not in denied]
    if len(named) > 1:
        named = _marked(text, spans, last, named)
    if len(named) != 1:
        return Reading(None, "several" if named else "none", RULE if named else "")
    return Reading(named[0], "ok", RULE, *spans[named[0]])


def _marked(
    text: str, spans: dict[str, tuple[int, int]], last: dict[str, tuple[int, int]], named: list[str]
) -> list[str]:
    """The one label whose option stands behind the last "answer is", with no other option behind it; else all."""
    said = (match for match in _SAYS.finditer(text) if not _is_anothers(text, match.start()))
    *_, end = (0, *(match.end() for match in said))
    behind = [label for label in named if last[label][0] >= end > 0]
    if len(behind) != 1 or last[behind[0]][0] != end:
        return named
    spans[behind[0]] = last[behind[0]]
    return behind


def _is_anothers(text: str, place: int) -> bool:
    return _NOT_SAID.search(text[max(0, place - _SENTENCE) : place]) is not None


def _alone(text: str, labels: Sequence[str], options: Sequence[str], cut: bool) -> Reading:
    *_, marker = _MARKER.finditer(text)
    start = marker.end()
    said, has_more, behind = text[start:].partition("\n")
    is_whole = not behind.strip() or marker[0].strip(" \t\n:=") != ""
    named = [n for n, option in enumerate(options) if is_whole and _bare(option) == _bare(said) != ""]
    if len(named) != 1 or (cut and not has_more):
        return Reading(None, "several" if len(named) > 1 else "none", RULE if len(named) > 1 else "")
    return Reading(labels[named[0]], "ok", RULE, start, start + len(said.rstrip()))


def _bare(text: str) -> str:
    return " ".join(text.lstrip(_QUOTES).rstrip(f"{_QUOTES}.,;:!").casefold().split())


@lru_cache(maxsize=4096)
def _words(option: str) -> re.Pattern[str]:
    words = _WORD.findall(option)
    if len(words) > 1 and words[0].casefold() in _ARTICLES:
        del words[0]
    together = r"[\W_]{1,6}".join(map(re.escape, words))
    return re.compile(rf"(?<![^\W_]){together}(?![^\W_])", re.IGNORECASE)
