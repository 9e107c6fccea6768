"""What is in a question set, and what is odd about it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

from calprobe.messages import counted
from calprobe.questions.facts import reads_as
from calprobe.questions.types import Question, QuestionKind, QuestionSet

LEAST_TO_JUDGE = 12  # choices, before their places are judged
NEARLY_ALL = 0.9  # of them have the right option in one place
TOO_UNLIKELY = 1e-6  # that drawn orders have it there so often
DRAW_THE_ORDER = (
    "let the order be drawn where the right option has a column of its own (--columns "
    "options=RIGHT+WRONG+..,answer=RIGHT), or ask in every order (ask --permute cyclic)"
)
NAMED = 5  # ids in a note before it is cut short
_REFERS = re.compile(
    r"(?:(?:all|none|both|neither|any|either)(?: of)? (?:the )?(?:above|these|those|other|options|choices|answers)\b)"
    r"|(?:(?:both |neither )?\(?[a-j]\)? (?:and|or|nor) \(?[a-j]\)?(?: only)?\.?$)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Lengths:
    """Characters of texts."""

    median: float
    longest: int


@dataclass(frozen=True, slots=True)
class SetSummary:
    """Counts of a question set."""

    name: str
    questions: int
    shots: int
    kinds: dict[QuestionKind, int]
    groups: dict[str, int]  # by number of questions, largest first
    options: dict[int, int]  # number of options -> questions
    chance: float  # expected accuracy of blind guessing; 0 where answers are free
    gold_places: dict[int, int]  # place of the right option -> questions
    question_lengths: Lengths  # with their context
    option_lengths: Lengths | None  # None: no options
    wordings: int  # of each question; the least where they differ
    odd: tuple[str, ...]  # one sentence each

    def to_json(self) -> dict[str, Any]:
        """The summary as JSON values."""
        lengths = {"question_lengths": self.question_lengths, "option_lengths": self.option_lengths}
        plain = {name: getattr(self, name) for name in self.__slots__ if name not in lengths}
        measured = {
            name: None if length is None else {"median": length.median, "longest": length.longest}
            for name, length in lengths.items()
        }
        return {**plain, **measured, "odd": list(self.odd)}


def summary_of(questions: QuestionSet) -> SetSummary:
    """The counts of a set.

    >>> from calprobe.questions import load_questions
    >>> summary_of(load_questions(["mini"])[0]).options
    {4: 583}
    """
    all_questions = questions.questions
    options = [option for question in all_questions for option in question.options]
    groups = Counter(question.group for question in all_questions)
    return SetSummary(
        name=questions.name,
        questions=len(all_questions),
        shots=len(questions.shots),
        kinds=dict(Counter(question.kind for question in all_questions).most_common()),
        groups=dict(groups.most_common()) if set(groups) != {""} else {},
        options=dict(sorted(Counter(len(question.options) for question in all_questions if question.options).items())),
        chance=fmean(question.chance for question in all_questions) if all_questions else 0.0,
        gold_places=dict(sorted(Counter(q.answer for q in all_questions if q.answer is not None).items())),
        question_lengths=_lengths([f"{question.context}{question.text}" for question in all_questions] or [""]),
        option_lengths=_lengths(options) if options else None,
        wordings=min((len(question.wordings) for question in all_questions), default=0),
        odd=(*questions.notes, *_odd(all_questions)),
    )


def one_place(questions: Sequence[Question]) -> str:
    """That the right option nearly always stands in one place, which a model may prefer; empty where it does not.

    The rule: 12 choices or more, nine of ten in that place, and p < 1e-6 by the exact binomial test against the
    chance 1/K, where K is the smallest number of options.

    >>> choices = [Question(str(n), "Which?", "choice", ("x", "y", "z"), ("A", "B", "C"), 0) for n in range(13)]
    >>> one_place(choices), one_place(choices[:12])
    ('place 1 in 13 of 13 questions', '')
    """
    places = Counter(q.answer for q in questions if q.answer is not None and not q.of)  # claims have no order
    if places.total() < LEAST_TO_JUDGE:
        return ""
    ((place, count),) = places.most_common(1)
    if count < NEARLY_ALL * places.total():
        return ""
    from scipy.stats import binom

    chance = max(question.chance for question in questions)
    is_drawn = binom.sf(count - 1, places.total(), chance) >= TOO_UNLIKELY
    return "" if is_drawn else f"place {place + 1} in {count:,} of {counted(places.total(), 'question')}"


def _lengths(texts: Sequence[str]) -> Lengths:
    sizes = [len(text) for text in texts]
    return Lengths(median(sizes), max(sizes))


def _odd(questions: Sequence[Question]) -> Iterator[str]:
    """What is odd about questions, one sentence a kind of oddity."""
    yield from _note("Asked more than once, in the same words and with the same options", _repeated(questions))
    doubled = [q for q in questions if len({reads_as(option) for option in q.options}) < len(q.options)]
    yield from _note("Two options read the same", doubled)
    gold = [q for q in doubled if q.answer is not None and _is_doubled(q, q.answer)]
    yield from _note("The right option reads the same as another", gold)
    refers = [q for q in questions if any(_REFERS.match(option) for option in q.options)]
    yield from _note('An option refers to others ("all of the above")', refers)
    mislabelled = [q for q in questions if q.answer is not None and _names_label(q)]
    yield from _note("An option's text is the label of another option", mislabelled)
    if where := one_place(questions):
        yield f"The right option is in {where}, and a model may prefer that place: {DRAW_THE_ORDER}."
    firsts = Counter(q.labels[0] for q in questions if q.labels)
    if len(firsts) > 1:
        kinds = ", ".join(f"from {label} in {count:,}" for label, count in firsts.most_common(NAMED))
        yield f"Labels differ between questions: {kinds}."
    answered = [
        q for q in questions if any(reads_as(text) in reads_as(q.text) for text in q.accepted[:1] if len(text) > 2)
    ]
    yield from _note("The answer stands in the question", answered)


def _note(oddity: str, questions: Sequence[Question]) -> Iterator[str]:
    if questions:
        names = ", ".join(question.id for question in questions[:NAMED])
        remainder = f" and {len(questions) - NAMED:,} more" if len(questions) > NAMED else ""
        yield f"{oddity}: {counted(len(questions), 'question')} ({names}{remainder})."


def _repeated(questions: Sequence[Question]) -> list[Question]:
    seen: set[tuple[object, ...]] = set()
    repeated = []
    for question in questions:
        key = (reads_as(question.context), reads_as(question.text), frozenset(map(reads_as, question.options)))
        if key in seen:
            repeated.append(question)
        seen.add(key)
    return repeated


def _is_doubled(question: Question, answer: int) -> bool:
    right = reads_as(question.options[answer])
    return [reads_as(option) for option in question.options].count(right) > 1


def _names_label(question: Question) -> bool:
    places = {label: place for place, label in enumerate(question.labels)}
    return any(places.get(option, place) != place for place, option in enumerate(question.options))
