"""Any run or table as cells with the groups of their units, and the probabilities of candidates where there are any."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Ints
from calprobe.cells.asked import Asked, AskedCell, read_sets
from calprobe.cells.asked_folder import asked_of
from calprobe.cells.cell import Cell
from calprobe.cells.opening import AnyRun
from calprobe.cells.origin import Origin, asked_origin, scored_origin, table_origin
from calprobe.cells.reading_options import ReplyReading, RunReading
from calprobe.cells.scored import ScoredRun, scored_run
from calprobe.cells.table import table_cell
from calprobe.confidence.asked.label_masses import NO_LABEL, LabelMasses
from calprobe.confidence.asked.read_cell import Read
from calprobe.confidence.types import OK
from calprobe.errors import UsageError
from calprobe.interop.score_tables import ScoredAnswers, read_scored_answers, read_scored_candidates
from calprobe.runs import Run

# Of replies, the estimators that are the largest probability of a label, with the place that all are read at.
LABELS: Mapping[str, Callable[[Read], LabelMasses]] = {
    "label": lambda read: read.first,
    "label_answer": lambda read: read.at_answer,
    "label_final": lambda read: read.final,
}


@dataclass(frozen=True, slots=True)
class Candidates:
    """Units of a cell with a probability of each of their candidates, laid end to end."""

    places: Ints  # [units], where they stand in the cell
    probabilities: Floats  # [candidates]; NaN where a unit has none
    offsets: Ints  # [units + 1], as in `Distributions`
    answer_idx: Ints  # [units], place of the right one within the unit's own


@dataclass(frozen=True)
class GroupedCell:
    """A cell, and what its units are grouped by."""

    cell: Cell
    by: str  # relation, group (of questions); empty: its units have no groups
    groups: npt.NDArray[np.str_]  # [units]
    source: ScoredRun | AskedCell | Candidates | None = None  # None: a table of single answers
    stakes: float | None = None  # that the prompt names
    origin: Origin | None = None  # None: in memory

    @property
    def name(self) -> str:
        """Run, set and variant."""
        return " ".join(filter(None, (self.cell.run, self.cell.set, self.cell.variant)))

    def shares_facts(self, other: GroupedCell) -> bool:
        """Whether answers of the other cell are of the same model and facts, as far as is known."""
        return self.origin is not None and other.origin is not None and self.origin.shares_facts(other.origin)

    def clustered(self, option: str, by: str) -> GroupedCell:
        """The cell with its groups as clusters. Raises UsageError for another name than that of its groups."""
        if by != self.by:
            raise UsageError(f"{option} {by}: {self.cell.run} has none; its answers can be in clusters by {self.by}")
        return replace(self, cell=replace(self.cell, units=replace(self.cell.units, clusters=self.groups)))

    def candidates(self, estimator: str) -> Candidates | None:
        """The distribution that a confidence is the largest probability of; None for one of another kind."""
        if isinstance(self.source, ScoredRun):
            probabilities, run = self.cell.confidences[estimator].probabilities, self.source
            if probabilities is None:
                return None
            distributions = run.distributions
            places = np.arange(len(self.cell.units))
            return Candidates(places, probabilities, distributions.offsets, distributions.answer_idx)
        if isinstance(self.source, Candidates):
            return self.source
        if self.source is None or estimator not in LABELS or estimator not in self.cell.estimators:
            return None
        return _of_labels(self.source, LABELS[estimator](self.source.read))


def _of_labels(asked: AskedCell, masses: LabelMasses) -> Candidates:
    """Masses normalised over the labels, even where none was seen; of the rows that have label probabilities."""
    rows = asked.table.rows
    known = np.isin(masses.status, [OK, NO_LABEL]) & (masses.labels > 0)
    places = np.array([at for at in np.flatnonzero(known) if rows[at].question.answer is not None], np.int64)
    counts = masses.labels[places]
    inside = np.arange(masses.mass.shape[1]) < counts[:, None]
    mass = masses.mass[places]
    with np.errstate(invalid="ignore", divide="ignore"):
        total = mass.sum(axis=1, keepdims=True)
        shares = np.where(total > 0, mass / total, 1 / np.maximum(counts[:, None], 1))
    answers = np.array([rows[at].question.answer for at in places], np.int64)
    return Candidates(places, shares[inside], np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), answers)


def run_cells(label: str, run: AnyRun, options: RunReading) -> list[GroupedCell]:
    """The cell of a run of scores, or those of a run of replies, one for each set and variant."""
    if isinstance(run, Run):
        scored = scored_run(label, run, options)
        origin = scored_origin(scored, run.path)
        return [GroupedCell(scored.cell, "relation", scored.cell.units.group, scored, origin=origin)]
    cells = asked_cells(asked_of(label, run), options)
    return [replace(cell, origin=asked_origin(run, cell.cell.set)) for cell in cells]


def asked_cells(asked: Asked, replies: ReplyReading) -> list[GroupedCell]:
    """Those of questions and replies, from a folder or made in memory."""
    cells = [cell for read in read_sets(asked, replies) for cell in read.cells.values()]
    return [
        GroupedCell(cell.cell, "group", _question_groups(cell), cell, asked.stakes.get(cell.cell.variant))
        for cell in cells
    ]


def _question_groups(asked: AskedCell) -> npt.NDArray[np.str_]:
    return np.array([row.question.group or "none" for row in asked.table.rows], np.str_)


def pair_of(cell: GroupedCell, others: Sequence[GroupedCell]) -> GroupedCell:
    """The cell of another run with this set and variant.

    Raises UsageError where there is none, and where the other run is this one.
    """
    for other in others:
        if cell.origin is not None and other.origin is not None and cell.origin.same_place(other.origin):
            raise UsageError(
                f"--on {other.cell.run}: fixes the promise too, so it cannot check it; "
                "name another run or file, or leave out --on to check on the other half"
            )
    if len(others) == 1:
        return others[0]
    named = {(other.cell.set, other.cell.variant): other for other in others}
    key = cell.cell.set, cell.cell.variant
    if key not in named:
        where = others[0].cell.run if others else "the other run"
        raise UsageError(f"--on {where}: has no {' '.join(filter(None, key))}, which {cell.cell.run} has")
    return named[key]


@dataclass(frozen=True, slots=True)
class Columns:
    """Of a table the columns that are read."""

    score: str  # numbers
    uncertain: bool  # whether larger ones are less sure
    correct: str
    cluster: str | None = None  # what answers depend on each other within


def file_cell(path: Path, columns: Columns) -> GroupedCell:
    """The cell of a table of scores, as they stand there. Raises as `read_scored_answers`."""
    answers = read_scored_answers(path, [columns.score], columns.correct, None, columns.cluster, many=True)
    cell = table_cell(answers, str(path), raw=True, is_uncertainty=lambda _: columns.uncertain)
    return _of_table(path, cell, answers.groups)


def candidates_cell(path: Path, candidates: Sequence[str], answer: str, cluster: str | None = None) -> GroupedCell:
    """The cell of a table of candidates: its one confidence is the largest probability of a row.

    Arguments, and what is raised, as of `read_scored_candidates`.
    """
    table = read_scored_candidates(path, candidates, answer, cluster)
    spans = list(zip(table.offsets[:-1].tolist(), table.offsets[1:].tolist(), strict=True))
    firsts = [int(np.argmax(table.probabilities[start:stop])) for start, stop in spans]
    largest = table.probabilities[table.offsets[:-1] + np.array(firsts)]
    answers = ScoredAnswers({"probability": largest}, (np.array(firsts) == table.answer_idx).astype(np.int64))
    found = Candidates(np.arange(len(spans)), table.probabilities, table.offsets, table.answer_idx)
    return replace(_of_table(path, table_cell(answers, str(path)), table.groups), source=found)


def _of_table(path: Path, cell: Cell, clusters: Sequence[str] | None) -> GroupedCell:
    """A table's cell with its clusters; it has one confidence."""
    if clusters is not None:
        cell = replace(cell, units=replace(cell.units, clusters=np.array(clusters, np.str_)))
    (confidence,) = cell.confidences.values()
    origin = table_origin(path, confidence.confidence, confidence.correct)
    return GroupedCell(cell, "", np.full(len(cell.units), ""), origin=origin)
