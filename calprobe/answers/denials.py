"""What a reply denies or takes back: "not 12 but 15", "B is wrong", "it is 12, no, 15"."""

from __future__ import annotations

import re

APOSTROPHE = "['’]"
_NOT = rf"(?:not|never|neither|nor|cannot|n{APOSTROPHE}t|instead\sof|rather\sthan|unlike|without|except)"
_BETWEEN = (
    r"(?:\s(?:be|is|necessarily|really|just|simply|choose|pick|select|say|call|a|an|the|about|option|answer|choice|letter"
    r"|equal|to|it))"
)
# "I don't think that it's Paris"; "I can't believe it's Paris" is none.
_NOT_THOUGHT = (
    rf"(?:do|does|did|would)(?:\snot|n{APOSTROPHE}t)\s(?:think|believe|suppose|guess|say)(?:\sthat)?"
    rf"(?:\s(?:it|this|that|he|she)(?:{APOSTROPHE}?s|\swas|\swere)\b)?"
)
_DENIED_BEFORE = re.compile(
    rf"(?:\b{_NOT_THOUGHT}|(?:\b|(?<=[a-z])){_NOT}){_BETWEEN}{{0,4}}[\s:*_\"“'(\[$]{{1,4}}\Z", re.IGNORECASE
)
_WRONG = r"(?:wrong|incorrect|false|inaccurate|impossible|mistaken|invalid|ruled\sout|excluded|out\sof\sthe\squestion)"
_DENIED_BEHIND = re.compile(
    rf"[*_)\]}}\"”'`.]{{0,4}}(?:\s(?:option|answer|choice))?\s(?:(?:is|was|are|would\sbe|seems|looks)"
    rf"(?:\s(?:clearly|definitely|obviously|certainly|also|simply|therefore))?"
    rf"(?:\s{_WRONG}|(?:\s(?:not|never)|n{APOSTROPHE}t)\b(?!\s(?:only|just|merely|the\sonly)\b))"
    rf"|(?:cannot|can{APOSTROPHE}t)\sbe\b(?!\s{_WRONG}))",
    re.IGNORECASE,
)
# "No" is a word of its own here: behind an answer may stand "No further steps are needed".
_TAKEN_BACK = re.compile(
    r"[*_)\]}\"”'.,;:!?—–-]{0,4}\s{0,3}(?:[—–-]\s?)?"
    r"(?:no(?=\s?[,.;:!—–]|\s[-\d$]|\s(?:wait|sorry|actually|it|that|make)\b)"
    r"|(?:wait|oops|sorry|correction|or\srather|i\smean|scratch\sthat|let\sme\scorrect)\b)",
    re.IGNORECASE,
)
_BEFORE, _BEHIND = 60, 60  # characters around a value that are looked at


def is_denied(text: str, start: int, end: int) -> bool:
    """Whether the reply denies the value at [start, end): right in front of it, or right behind.

    >>> [is_denied(text, text.index("B"), text.index("B") + 1) for text in ("not B but C", "B is wrong.", "It is B.")]
    [True, True, False]
    """
    before = text[max(0, start - _BEFORE) : start]
    return bool(_DENIED_BEFORE.search(before) or _DENIED_BEHIND.match(text[end : end + _BEHIND]))


def is_taken_back(text: str, end: int) -> bool:
    """Whether a word behind the value that ends there takes it back.

    >>> is_taken_back("It is 12, no, 15.", 8), is_taken_back("It is 12, no doubt.", 8)
    (True, False)
    """
    return _TAKEN_BACK.match(text[end : end + _BEHIND]) is not None
