"""What the words around a number say of it: that it states a confidence, and whether in being right or wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Literal, TypeVar

from calprobe.answers.denials import APOSTROPHE, is_denied

About = Literal["right", "wrong"]
Value = TypeVar("Value")
_MOST = 100  # numbers of a reply that are looked at

_WORD = re.compile(  # in lower case
    r"\b(?:confiden|(?:un)?certain|(?:un)?sure\b|probab|(?:un)?likel|chance|odds\b|scale\b|rat(?:e|ed|ing)\b|score\b|estimat|"
    r"(?:in)?correct|right\b|wrong\b|mistaken\b|accura|guess|belie[fv]|doubt)"
)
# What a reply may begin with in front of the number that it states.
_LEAD_IN = re.compile(
    rf"""(?ix) [\W_]*(?:(?:well|so|okay|ok|hmm|yes|no|sure|absolutely|definitely)\b[\W_]*)?
    (?:(?:i(?:{APOSTROPHE}(?:d|m|ll)|\s(?:would|am|will))?|it(?:{APOSTROPHE}s|\sis)|that(?:{APOSTROPHE}s|\sis)|this\sis
    |(?:my|the)\s(?:final\s)?(?:answer|number|value|response|reply|figure)(?:\sis)?)\b[\W_]*)?
    (?:(?:say|said|think|go\swith|give\s(?:it|this|that)|put\s(?:it|this|that)\sat)\b[\W_]*)?
    (?:(?:a|an|about|around|approximately|roughly|maybe|perhaps|only|exactly|just)\b[\W_]*){{0,3}}"""
)
_BEFORE_A_NUMBER = re.compile(r"(?:[:=][\s*_\"'“(\[{$<>]{0,6}|\\boxed\s?\{\s?)[-−+.]?\Z")
_SENTENCE_END = re.compile(r"[.!?;](?=\s)|\n")
_BETWEEN = (
    rf"(?:\s{{1,3}}(?:sure|certain|confident|confidence|certainty|chance|chances|probability|likelihood|likely|that|of|for|in|i"
    rf"|am|i{APOSTROPHE}m|my|the|this|your|given|above|answer|response|choice|is|are|it|it{APOSTROPHE}s|was|be|being|to|might"
    rf"|may|could|will|would|a|an|completely|in\sfact))"
)
_RIGHT, _WRONG = (
    r"correct|right|true|accurate",
    r"wrong|incorrect|mistaken|false|inaccurate|not\s(?:correct|right|true)|an\serror|error",
)
_BEHIND = re.compile(
    rf"(?:\s?(?:%|per\s?cent\b)|\s?(?:/|out\sof)\s?[\d.]{{1,6}})?[)\]*_\"”]{{0,3}}(?:{_BETWEEN}{{0,9}}\s{{1,3}}(?:(?P<right>{_RIGHT})|(?P<wrong>{_WRONG}))\b|\s(?P<unsure>unsure|uncertain|doubt|uncertainty)\b)",
    re.IGNORECASE,
)
_IN_FRONT = re.compile(
    rf"\b(?:chance|chances|probability|likelihood|odds|risk){_BETWEEN}{{0,7}}\s{{1,3}}(?:(?P<right>{_RIGHT})"
    rf"|(?P<wrong>{_WRONG}))(?:\s(?:is|at|of|about|around|approximately|roughly)|\s?[:=]){{0,3}}[\s*_\"“(\[]{{0,4}}[-−]?\Z"
    rf"|\b(?P<unsure>uncertainty|doubt|(?<!margin\sof\s)error)(?:\s(?:is|of|at|about)|\s?[:=]){{0,3}}[\s*_\"“(\[]{{0,4}}[-−]?\Z",
    re.IGNORECASE,
)
_OF_CHANCE = r"(?:probability|chance|likelihood)"
_WITH = re.compile(  # wrong with probability 0.3, wrong with 30% probability
    rf"(?<!\bnot\s)(?<!n{APOSTROPHE}t\s)\b(?:(?P<right>{_RIGHT})|(?P<wrong>{_WRONG}))\swith\s(?:an?\s)?(?:about\s)?(?P<chance>{_OF_CHANCE}\s(?:of\s)?)?\Z",
    re.IGNORECASE,
)
_CHANCE_BEHIND = re.compile(rf"(?:\s?(?:%|per\s?cent\b))?\s{_OF_CHANCE}\b", re.IGNORECASE)
_JOINED = re.compile(r"(?:[^\w.!?\n]|\b(?:or|to|and|even|maybe|perhaps|about)\b){0,12}", re.IGNORECASE)  # 0.7 or 0.8
# The label of an option in front of its text, and two lines that have one: a list of the options.
_LABEL = re.compile(r"^[^\w\n]{0,4}[A-Z](?:[.):][^\S\n]|[.):]?\Z)", re.MULTILINE)
_OF_SOMETHING = re.compile(r"\s{1,3}(?:of|was|is|were|are|has|have)\b")  # 12% of all ships; 9/11 was a Tuesday
_NOTHING_OR_A_LABEL = re.compile(r"[\W_]*(?:[A-Za-z1-9][.):])?[\W_]*")
# Nothing but signs on its line.
_ALONE_BEFORE = re.compile(r"(?:\A|\n)(?:[^\w\n]|_)*\Z")
_ALONE_BEHIND = re.compile(r"(?:[^\w\n]|_){0,12}(?:\n|\Z)")
_SIGNS = 12  # characters between a number and the words or the line's beginning in front of it
_FAR = 200  # characters to both sides that belong to a sentence at most


def first_and_last(values: Sequence[Value]) -> list[Value]:
    """The values of a reply, of very many the first and the last: a text that only repeats numbers takes no longer.

    >>> len(first_and_last(range(10_000)))
    100
    """
    half = _MOST // 2
    return list(values) if len(values) <= _MOST else [*values[:half], *values[-half:]]


def stated_numbers(text: str, spans: Iterable[tuple[int, int]]) -> list[int]:
    """The places of those numbers, by the spans of each in their order, that the reply states, and of what is joined to
    them (0.7 or 0.8). Those that it denies are left out.

    >>> stated_numbers("0.7 or 0.8, in 1912", [(0, 3), (7, 10), (15, 19)])
    [0, 1]
    """
    places, last = [], -1
    lists_options = is_list_of_options(text)
    for place, (start, end) in enumerate(spans):
        if is_denied(text, start, end) or (lists_options and _LABEL.match(text, text.rfind("\n", 0, start) + 1)):
            continue
        if states_confidence(text, start, end) or (last >= 0 and _JOINED.fullmatch(text, last, start)):
            places.append(place)
            last = end
    return places


def is_list_of_options(text: str) -> bool:
    """Whether a reply repeats the options: two lines or more begin with a label.

    >>> is_list_of_options("A. 5%\\nB. 10%"), is_list_of_options("A. 99.9%")
    (True, False)
    """
    return sum(1 for _ in islice(_LABEL.finditer(text), 2)) > 1


def states_confidence(text: str, start: int, end: int) -> bool:
    """Whether the number at [start, end) is what the reply states, and no number of its topic.

    It is where the reply is that number, begins with it, has it alone on a line or behind a colon, or where the
    sentence has a word of confidence.

    >>> texts = ("Agenda 21", "It is 21.", "21 sure")
    >>> [states_confidence(text, text.index("2"), text.index("2") + 2) for text in texts]
    [False, True, True]
    """
    begin, stop = _sentence(text, start, end)
    is_alone = _ALONE_BEFORE.search(text, max(0, start - _SIGNS), start) and _ALONE_BEHIND.match(text, end)
    if is_alone or _BEFORE_A_NUMBER.search(text, max(0, start - _SIGNS), start):
        return True
    leads = _LEAD_IN.fullmatch(text, begin, start) and _NOTHING_OR_A_LABEL.fullmatch(text, max(0, begin - _FAR), begin)
    if leads and not _OF_SOMETHING.match(text, end):
        return True
    return _WORD.search(text[begin:stop].lower()) is not None


def said_of(text: str, start: int, end: int) -> About | None:
    """Whether the words around the number at [start, end) make it a chance of being right or of being wrong.

    >>> said_of("There is a 20% chance that I am wrong.", 11, 14), said_of("20%", 0, 3)
    ('wrong', None)
    """
    begin, stop = _sentence(text, start, end)
    match = _BEHIND.match(text, end, stop) or _IN_FRONT.search(text, begin, start)
    if match is None:
        match = _WITH.search(text, begin, start)
        if match is None or not (match["chance"] or _CHANCE_BEHIND.match(text, end, stop)):
            return None
    return "right" if match["right"] else "wrong"


def _sentence(text: str, start: int, end: int) -> tuple[int, int]:
    """Where the sentence of a number begins and ends."""
    earliest = max(0, start - _FAR)
    begin = max((match.end() for match in _SENTENCE_END.finditer(text, earliest, start)), default=earliest)
    last = _SENTENCE_END.search(text, end, end + _FAR)
    return begin, last.start() if last else min(len(text), end + _FAR)
