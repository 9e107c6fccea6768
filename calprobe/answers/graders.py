"""Whether what was read is the right answer, and by which rule that was decided."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, get_args

from calprobe.answers.comparing import comparable
from calprobe.answers.denials import is_denied
from calprobe.answers.reading import Reading
from calprobe.answers.refusals import abstains
from calprobe.answers.rouge import rouge_l
from calprobe.answers.units import in_unit
from calprobe.errors import UsageError
from calprobe.messages import did_you_mean
from calprobe.questions import Question, QuestionKind

TOLERANCE = 0.01  # share of the right number by which a rounded one may differ
EXACTLY = 1e-9  # the same of numbers that are equal, for the last bits of floats
ROUGE_THRESHOLD = 0.3  # of semantic entropy (Kuhn et al. 2023)
SENTENCE = 3  # words by which a sentence is longer than every accepted text, at least
# Who decides: names of rules in grades, beside those of graders.
ABSTENTION, JUDGE, IMPORTED, UNREAD, UNDECIDED = "abstention", "judge", "imported", "unread", "undecided"
_WITHOUT_APOSTROPHE = re.compile(r"\b(is|was|are|were|does|do|did|would|could|ca|wo)nt\b")  # of comparable texts
Target = Literal["all", "best", "first"]
TARGETS: tuple[Target, ...] = get_args(Target)


@dataclass(frozen=True, slots=True)
class Grade:
    """A judgement of a reading."""

    correct: bool
    rule: str  # who decided: a name in GRADERS, abstention, judge, imported; unread, undecided: nobody
    matched: str = ""  # of an open question, the accepted text that decided
    score: float | None = None  # ROUGE-L, or the judge's probability of yes; None: the rule has none
    abstained: bool = False  # the reply says that the model does not know
    contains: bool = False  # wrong by exact matching, and an accepted text stands in the answer
    sentence: bool = False  # wrong by exact matching, and longer by words than a short answer would be


@dataclass(frozen=True, slots=True)
class GradeRules:
    """How open questions are graded. Raises UsageError for an unknown word and a threshold outside of (0, 1]."""

    grader: str = "exact"  # a name in OPEN_GRADERS
    target: Target = "all"  # against all accepted texts, or the best one alone, which stands first
    rouge_threshold: float = ROUGE_THRESHOLD  # right from this ROUGE-L on
    tolerance: str = "rounded"  # of numbers, a name in TOLERANCES

    def __post_init__(self) -> None:
        if self.grader not in OPEN_GRADERS:
            near = did_you_mean(self.grader, OPEN_GRADERS)
            raise UsageError(f"no grader {self.grader!r}; choose {', '.join(OPEN_GRADERS)}{near}")
        if self.tolerance not in TOLERANCES:
            raise UsageError(f"no tolerance {self.tolerance!r}; choose {', '.join(TOLERANCES)}")
        if self.target not in TARGETS:
            raise UsageError(f"target {self.target!r}: choose {', '.join(TARGETS)}")
        if not 0 < self.rouge_threshold <= 1:
            raise UsageError(f"the threshold of ROUGE-L must be above 0, and 1 at most; got {self.rouge_threshold}")

    def accepted(self, question: Question) -> tuple[str, ...]:
        """The texts that an answer is compared with."""
        return question.accepted if self.target == "all" else question.accepted[:1]


def grade(
    reading: Reading,
    question: Question,
    grader: str | None = None,
    rules: GradeRules | None = None,
    whole: str | None = None,
) -> Grade:
    """Whether the reading is the question's right answer. What was not read is not right.

    The answer to an open question is right if it is an accepted text (`exact`); if not, a reply that says it does not
    know is wrong (`abstention`), and the grader decides on the others.

    Args:
        reading: by a reader for questions of this kind.
        question: with its right answer.
        grader: a name in `GRADERS`; None: `label` of a choice, `number` of a number, that of the rules of a short text.
        rules: of open questions; None: exact, all accepted texts.
        whole: the reply that the reading is of, for `includes`; None: what was read stands for it.
    Raises:
        UsageError: no such grader, or it does not grade questions of this kind.

    >>> tower = Question("1", "?", "open", accepted=("Eiffel Tower",))
    >>> found = grade(Reading("the  Eiffel tower", "ok", "first_line"), tower)
    >>> found.correct, found.rule, found.matched
    (True, 'exact', 'Eiffel Tower')
    """
    rules = rules or DEFAULT_RULES
    name = grader or {"choice": "label", "number": "number", "open": rules.grader}[question.kind]
    if name not in GRADERS:
        raise UsageError(f"no grader {name!r}; choose {', '.join(GRADERS)}{did_you_mean(name, GRADERS)}")
    chosen = GRADERS[name]
    kind = chosen.kind
    if kind != question.kind:
        raise UsageError(f"question {question.id}: grader {name} is for questions of kind {kind}, not {question.kind}")
    if reading.value is None:
        return Grade(correct=False, rule=UNREAD)
    if kind == "open":
        exact = _exact(reading, question, rules)
        if exact.correct:
            return exact
        if abstains(str(reading.value)):
            return Grade(correct=False, rule=ABSTENTION, abstained=True)
    if name == "includes" and whole is not None:
        return chosen.rule(replace(reading, value=whole), question, rules)
    return with_contained(chosen.rule(reading, question, rules), reading, question)


def with_contained(own: Grade, reading: Reading, question: Question) -> Grade:
    """The grade; of what exact matching calls wrong, whether an accepted text stands in it, and if it is a sentence."""
    if own.correct or own.rule != "exact" or reading.value is None:
        return own
    n_words = max((len(accepted.split()) for accepted in question.accepted), default=0)
    return replace(
        own,
        contains=_contains(reading, question, DEFAULT_RULES).correct,
        sentence=len(str(reading.value).split()) >= n_words + SENTENCE,
    )


def _label(reading: Reading, question: Question, rules: GradeRules) -> Grade:
    return Grade(str(reading.value) == question.gold, "label")


def _exact(reading: Reading, question: Question, rules: GradeRules) -> Grade:
    """The text is one of the accepted, as `comparable` writes both."""
    value = str(reading.value)
    form = comparable if comparable(value) else str.strip  # an answer may be a sign
    matches = [accepted for accepted in rules.accepted(question) if form(accepted) == form(value)]
    return Grade(bool(matches), "exact", max(matches, key=len, default=""))


def _contains(reading: Reading, question: Question, rules: GradeRules) -> Grade:
    """The text has an accepted one in it, as complete words, and does not deny it; the longest is named."""
    text = f" {_WITHOUT_APOSTROPHE.sub(_with_not, comparable(str(reading.value)))} "
    held = [accepted for accepted in rules.accepted(question) if _is_affirmed(text, comparable(accepted))]
    return Grade(bool(held), "contains", max(held, key=len, default=""))


def _includes(reading: Reading, question: Question, rules: GradeRules) -> Grade:
    """An accepted text stands in the text as complete words, whatever is said of it; the longest is named.

    inspect_ai's `includes()` is the same with lower case alone and within words, too: there, Jerome has Rome in it.
    """
    text = f" {comparable(str(reading.value))} "
    forms = {accepted: comparable(accepted) for accepted in rules.accepted(question)}
    held = [accepted for accepted, form in forms.items() if form and f" {form} " in text]
    return Grade(bool(held), "includes", max(held, key=len, default=""))


def _with_not(match: re.Match[str]) -> str:
    return f"{match[1]} not"


def _is_affirmed(text: str, accepted: str) -> bool:
    """Whether the accepted text stands as complete words in a text with blanks around it, and is not denied there."""
    place = text.find(f" {accepted} ") if accepted else -1
    while place >= 0:
        if not is_denied(text, place + 1, place + 1 + len(accepted)):
            return True
        place = text.find(f" {accepted} ", place + 1)
    return False


def _rouge(reading: Reading, question: Question, rules: GradeRules) -> Grade:
    """The largest ROUGE-L of the text and an accepted one reaches the threshold."""
    scores = {accepted: rouge_l(str(reading.value), accepted) for accepted in rules.accepted(question)}
    best = max(scores, key=lambda answer: scores[answer], default="")
    score = scores.get(best, 0.0)
    right = score >= rules.rouge_threshold
    return Grade(right, "rouge", best if right else "", score)


def _number(reading: Reading, question: Question, rules: GradeRules) -> Grade:
    """The number is the right one, in its unit, within the tolerance of the rules."""
    if question.number is None or not isinstance(reading.value, float | int):
        return Grade(correct=False, rule="number")
    value = in_unit(float(reading.value), reading.unit, question.unit, question.number)
    if value is None:
        return Grade(correct=False, rule="number")
    return Grade(TOLERANCES[rules.tolerance](value, question.number, _may_be_rounded(question)), "number")


def _may_be_rounded(question: Question) -> bool:
    return bool(question.unit) or (question.number is not None and not float(question.number).is_integer())


def margin(question: Question) -> float:
    """The share of a number by which another may differ and be the same answer to the question: rounding.

    >>> [margin(Question("1", "How much?", "number", number=5, unit=unit)) for unit in ("m", "")]
    [0.01, 1e-09]
    """
    return TOLERANCE if _may_be_rounded(question) else EXACTLY


def _equal(value: float, right: float, may_be_rounded: bool) -> bool:
    return abs(value - right) <= EXACTLY * abs(right)


def _rounded(value: float, right: float, may_be_rounded: bool) -> bool:
    """Within a hundredth of a number with decimals or a unit; else equal."""
    return abs(value - right) <= (TOLERANCE if may_be_rounded else EXACTLY) * abs(right)


def _scibench(value: float, right: float, may_be_rounded: bool) -> bool:
    """As SciBench's own evaluation (eval_zero.py): within 0.1 of a number from 1 on, else within a tenth of the larger.

    Another version of that file has 0.1 for all numbers.
    """
    return (
        math.isclose(value, right, rel_tol=0.0, abs_tol=0.1) if right >= 1 else math.isclose(value, right, rel_tol=0.1)
    )


# How far a number may be from the right one: of the number, the right one, and whether that may be rounded.
TOLERANCES: Mapping[str, Callable[[float, float, bool], bool]] = {
    "rounded": _rounded,
    "equal": _equal,
    "scibench": _scibench,
}


class Grader(NamedTuple):
    """A rule by which answers are graded. What `grade --grader` says of it is in `calprobe.words.GRADE_BY`."""

    kind: QuestionKind
    rule: Callable[[Reading, Question, GradeRules], Grade]
    by_likeness: bool = False  # a wrong answer may be like an accepted text, and a right one unlike all


GRADERS: Mapping[str, Grader] = {
    "label": Grader("choice", _label),
    "exact": Grader("open", _exact),
    "contains": Grader("open", _contains, by_likeness=True),
    "includes": Grader("open", _includes, by_likeness=True),
    "rouge": Grader("open", _rouge, by_likeness=True),
    "number": Grader("number", _number),
}
OPEN_GRADERS = tuple(name for name, grader in GRADERS.items() if grader.kind == "open")
MAY_ERR = (JUDGE, *(name for name, grader in GRADERS.items() if grader.by_likeness))  # rules whose errors are unknown
DEFAULT_RULES = GradeRules()
