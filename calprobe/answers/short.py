"""A short text as an answer, and the form in which texts are compared."""

from __future__ import annotations

import re
import unicodedata

from calprobe.answers.new_question import where_a_new_question_begins
from calprobe.answers.types import Reading

_MARKER = re.compile(
    r"^[^\w\n]{0,12}(?:(?:the|my|so|final|short|correct|best)\s){0,3}answer"
    r"(?:\s(?:is|would\sbe)\b:?[*_]{0,3}|[*_]{0,3}[^\S\n]{0,3}[:=][*_]{0,3})\s{0,4}(?P<rest>[^\n]*)$",
    re.IGNORECASE | re.MULTILINE,
)
_IN_FRONT = re.compile(r"""(?:[\s*_`"'“”‘’«»<>\[\]{}():;,.!?]|[-–—•#]{1,6}\s)*""")
_BEHIND = " \t\r\v\f\u00a0*_`\"'“”‘’«»<>[]{}()-–—•:;,.!?"
_OPENED_BY = {")": "(", "]": "[", "}": "{"}
_KEPT = frozenset("#%@&")  # punctuation by Unicode's categories, and part of names: C#, 5%
_ARTICLES = frozenset(("a", "an", "the"))


def read_short(text: str) -> Reading:
    """The reply's short answer, without what stands around it: quotes, Markdown, a full stop.

    1. `answer_marker`: what follows "Answer:" or "The answer is" on the last line that begins so, or on the line below;
    2. `first_line`: the first line that has a letter or digit.

    The text is read up to where the model asks itself a new question, or within the line goes on as another speaker,
    with a heading or with an explanation.

    >>> [read_short(text).value for text in ('**Paris.**', 'I think of France.\\nAnswer: "Paris"')]
    ['Paris', 'Paris']
    """
    end = next(where_a_new_question_begins(text, len(text)), len(text))
    marked = None
    for found in _MARKER.finditer(text, 0, end):
        if any(map(str.isalnum, found["rest"])):
            marked = found
    if marked:
        return _stripped(text, "answer_marker", *marked.span("rest"))
    something = re.compile(r"[^\W_]").search(text, 0, end)
    if something is None:
        return _as_it_stands(text, end)
    begin = text.rfind("\n", 0, something.start()) + 1
    line_end = text.find("\n", something.start(), end)
    return _stripped(text, "first_line", begin, line_end if line_end >= 0 else end)


def _as_it_stands(text: str, end: int) -> Reading:
    """A reply of signs alone: an answer of a question about signs."""
    stripped = text[:end].strip()
    if not stripped:
        return Reading(None, "none", "")
    begin = text.index(stripped)
    return Reading(stripped, "ok", "first_line", begin, begin + len(stripped))


def _stripped(text: str, rule: str, begin: int, end: int) -> Reading:
    """The part of the text without what stands around it; a closing bracket whose opening one is inside stays."""
    start = begin + len(_IN_FRONT.match(text[begin:end])[0])  # type: ignore[index]  # an empty match is one
    inner = text[start:end].rstrip(_BEHIND)
    closing = text[start + len(inner) : end][:1]
    if closing in _OPENED_BY and inner.count(_OPENED_BY[closing]) > inner.count(closing):
        inner += closing
    return Reading(inner, "ok", rule, start, start + len(inner))


def normalised(text: str) -> str:
    """The text as it is compared: lower case, without accents, punctuation and articles, single spaces.

    Hyphens and slashes separate words; `#`, `%`, `@` and signs such as `+` and `$` stay. A text of articles alone keeps
    them.

    >>> normalised("The  Café-Bar, “U.S.”"), normalised("C++"), normalised("The The")
    ('cafe bar us', 'c++', 'the the')
    """
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(each for each in decomposed if not unicodedata.combining(each)).casefold()
    words = "".join(map(_sign, plain.replace("&", " and "))).split()
    return " ".join([word for word in words if word not in _ARTICLES] or words)


def _sign(character: str) -> str:
    category = unicodedata.category(character)
    if category == "Pd" or character in "/_":
        return " "
    return "" if category.startswith("P") and character not in _KEPT else character
