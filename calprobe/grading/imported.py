"""Grades that somebody else gave to the answers of a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from calprobe.grading.answers_of import GradedAnswer
from calprobe.interop.grade_lines import GradeLine, read_grade_lines
from calprobe.messages import did_you_mean
from calprobe.runs.grades import StoredGrades


def imported_grades(
    answers: Sequence[GradedAnswer], stored: StoredGrades | None, path: Path | None
) -> dict[str, tuple[bool, str]]:
    """The grades of a file, those that came with the replies, and those of an earlier file, with who gave each.

    Raises ProbeFormatError for a line that names no answer of the run, or one that is named before.
    """
    grades: dict[str, tuple[bool, str]] = {}
    for answer in answers:
        if answer.reply.correct is not None:
            grades[answer.reply.key] = answer.reply.correct, "the import"
    if stored is not None:
        rows = stored.of(answer.reply for answer in answers)
        grades |= {key: (row.imported, row.by) for key, row in rows.items() if row.imported is not None}
    return grades if path is None else grades | _of_file(answers, read_grade_lines(path), path)


def _of_file(answers: Sequence[GradedAnswer], lines: Iterable[GradeLine], path: Path) -> dict[str, tuple[bool, str]]:
    keys = {answer.place: answer.reply.key for answer in answers if not answer.is_greedy}
    sets = list(dict.fromkeys(place[0] for place in keys))
    variants = list(dict.fromkeys(place[2] for place in keys))
    grades: dict[str, tuple[bool, str]] = {}
    seen: dict[str, str] = {}
    for line in lines:
        name = _only(line, "set", line.set, sets)
        variant = _only(line, "variant", line.variant, variants)
        key = keys.get((name, line.question, variant, line.paraphrase, line.sample))
        if key is None:
            questions = {place[1] for place in keys if place[0] == name}
            hint = did_you_mean(line.question, questions) if line.question not in questions else ""
            line.fail(
                f"the run has no answer to grade of question {line.question!r} under {variant}{hint}; check the line"
            )
        if key in seen:
            line.fail(f"the grade of {seen[key]} once more; give each grade once")
        seen[key] = line.place
        grades[key] = line.correct, line.by or path.name
    return grades


def _only(line: GradeLine, field: str, name: str | None, names: Sequence[str]) -> str:
    """The name that a line gives, or the only one that the run has."""
    if name is None:
        if len(names) > 1:
            line.fail(f"no {field}, and the run has {', '.join(names)}; name it")
        return names[0] if names else ""
    if name not in names:
        line.fail(f"no {field} {name!r}{did_you_mean(name, names) or f'; the run has {chr(44).join(names)}'}")
    return name
