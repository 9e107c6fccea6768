"""Grading from start to end: read the answers, ask the judge, write the grades into the run folder."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from calprobe.answers import Grade
from calprobe.answers.graders import DEFAULT_RULES, JUDGE, OPEN_GRADERS, TARGETS, UNDECIDED
from calprobe.backends.options import BackendOptions
from calprobe.backends.protocol import Backend
from calprobe.backends.registry import using_backend
from calprobe.errors import UsageError
from calprobe.grading.answers_of import GradedAnswer, graded_answers
from calprobe.grading.grade_options import NUMBER, GradeOptions
from calprobe.grading.imported import imported_grades
from calprobe.grading.judge import Judged, judged
from calprobe.messages import counted
from calprobe.runs import AskedRun, StoredGrades, open_asked
from calprobe.runs.grades import StoredGrade, write_grades
from calprobe.runs.lock import locked

if TYPE_CHECKING:
    from calprobe.models import LoadOptions

log = logging.getLogger(__name__)


def grade(
    run: str | Path | AskedRun,
    options: GradeOptions = GradeOptions(),
    *,
    judge: str | Backend | None = None,
    grades: str | Path | None = None,
    backend_options: BackendOptions = BackendOptions(),
    load_options: LoadOptions | None = None,
) -> StoredGrades:
    """Grade the answers of a run of replies, and store the grades in its folder, where reports find them.

    An answer that is an accepted text is right; a reply that says it does not know is wrong; the grader decides on the
    others. A judge is asked about each different answer once, in this call and in later ones. Grades of a file count
    first, now and later; a file alone leaves the grades of rules and judge as they are.

    Args:
        run: the run folder, open or by path.
        options: grader, target, the judge's prompts.
        judge: a model as `calprobe.ask` takes it, or a backend that is open, which the caller closes.
        grades: JSON lines with `question` and `correct`, see docs/reference/files.md.
        backend_options: which engine the judge runs on, and where.
        load_options: how a judge is loaded into this process.
    Raises:
        UsageError: a judge without a model or the reverse, or no answers that could be graded so. ProbeFormatError: a
            line of the file. CalprobeError, DataMissingError, Interrupted: as `calprobe.ask`.

    Example:
        >>> calprobe.grade("runs/smollm2-135m-nq", judge="qwen2.5-7b").decided  # doctest: +SKIP
        {'judge': (143, 12), 'exact': (41, 41), 'abstention': (16, 0)}
    """
    _refuse_half_a_judge(options, judge)
    opened = run if isinstance(run, AskedRun) else open_asked(run)
    kinds = _kinds(options, judge)
    is_file_alone = grades is not None and options.grader is None and judge is None
    by_judge = opened.grades is not None and opened.grades.how.get("grader") == JUDGE
    if judge is None and not (is_file_alone and by_judge):
        options = _as_before(options, opened.grades)
    answers = list(graded_answers(opened, options))
    if not any(answer.question.kind in kinds for answer in answers):
        raise UsageError(f"{opened.path}: {_why_none(kinds)}")
    with locked(opened.path):
        stored = opened.grades
        imported = imported_grades(answers, stored, None if grades is None else Path(grades))
        earlier = _kept(answers, stored, () if is_file_alone else kinds)
        judgements = Judged({}, {})
        if judge is not None:
            with using_backend(judge, backend_options, load_options) as backend:
                judgements = judged(opened.path, [a for a in answers if a.is_left_open], backend, options)
        anew = {**judgements.grades, **earlier}
        rows = (a.stored(anew.get(a.reply.key, a.grade), imported.get(a.reply.key)) for a in answers)
        is_same = is_file_alone or options.grader == NUMBER  # the grader of open answers
        graded = StoredGrades(tuple(rows), stored.how if stored and is_same else _how(options, answers, judgements))
        write_grades(opened.path, graded)
    _say_undecided(graded)
    return graded


def _refuse_half_a_judge(options: GradeOptions, judge: str | Backend | None) -> None:
    """Raise UsageError for the grader `judge` without a model, and for a model that the grader does not ask."""
    if judge is None and options.grader == JUDGE:
        raise UsageError("--grader judge needs a model; give --judge MODEL")
    if judge is not None and options.grader not in (None, JUDGE):
        raise UsageError(f"--judge asks a model, and --grader {options.grader} needs none; leave one of them out")


def _as_before(options: GradeOptions, stored: StoredGrades | None) -> GradeOptions:
    """The options with the grader that the run was graded by, where they name none.

    Raises UsageError where that was a judge: what it said must not be lost without a word.
    """
    before = {} if stored is None or options.grader is not None else stored.how
    name = before.get("grader", NUMBER)
    if name == JUDGE:
        raise UsageError(
            "a judge has graded the answers; give --judge MODEL to grade what is new, or --grader exact to do without"
        )
    if name not in OPEN_GRADERS:
        return options
    if options.rules != DEFAULT_RULES:
        return replace(options, grader=name)
    threshold = float(before.get("rouge_threshold", options.rouge_threshold))
    return replace(options, grader=name, target=TARGETS[TARGETS.index(before["target"])], rouge_threshold=threshold)


def _kept(answers: Sequence[GradedAnswer], stored: StoredGrades | None, anew: Sequence[str]) -> dict[str, Grade]:
    """The grades by rule or judge that the file has, of questions of other kinds than those graded anew."""
    before = {} if stored is None else stored.of(answer.reply for answer in answers)
    keys = (answer.reply.key for answer in answers if answer.question.kind not in anew)
    return {key: _before(before[key]) for key in keys if key in before}


def _kinds(options: GradeOptions, judge: str | Backend | None) -> tuple[str, ...]:
    """The kinds of questions that are graded anew."""
    if options.grader == NUMBER:
        return ("number",)
    return ("open", "number") if options.grader is None and judge is None else ("open",)


def _before(row: StoredGrade) -> Grade:
    """The grade of rule or judge that the file has."""
    return Grade(row.automatic, row.rule, row.matched, row.score)


def _why_none(kinds: Sequence[str]) -> str:
    return (
        f"no answers to questions of kind {' or '.join(kinds)}, with their right answers; answers to choices are "
        "graded by their labels in each report"
    )


def _how(options: GradeOptions, answers: Sequence[GradedAnswer], judgements: Judged) -> dict[str, str]:
    """What a disclosure has to say."""
    graded = {"graded": datetime.now(UTC).isoformat(timespec="seconds")}
    if all(answer.question.kind == "number" for answer in answers):
        return {"grader": NUMBER} | graded
    how = {"grader": JUDGE if judgements.how else options.grader or "exact", "target": options.target}
    if options.grader == "rouge":
        how["rouge_threshold"] = f"{options.rouge_threshold:g}"
    return how | dict(judgements.how) | graded


def _say_undecided(grades: StoredGrades) -> None:
    number, _ = grades.decided.get(UNDECIDED, (0, 0))
    if number:
        log.warning(
            "%s without a verdict of the judge, which count as wrong until they have one; the same command asks again "
            "where a request failed",
            counted(number, "answer"),
        )
