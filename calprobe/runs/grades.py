"""The grades of an asked run, stored in its folder: grades.parquet, a row for each answer that was graded."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from calprobe.runs.arrow import type_of
from calprobe.runs.decode import DecodeError, decode
from calprobe.runs.replies import Reply
from calprobe.runs.side_files import SideTable
from calprobe.runs.task import text_hash

log = logging.getLogger(__name__)

FILE_NAME = "grades.parquet"
JUDGE_MASS = "judge_mass"  # key of `how`: the probability of Yes and No together, its mean over what a judge was asked
LEAST_MASS = 0.01  # probability of all its verdicts together below which a judge gives none: their ratio is noise
LITTLE_MASS = 0.5  # mean of the same below which a judge mostly does not answer what it is asked
_OF_THE_FOLDER = ("graded", "judge_replies", JUDGE_MASS)  # keys of `how` that say nothing of the way


@dataclass(frozen=True, slots=True)
class StoredGrade:
    """Whether one answer is right, and who says so."""

    key: str  # of the reply
    text: str  # 16 digits of the SHA-256 (hex) of the reply's text: a grade is of these words
    set: str
    question: str  # id
    variant: str
    paraphrase: int
    sample: int
    automatic: bool  # by rule or judge
    rule: str  # who decided that: exact, contains, rouge, judge, abstention, number, unread, undecided
    score: float | None = None  # ROUGE-L, or the judge's probability that the answer is right
    matched: str = ""  # the accepted text that decided
    imported: bool | None = None  # as somebody else graded it, which counts first; None: nobody did
    by: str = ""  # who that was, where it is known

    @property
    def correct(self) -> bool:
        """The grade that counts: the imported one, else that of rule or judge."""
        return self.automatic if self.imported is None else self.imported

    @property
    def decided(self) -> str:
        """Who decided the grade that counts."""
        return self.rule if self.imported is None else "imported"


@dataclass(frozen=True, slots=True)
class StoredGrades:
    """All grades of a run."""

    rows: tuple[StoredGrade, ...]
    how: Mapping[str, str] = field(default_factory=dict)  # grader, target, judge, its prompts, ..: for disclosures

    def __repr__(self) -> str:
        decided = ", ".join(f"{name} {right}/{number}" for name, (number, right) in self.decided.items())
        return f"<StoredGrades of {len(self.rows):,} answers: {decided}>"

    @property
    def decided(self) -> dict[str, tuple[int, int]]:
        """How many answers each rule decided, and how many of them are right; most first."""
        counts = Counter(row.decided for row in self.rows)
        right = Counter(row.decided for row in self.rows if row.correct)
        return {name: (number, right[name]) for name, number in counts.most_common()}

    @property
    def judge_mass(self) -> float | None:
        """The probability that the judge gives Yes and No together, on average; None where it is not known."""
        return float(self.how[JUDGE_MASS]) if JUDGE_MASS in self.how else None

    @property
    def agreement(self) -> tuple[int, int, int] | None:
        """Of the answers with both an imported grade and another: their number, those that the other has right and the
        import wrong, and the reverse; None without any."""
        pairs = [(row.automatic, row.imported) for row in self.rows if row.imported is not None]
        if not pairs:
            return None
        return len(pairs), pairs.count((True, False)), pairs.count((False, True))

    def describe(self) -> str:
        """How the answers were graded, in a sentence for disclosures, and how far imported grades agree."""
        how = self.how
        target = "" if how.get("target", "all") == "all" else ", against the first accepted text alone"
        threshold = f" from ROUGE-L {how['rouge_threshold']} on" if "rouge_threshold" in how else ""
        text = f"{how.get('grader', 'unknown')}{threshold}{target}"
        if "judge" in how:
            mass = self.judge_mass
            have = "" if mass is None else f" ({mass:.2f} in all on average; its words below {LEAST_MASS})"
            text += (
                f": {how['judge']} by {how.get('judge_evidence')}{have}, prompts {how.get('judge_prompts')}, of what "
                "exact matching and abstentions leave open"
            )
        agreement = self.agreement
        if agreement is not None:
            number, too_right, too_wrong = agreement
            text += f"; of {number:,} with imported grades it has {too_right:,} right that are wrong, "
            text += f"{too_wrong:,} the reverse"
        return text

    def of(self, replies: Iterable[Reply]) -> dict[str, StoredGrade]:
        """The grades of these replies, by the reply's key; one of other words under the same key is left out."""
        rows = {row.key: row for row in self.rows}
        pairs = ((reply, rows[reply.key]) for reply in replies if reply.key in rows)
        return {reply.key: row for reply, row in pairs if row.text == text_hash(reply.text)}


_TABLE = SideTable("grades", pa.schema(list(type_of(StoredGrade))), "delete the file and run `calprobe grade` again")


def write_grades(run: Path, grades: StoredGrades) -> None:
    """Write the grades into a run folder, atomically; they replace those that are there.

    Raises CalprobeError if the file cannot be written.
    """
    schema = _TABLE.schema
    columns = [pa.array([getattr(row, column.name) for row in grades.rows], column.type) for column in schema]
    _TABLE.write(run / FILE_NAME, pa.Table.from_arrays(columns, schema=schema), {"how": dict(grades.how)})


def read_grades(run: Path) -> StoredGrades | None:
    """The grades in a run folder; None where the run was not graded.

    Raises CalprobeError if the file is damaged or of a later version.
    """
    path = run / FILE_NAME
    return _TABLE.read(path, _grades) if path.is_file() else None


def keep_grades(sources: Iterable[Path], folder: Path) -> None:
    """Write the grades that several run folders have into another, if all were graded in the same way.

    Raises as `read_grades`, `write_grades`.
    """
    gradings = [grades for source in sources if (grades := read_grades(source)) is not None]
    ways = [{key: value for key, value in grading.how.items() if key not in _OF_THE_FOLDER} for grading in gradings]
    if any(way != ways[0] for way in ways):
        log.warning("%s: the runs were graded in different ways; it has no grades: grade it again", folder)
    elif gradings:
        rows = {row.key: row for grading in gradings for row in grading.rows}
        mass = _mass_of_runs(gradings)
        write_grades(folder, StoredGrades(tuple(rows.values()), ways[0] | ({} if mass is None else mass_said(mass))))


def mass_said(mass: float) -> dict[str, str]:
    """What `StoredGrades.how` says of a judge's probability of Yes and No."""
    return {JUDGE_MASS: f"{mass:.4f}"}


def _mass_of_runs(gradings: Iterable[StoredGrades]) -> float | None:
    """The mean of several runs' judges, each by the answers that it was asked about; None where one is not known."""
    counts = [
        (grades.judge_mass, sum(row.rule in ("judge", "undecided") for row in grades.rows)) for grades in gradings
    ]
    counts = [(mass, count) for mass, count in counts if count]
    known = [(mass, count) for mass, count in counts if mass is not None]
    if not known or len(known) < len(counts):
        return None
    return sum(mass * count for mass, count in known) / sum(count for _, count in known)


def _grades(table: pa.Table, told: Mapping[str, Any]) -> StoredGrades:
    how = told.get("how")
    if not isinstance(how, dict) or not all(isinstance(value, str) for value in how.values()):
        raise DecodeError("it does not say how it was graded")
    if not 0 <= float(how.get(JUDGE_MASS, 0)) <= 1 + 1e-6:
        raise DecodeError(f"{JUDGE_MASS} is no probability")
    return StoredGrades(tuple(decode(StoredGrade, row) for row in table.to_pylist()), how)
