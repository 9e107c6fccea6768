"""The same answers as other graders have them: what estimators say stays, and what is right changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from calprobe.answers import READERS, GradeRules, grade, read
from calprobe.answers.graders import IMPORTED, JUDGE, OPEN_GRADERS, TOLERANCES, UNDECIDED
from calprobe.answers.readers import CONCLUDES
from calprobe.answers.short import first_paragraph
from calprobe.arrays import Floats, Mask
from calprobe.cells.asked import AskedCell
from calprobe.cells.cell import Cell, Confidences
from calprobe.confidence import Confidence
from calprobe.confidence.asked.read_cell import Read
from calprobe.confidence.asked.readings import ARGMAX, CONCLUDED, DEFAULT, GIVEN, GRADED, read_answers, stage_of
from calprobe.confidence.asked.reply_table import FINAL, GREEDY, GREEDY_FINAL, ReplyTable, Row
from calprobe.confidence.asked.sample_readings import correct_of, reading_of
from calprobe.confidence.estimator import Estimator
from calprobe.errors import UsageError
from calprobe.messages import no_such
from calprobe.runs.grades import StoredGrade

ALL_GRADERS = "all"
NOT_GRADED = "not graded so"  # of an answer that this grader says nothing of
GREEDY_OF = {FINAL: GREEDY_FINAL}  # the stage of the greedy answer beside samples, of all other stages `greedy`


@dataclass(frozen=True)
class Regraded:
    """A cell as one grader has it."""

    cell: Cell  # confidences of answers that it does not grade are left out
    correct: Floats  # [rows], 1 or 0 of each row's own answer; NaN where it is not graded


def graders_of(opened: AskedCell) -> tuple[str, ...]:
    """Who can grade the answers of a cell: rules, by their texts; the judge, and whoever has graded them, if any.

    Of choices that is the reader of labels alone.
    """
    reader, rows = opened.read.answers.reader, opened.table.rows
    if reader not in (*GRADED, GIVEN):
        return (reader,)
    kinds = {row.question.kind for row in rows if _is_known(row)}
    names = [*OPEN_GRADERS] if "open" in kinds else [*TOLERANCES] if "number" in kinds else []
    stage = stage_of(reader)
    stored = [row.grades[stage] for row in rows if stage in row.grades]
    names += [JUDGE] * any(verdict.rule == JUDGE for verdict in stored)
    imported = any(row.first.correct is not None for row in rows) or any(v.imported is not None for v in stored)
    return (*names, *[IMPORTED] * imported) or (reader,)


def check_graders(names: Sequence[str]) -> None:
    """Raise UsageError for a name that is that of no grader of any cell, see `graders_of`."""
    usual = (ALL_GRADERS, *OPEN_GRADERS, *TOLERANCES, JUDGE, IMPORTED)
    for name in names:
        if name not in (*usual, *READERS, ARGMAX, DEFAULT, CONCLUDED, GIVEN):
            raise UsageError(f"--graders: {no_such(name, usual)}")


def regraded(opened: AskedCell, grader: str) -> Regraded:
    """The cell as one of its graders has it, see `graders_of`.

    What a run's own report calls right by an imported grade or a judge is graded by rule alone where a rule is the
    grader; `judge` has exact matching and abstentions decide what the judge was not asked. The correctness of an
    estimator that speaks of several answers is known where it is the same whatever the unknown grades are.
    """
    reader = opened.read.answers.reader
    if grader == reader:
        right = opened.read.answers.correct.astype(np.float64)
        return Regraded(opened.cell, np.where(opened.read.answers.asked, right, np.nan))
    rules = _rules(grader)
    stages = stage_of(reader), GREEDY_OF.get(stage_of(reader), GREEDY)
    verdicts = [
        {stage: _verdict(row, stage, grader, rules) for stage in stages if stage in row.replies}
        for row in opened.table.rows
    ]
    unsure = any(verdict is None for of_row in verdicts for verdict in of_row.values())
    ends = [_with(opened, verdicts, grader, unknown=unknown) for unknown in ((False, True) if unsure else (False,))]
    # A label is right whoever grades: among answers of other kinds it tells graders no part.
    graded = np.array([row.question.kind != "choice" or row.first.correct is not None for row in opened.table.rows])
    known = graded & (ends[0].answers.correct == ends[-1].answers.correct)
    right = np.where(known & ends[0].answers.asked, ends[0].answers.correct.astype(np.float64), np.nan)

    @cache
    def of_reading(reading: str) -> list[Mask]:
        """What is right as the run has it, and with each end."""
        return [correct_of(read, reading) for read in (opened.read, *ends)]

    def confidence(estimator: Estimator) -> Confidence:
        before = opened.confidences[estimator.name]
        own, *by_end = of_reading(reading_of(estimator.name))
        if not np.array_equal(before.correct, own):  # it speaks of answers of its own
            by_end = [estimator(end).correct for end in ends]
        return _with_correct(before, by_end, graded)

    cell = replace(opened.cell, confidences=Confidences(opened.estimators, confidence))
    return Regraded(cell, right)


def _with_correct(own: Confidence, by_end: Sequence[Mask], graded: Mask) -> Confidence:
    """The confidences as they are, with the correctness that does not depend on unknown grades."""
    first, *others = by_end
    known = graded.copy()
    for other in others:
        known &= first == other
    status = np.where(own.read, NOT_GRADED, own.status)
    return replace(own.known_where(known, status), correct=first)


def _is_known(row: Row) -> bool:
    return row.question.kind == "number" or any(row.question.accepted)


def _rules(grader: str) -> GradeRules:
    if grader in TOLERANCES:
        return GradeRules(tolerance=grader)
    return GradeRules(grader) if grader in OPEN_GRADERS else GradeRules()


def _verdict(row: Row, stage: str, grader: str, rules: GradeRules) -> bool | None:
    """Whether the grader calls the reply right; None: it says nothing of it."""
    reply, stored = row.replies[stage], row.grades.get(stage)
    if grader == IMPORTED:
        return reply.correct if stored is None or stored.imported is None else stored.imported
    if grader == JUDGE:
        return None if stored is None or stored.rule == UNDECIDED else stored.automatic
    question = row.question
    if question.kind == "choice" or not _is_known(row):
        return None
    reader = CONCLUDES[question.kind] if stage in (FINAL, GREEDY_FINAL) else None
    reading = read(reply, question, reader, plain=row.plain)
    return grade(reading, question, rules=rules, whole=first_paragraph(reply.text) if row.plain else reply.text).correct


def _with(opened: AskedCell, verdicts: Sequence[Mapping[str, bool | None]], grader: str, *, unknown: bool) -> Read:
    """What estimators compute from, with these grades, and one for those that are not known."""
    table, own = opened.table, opened.read
    rows = tuple(
        _graded(row, {stage: unknown if right is None else right for stage, right in of_row.items()}, grader)
        for row, of_row in zip(table.rows, verdicts, strict=True)
    )
    graded: ReplyTable = replace(table, rows=rows)
    # Samples know nothing of grades: what was computed of them stays.
    return replace(own, table=graded, answers=read_answers(graded, own.answers.reader), drawn=own.samples)


def _graded(row: Row, right: Mapping[str, bool], grader: str) -> Row:
    if row.first.correct is not None:
        replies = {stage: replace(row.replies[stage], correct=correct) for stage, correct in right.items()}
        return replace(row, replies={**row.replies, **replies})
    if row.question.kind == "choice":  # graded by its label
        return row
    grades = {stage: _stored(row, stage, correct, grader) for stage, correct in right.items()}
    return replace(row, grades={**row.grades, **grades})


def _stored(row: Row, stage: str, correct: bool, grader: str) -> StoredGrade:
    reply = row.replies[stage]
    place = reply.set, reply.question, reply.variant, reply.paraphrase, reply.sample
    return StoredGrade(reply.key, "", *place, automatic=correct, rule=grader)
