"""The label that a reply marks as its answer: the last one by calprobe's rules, the first one by the audit's Path 1."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Container, Iterator
from typing import NamedTuple

from calprobe.answers.denials import is_denied
from calprobe.answers.first_char import read_first_char
from calprobe.answers.label_patterns import Labels
from calprobe.answers.reading import Reading
from calprobe.answers.reply_tails import length_without_repeats, where_a_new_question_begins

_NOUN = r"(?:(?:answer|option|choice|letter|label|alternative|selection|pick|response|conclusion|solution)s?)"
_THIS = r"(?:to|for|of)[^\S\n](?:this|the|your)[^\S\n](?:question|problem)"
_OF = rf"(?:[^\S\n]{{1,3}}(?:choice|letter|option|label|here|{_THIS}))?"
_IS = (
    r"(?:[^\S\n]{1,3}(?:is|was|be|(?:would|should|must|will|has[^\S\n]to)[^\S\n]be|seems[^\S\n]to[^\S\n]be))"
    r"(?:[^\S\n]{1,3}(?:clearly|therefore|thus|hence|probably|likely|most[^\S\n]likely|definitely|indeed|given[^\S\n]by))?"
)
_SIGN = r"\s{0,3}(?:[:=>→⇒–—]|-{1,2}>?)"
# What may stand between the marker and the label: white space, brackets, quotes, Markdown, LaTeX.
_OPEN = r"(?:[\s\"'“”‘’`*_$(\[{<>#:]|\\boxed|\\text(?:bf|rm|it)?|\\math(?:rm|bf)|\\[(\[]){0,16}"
_AGAIN = rf"(?:(?:the[^\S\n])?(?:option|choice|letter|answer|label)\b{_OPEN})?"
_CLOSE = r"(?:[\s\"'”’`*_$)\]}>.]{0,4})"

_MARKERS = (
    ("answer_marker", rf"\b(?i:{_NOUN}{_OF}(?:{_IS}(?:{_SIGN})?|{_SIGN}){_OPEN}{_AGAIN})<loose>"),
    (
        "chosen",
        rf"\b(?i:choose|chose|pick|select|go[^\S\n]with|going[^\S\n]with|opt[^\S\n]for|say){_OPEN}(?i:{_AGAIN})<strict>",
    ),
    ("answer_marker", rf"(?:答案|选项|選項|选择|選擇|选|選)(?:应该?|應該?)?(?:是|为|為)?{_OPEN}<loose>"),
    (
        "is_correct",
        rf"<strict>{_CLOSE}(?i:\b(?:is|must[^\S\n]be|seems)[^\S\n](?:the[^\S\n])?(?:most[^\S\n])?(?:correct|right|best|answer)\b)",
    ),
    ("boxed", rf"\\boxed\s?\{{{_OPEN}<loose>"),
    (
        "own_line",
        r"^(?:[^\w\n]|_){0,12}(?i:(?:option|answer|choice|letter|label)\b(?:[^\w\n]|_){0,3})?<loose>(?:[^\w\n]|_){0,12}$",
    ),
    (
        "corrected",
        rf"\b(?i:(?:wait|actually|sorry|oops|no|hold[^\S\n]on)[,.!:—–-]{{1,3}}\s{{0,3}}|actually\s|i[^\S\n]mean\s){{1,2}}"
        rf"(?i:(?:it['’]s|it[^\S\n]is)\s)?{_OPEN}{_AGAIN}<strict>(?={_CLOSE}(?:[.!;]|$))",
    ),
    ("therefore", rf"\b(?i:therefore|thus|hence|so),?{_OPEN}{_AGAIN}<strict>(?={_CLOSE}(?:[.!;]|$))"),
)
# Behind the label: a second one, so that no single one is the answer.
_SECOND = (
    rf"{_CLOSE}(?:,|/|&|\band\b|\bor\b)(?i:(?:\s(?:maybe|perhaps|possibly)\b)?{_OPEN}{_AGAIN})<strict>"
    r"(?![^\S\n]{1,3}(?:is|are|was|would|does|has|can)\b)"
)
# In front of the label: a first one, so that again no single one is: torn between A and D.
_FIRST = rf"<loose>{_CLOSE}(?:/|&|,?\s?\b(?:and|or)\b)(?i:{_OPEN}{_AGAIN})$"
# In front of a label: that it is ruled out, or only another one that is possible (it could also be D).
_RULED_OUT = re.compile(
    r"\b(?:rules?\sout|exclude|(?:could|might|may)\salso)\s{1,3}"
    r"(?:(?:be|choose|pick|select|go\swith|say)\s)?(?:the\s)?(?:option\s|choice\s|answer\s)?$",
    re.IGNORECASE,
)
# In front of a letter: it is part of the name of a thing.
_NAMES = re.compile(
    r"\b(?:vitamins?|hepatitis|influenza|types?|groups?|class|grades?|plans?|figures?|fig\.|tables?|sections?|parts?|points?|lines?"
    r"|phases?|stages?|schedules?|appendix|exhibits?|team|company|country|person|patient)[^\S\n][*_]{0,2}$",
    re.IGNORECASE,
)
# A label that is taken back behind its answer.
_TAKEN_BACK = (
    r"\b(?i:wait|actually|no|sorry|oops|hold[^\S\n]on)\b[\s,.!:—–-]{1,4}(?i:(?:option|answer|choice)\s)?<strict>"
    rf"{_CLOSE}(?i:\b(?:is|was)\s(?:wrong|incorrect|false|not\s(?:correct|right|the\sanswer))\b)"
)
# A share of each option is no choice among them.
_SHARE = r"<strict>[^\S\n]?[:=][^\S\n]?\d{1,3}(?:\.\d{1,9})?[^\S\n]?%"
_WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {ord("。"): "."}  # full-width forms, one for one

_WEAK = (
    (
        "leading",
        r"^[^\w\n]{0,12}(?i:(?:option|answer|choice)[^\S\n])?<strict>[)\]}*_\"']{0,4}(?:[.:,;)\]]|[^\S\n]{0,3}[-–—]|[^\S\n](?:because|since)\b|[^\S\n]*$)",
    ),
    ("brackets", r"(?:[(\[{<`\"]|\*\*)\s?<loose>\s?(?:[)\]}>`\"]|\*\*|[.):](?=[^\n]{0,200}\*\*))"),
    ("full_stop", r"(?<=[^\s][^\S\n])<strict>\.(?=[^\S\n]*$)"),
    ("only_mention", r"<strict>"),
)


class _Found(NamedTuple):
    rule: str
    match: re.Match[str]

    @property
    def place(self) -> int:
        return self.match.start("label")


def read_last_marker(text: str, labels: Labels, *, cut: bool = False) -> Reading:
    """The label that the reply marks as its answer, the last one if it does so more than once.

    The text is read up to where the model asks itself a new question, if it has answered before. Of a reply that was
    cut at its budget, the repeats of a tail that repeats itself are left out. Then, of these the last in the text:

    1. `answer_marker`: behind "the answer is", "Answer:", "the correct option would be" and their like;
    2. `chosen`: behind "I choose", "I would go with" and their like;
    3. `is_correct`: in front of "is correct", "is the right answer" and their like;
    4. `boxed`: in LaTeX's box;
    5. `own_line`: on a line of its own;
    6. `corrected`: behind "wait,", "no,", "actually" and their like, where the sentence ends with it;
    7. `therefore`: behind "therefore", "thus", "hence" or "so", where the sentence ends with it.

    If there is none of these, the first of the following rules that finds one label and no other. A label that
    the reply denies (`not B`) or that is part of a name (`vitamin D`) is passed over:

    8. `leading`: at the beginning of a line, with punctuation behind it: `B. Paris`;
    9. `brackets`: in brackets, quotes or bold;
    10. `full_stop`: in front of a full stop that ends a line;
    11. `only_mention`: anywhere as a word; no digit, and neither `A` nor `I`, which are words of prose.

    A label counts where no letter or digit follows it. One letter counts in its own case; in either case behind markers
    (1, 4), in brackets, and on a line of its own. `several`: the answer is `A or B`, or only rules 8 to 11 find labels,
    and none of them one alone.

    >>> from calprobe.answers.label_patterns import labels_of
    >>> text = "The correct answer is A. No, the correct answer is D."
    >>> read_last_marker(text, labels_of(("A", "B", "C", "D")))
    Reading(value='D', status='ok', rule='answer_marker', start=51, end=52, unit='')
    """
    if all(map(str.isascii, labels.names)):
        text = text.translate(_WIDE)
    length = _length_without_a_list_begun(text, labels) if cut else len(text)
    for end in (*where_a_new_question_begins(text, length), length):
        reading = _read(text[:end], labels)
        if reading.status != "none":
            break
    return reading


def _length_without_a_list_begun(text: str, labels: Labels) -> int:
    """How much of a reply that was cut is read: no repeats of its tail, and no list of options that begins again."""
    length = length_without_repeats(text)
    begin = text.rfind("\n", 0, length) + 1
    line = text[begin:length].strip()
    if begin and line[:1] and labels.alone.match(text, begin, length) and f"\n{line} " in f"\n{text[:begin]}":
        return begin
    return length


def _read(text: str, labels: Labels) -> Reading:
    last = max(_last_of_each(text, labels), key=lambda marker: marker.place, default=None)
    return _reading(text, labels, last) if last else _only_one(text, labels)


def _reading(text: str, labels: Labels, marker: _Found) -> Reading:
    """What was found, unless a second label stands beside it."""
    name, span = labels.name_of(marker.match["label"]), marker.match.span("label")
    second = labels.pattern(_SECOND).match(text, span[1])
    line = text.rfind("\n", 0, span[0]) + 1
    first = labels.pattern(_FIRST).search(text, max(line, span[0] - 40), span[0])
    if first and _is_passed_over(text, first):
        first = None
    if any(other and labels.name_of(other["label"]) != name for other in (first, second)):
        return Reading(None, "several", marker.rule)
    return Reading(name, "ok", marker.rule, *span)


def _last_of_each(text: str, labels: Labels) -> Iterator[_Found]:
    """The last match of each marker, in the order of the rules: the first of those at one place is kept."""
    back = {labels.name_of(match["label"]): match.start() for match in labels.pattern(_TAKEN_BACK).finditer(text)}
    for rule, source in _MARKERS:
        matches = labels.pattern(source, re.MULTILINE).finditer(text)
        last = deque(
            (
                match
                for match in matches
                if not _is_passed_over(text, match) and match.start() >= back.get(labels.name_of(match["label"]), 0)
            ),
            maxlen=1,
        )
        if last:
            yield _Found(rule, last[0])


def _only_one(text: str, labels: Labels) -> Reading:
    """By the first of the weaker rules that finds one label and no other."""
    mentions = labels.pattern("<strict>").finditer(text)
    denied = {labels.name_of(match["label"]) for match in mentions if _says_no(text, match)}
    if len(_first_of_each_label(text, labels, _SHARE, denied)) > 1:
        return Reading(None, "several", "")
    has_several = False
    for rule, source in _WEAK:
        if rule == "only_mention" and (has_several or labels.are_digits):
            continue
        matches = _first_of_each_label(text, labels, source, denied)
        if len(matches) == 1 and not (rule == "only_mention" and matches[0]["label"] in ("A", "I")):
            reading = _reading(text, labels, _Found(rule, matches[0]))
            if reading.value is not None:
                return reading
        has_several |= len(matches) > 1 or (len(matches) == 1 and rule != "only_mention")
    return Reading(None, "several" if has_several else "none", "")


def _first_of_each_label(text: str, labels: Labels, source: str, denied: Container[str]) -> list[re.Match[str]]:
    """The first match of each label that the reply denies nowhere, two labels at most."""
    matches: list[re.Match[str]] = []
    for match in labels.pattern(source, re.MULTILINE).finditer(text):
        if matches and labels.are_same(matches[0]["label"], match["label"]):
            continue
        if labels.name_of(match["label"]) not in denied and not _is_passed_over(text, match):
            matches.append(match)
        if len(matches) > 1:
            break
    return matches


def _is_passed_over(text: str, match: re.Match[str]) -> bool:
    """Whether the reply says so, or names a thing with the label: vitamin D."""
    begin = match.start("label")
    return _says_no(text, match) or _NAMES.search(text, max(0, begin - 40), begin) is not None


def _says_no(text: str, match: re.Match[str]) -> bool:
    """Whether the reply says of this label that it is not the answer."""
    begin, end = match.span("label")
    return is_denied(text, begin, end) or _RULED_OUT.search(text, max(0, begin - 40), begin) is not None


# Path 1 of the audit: forms in this order, of each the first match; the paper prints the first three of them.
_PATH_1 = (
    ("final_answer", rf"(?i:\bfinal[^\S\n]answer\b(?:{_IS})?(?:{_SIGN})?{_OPEN})<strict>"),
    ("correct_answer_is", rf"(?i:\bcorrect[^\S\n]answer\b(?:{_IS}(?:{_SIGN})?|{_SIGN}){_OPEN})<strict>"),
    ("answer", rf"(?i:\banswer\s{{0,3}}:{_OPEN})<strict>"),
    ("answer_is", rf"(?i:\b{_NOUN}{_IS}{_OPEN})<strict>"),
    ("boxed", rf"\\boxed\s?\{{{_OPEN}<strict>"),
)
PATH_1_TAIL = 200  # characters at the end that are searched; the paper's number is not known


def read_first_marker(text: str, labels: Labels) -> Reading:
    """The label by the audit's first repair of stored text (Path 1): the first match of the first form that matches.

    1. `final_answer`, `correct_answer_is`, `answer`, `answer_is`, `boxed`, in this order;
    2. `tail`: the last label that stands alone as a word in the last 200 characters, `A` and `I` too;
    3. the rules of `first_char`.

    >>> from calprobe.answers.label_patterns import labels_of
    >>> text = "The correct answer is A. No, the correct answer is D."
    >>> read_first_marker(text, labels_of(("A", "B", "C", "D"))).value
    'A'
    """
    for rule, source in _PATH_1:
        if match := labels.pattern(source).search(text):
            return Reading(labels.name_of(match["label"]), "ok", rule, *match.span("label"))
    if last := deque(labels.standing.finditer(text, max(0, len(text) - PATH_1_TAIL)), maxlen=1):
        return Reading(labels.name_of(last[0]["label"]), "ok", "tail", *last[0].span("label"))
    return read_first_char(text, labels)
