"""The answers of a cell under one reader: what was read off each reply, and whether it is right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from calprobe.answers import READERS, Grade, Reading, abstains, grade, read, read_short
from calprobe.answers.constrained import read_constrained
from calprobe.answers.equal_answers import said
from calprobe.answers.graders import ABSTENTION, IMPORTED, GradeRules, with_contained
from calprobe.answers.readers import CONCLUDES, CONCLUSIONS
from calprobe.answers.reading import GIVEN as GIVEN
from calprobe.arrays import Ints
from calprobe.confidence.asked.reply_table import ANSWER, FINAL, GREEDY, GREEDY_FINAL, ReplyTable, Row
from calprobe.confidence.distributions import NO_PREDICTION
from calprobe.confidence.types import NOT_ASKED, OK, REQUEST, Confidence
from calprobe.questions.types import Question
from calprobe.runs.grades import StoredGrade

ARGMAX = "label_argmax"  # of runs that have label probabilities alone: the most probable label at the first position
DEFAULT = "default"  # of sets with questions of several kinds: each by the reader of its kind
CONCLUDED = "conclusion"  # the same of conclusions behind replies
# The readers of answers that `calprobe grade` grades.
GRADED = frozenset((DEFAULT, CONCLUDED, "short", "number", "concluded", "extracted"))


@dataclass(frozen=True)
class Answers:
    """What a reader makes of a cell, a reading for each row."""

    reader: str
    readings: tuple[Reading, ...]  # [rows]
    prediction: Ints  # [rows], place of the option; NO_PREDICTION where none was read, or answers are free
    correct: npt.NDArray[np.bool_]  # [rows]; False where nothing was read
    grades: tuple[Grade, ...] = ()  # [rows], the same with who decided

    @cached_property
    def extracted(self) -> npt.NDArray[np.bool_]:
        """Whether an answer was read, [rows]."""
        return np.array([_was_read(reading) for reading in self.readings], np.bool_)

    @cached_property
    def asked(self) -> npt.NDArray[np.bool_]:
        """Whether there is a reply to read, [rows]: a request that failed or was not made says nothing of the model."""
        return np.array([_was_asked(reading) for reading in self.readings], np.bool_)

    def at(self, places: Sequence[int]) -> Answers:
        """The answers in the rows at these places alone, in that order."""
        rows = list(places)
        return Answers(
            self.reader,
            tuple(self.readings[place] for place in rows),
            self.prediction[rows],
            self.correct[rows],
            tuple(self.grades[place] for place in rows) if self.grades else (),
        )

    def of_asked(self, found: Confidence) -> Confidence:
        """Confidences that go by these answers, without those of rows that this reader has no reply of."""
        status = np.array([reading.status for reading in self.readings], np.str_)
        return found.known_where(self.asked, status)

    @cached_property
    def abstained(self) -> npt.NDArray[np.bool_]:
        """Whether the reply says that the model does not know, [rows]; such an answer is wrong."""
        return np.array([verdict.abstained for verdict in self.grades], np.bool_)

    @property
    def decided(self) -> dict[str, tuple[int, int]]:
        """How many rows each rule decided, and how many of them are right; most first."""
        grades = [verdict for verdict, reading in zip(self.grades, self.readings, strict=True) if _was_asked(reading)]
        counts = Counter(verdict.rule for verdict in grades)
        right = Counter(verdict.rule for verdict in grades if verdict.correct)
        return {rule: (number, right[rule]) for rule, number in counts.most_common()}

    @property
    def reasons(self) -> dict[str, int]:
        """How many of the rows asked have no answer, by reason."""
        unread = (reading.status for reading in self.readings if _was_asked(reading) and not _was_read(reading))
        return dict(sorted(Counter(unread).items()))

    @property
    def flags(self) -> dict[str, int]:
        """How many rows have an answer of a status other than ok: of a reply that was cut, for one."""
        flagged = (reading.status for reading in self.readings if _was_read(reading) and reading.status != OK)
        return dict(sorted(Counter(flagged).items()))

    @property
    def rules(self) -> dict[str, int]:
        """How many answers each rule has found, most first."""
        return dict(Counter(reading.rule for reading in self.readings if _was_read(reading)).most_common())


def read_answers(table: ReplyTable, reader: str, rules: GradeRules | None = None) -> Answers:
    """Read every row of a cell. A reply that came with its grade has no reading of its own.

    Args:
        table: the replies.
        reader: a name in `calprobe.answers.READERS`, or GIVEN, ARGMAX, DEFAULT, CONCLUDED.
        rules: of grades that are not stored; None: the usual ones.
    Raises:
        UsageError: no such reader, or one that does not read answers to questions of this kind.
    """
    readings = tuple(_reading(row, reader) for row in table.rows)
    pairs = list(zip(table.rows, readings, strict=True))
    grades = tuple(_grade(row, own, reader, rules) for row, own in pairs)
    return Answers(
        reader,
        readings,
        np.array([_place(row.question, own) for row, own in pairs], np.int64),
        np.array([own.correct for own in grades], np.bool_),
        grades,
    )


def _reading(row: Row, reader: str) -> Reading:
    if row.first.correct is not None:
        return Reading(None, OK, GIVEN)
    if reader == ARGMAX:
        return read_constrained(row.first.label_scores)
    stage = stage_of(reader)
    reply = row.replies.get(stage)
    if reply is None:
        return Reading(None, REQUEST if stage in row.failed else NOT_ASKED, "")
    return read(reply, row.question, _named(reader, row.question), plain=row.plain)


def stage_of(reader: str) -> str:
    """The stage of the replies that a reader reads."""
    if reader == CONCLUDED:
        return FINAL
    return READERS[reader].stage if reader in READERS else ANSWER


def _named(reader: str, question: Question) -> str | None:
    """The name in `READERS`; None: the default of the question's kind."""
    if reader == CONCLUDED:
        return "chosen" if question.kind == "choice" and not question.of else CONCLUDES[question.kind]
    return None if reader in (DEFAULT, GIVEN) else reader


def greedy_is_right(row: Row, reader: str) -> bool | None:
    """Whether a row's greedy answer is right, read and graded as its samples are; None where it has none.

    Where the samples are read off their conclusions, it is that of the greedy answer.
    """
    stage = _greedy_stage(reader)
    reply, stored = row.replies.get(stage), row.grades.get(stage)
    if reply is None:
        return None
    if reply.correct is not None:
        return reply.correct
    if stored is not None and reader in GRADED:
        return stored.correct
    return grade(_greedy_reading(row, reader), row.question).correct


def greedy_answer(row: Row, reader: str) -> str | None:
    """What a row's greedy answer says, as its samples are compared by; None where it has none, or says nothing."""
    stage = _greedy_stage(reader)
    return said(row.replies[stage], row.question, _greedy_reading(row, reader)) if stage in row.replies else None


def _greedy_stage(reader: str) -> str:
    return GREEDY_FINAL if reader in (CONCLUDED, *CONCLUSIONS) else GREEDY


def _greedy_reading(row: Row, reader: str) -> Reading:
    stage = _greedy_stage(reader)
    if row.replies[stage].correct is not None:
        return Reading(None, OK, GIVEN)
    name = _named(reader, row.question) if stage == GREEDY_FINAL else None
    return read(row.replies[stage], row.question, name, plain=row.plain)


def _was_read(reading: Reading) -> bool:
    return reading.value is not None or reading.rule == GIVEN


def _was_asked(reading: Reading) -> bool:
    return reading.status not in (NOT_ASKED, REQUEST)


def _place(question: Question, reading: Reading) -> int:
    if question.kind != "choice" or reading.value not in question.labels:
        return NO_PREDICTION
    return question.labels.index(str(reading.value))


def _grade(row: Row, reading: Reading, reader: str, rules: GradeRules | None) -> Grade:
    """As the import says, else as stored, else by the default grader of the kind of question."""
    if row.first.correct is not None:
        return Grade(row.first.correct, IMPORTED, abstained=_abstains(row))
    stored = row.grades.get(stage_of(reader)) if reader in GRADED else None
    if stored is None:
        return grade(reading, row.question, rules=rules)
    return with_contained(_as_stored(stored), reading, row.question)


def _as_stored(stored: StoredGrade) -> Grade:
    abstained = stored.rule == ABSTENTION
    return Grade(stored.correct, stored.decided, stored.matched, stored.score, abstained)


def _abstains(row: Row) -> bool:
    """Of an answer that somebody else has graded."""
    return row.question.kind == "open" and abstains(str(read_short(row.first.text).value or ""))
