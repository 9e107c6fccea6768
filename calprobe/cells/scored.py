"""A run, opened for analysis: its instances, and what each estimator says of them.

Reports, comparisons, curves, slices, figures and pages read a `ScoredRun` and nothing else of a run. One function opens
it, `open_scored_runs`, and everything in it is computed once, when it is first asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Ints
from calprobe.cells.cell import Cell, Confidences, Labels, Units
from calprobe.cells.reading_options import ScoreReading
from calprobe.cells.run_facts import Recorded, RunFacts, model_name, of_folder, questions_of
from calprobe.confidence import Confidence, Distributions, Estimator, available_estimators
from calprobe.confidence.types import paraphrase_rows
from calprobe.metrics import Within
from calprobe.runs import Manifest, Run, ScoreTable, TemplateRecord
from calprobe.runs.run import read_table
from calprobe.words import Ties


@dataclass(frozen=True)
class ClosedSet:
    """Evidence of a run that scored every candidate: the scores under one reduction, and their softmax."""

    table: ScoreTable
    ties: Ties = "draw"

    @cached_property
    def distributions(self) -> Distributions:
        """The candidates' probabilities, computed once for all that read them."""
        return Distributions.from_table(self.table, self.ties)


@dataclass(frozen=True, slots=True)
class Answered:
    """The right answers, and each template's answers with the probability among the candidates, its base."""

    templates: tuple[TemplateRecord, ...]  # ascending
    answer_idx: Ints  # [instances]
    prediction: Ints  # [templates, instances], place of a candidate; NO_PREDICTION where a score failed
    confidence: Floats  # [templates, instances]; NaN where a score failed


@dataclass(frozen=True)
class ScoredRun:
    """A run of scores, or a table of scores: its cell, and the evidence that the cell is computed from."""

    cell: Cell  # of instances, by relation (as plain strings), then by line number
    recorded: Recorded | None  # None: a table of scores, of which nothing else is known
    relations: frozenset[str]  # those of the instances: all that are complete
    questions: str  # equal for runs that were asked the same, see `questions_of`
    evidence: ClosedSet | None  # None: of another kind, or released

    @property
    def label(self) -> str:
        """As typed, or the name that it was given."""
        return self.cell.run

    @property
    def model(self) -> str:
        """The model's name without folders, see `model_name`; of a table of scores, its label."""
        return self.cell.model

    @property
    def manifest(self) -> Manifest:
        """The run's. Raises ValueError for a table of scores, which has none."""
        return of_folder(self.label, self.recorded).manifest

    @property
    def instances(self) -> Units:
        """The units of the cell."""
        return self.cell.units

    @property
    def clusters(self) -> Labels | None:
        """The clusters that resamples go by, [instances]; None: instances are drawn one by one."""
        return self.cell.units.clusters

    @property
    def estimators(self) -> Mapping[str, Estimator]:
        """Those of the cell."""
        return self.cell.estimators

    @property
    def closed_set(self) -> ClosedSet:
        """The evidence, for what only a run over fixed candidates has. Raises ValueError where there is none."""
        if self.evidence is None:
            raise ValueError(f"{self.label}: the run has no scores of candidates, or they were released")
        return self.evidence

    @property
    def table(self) -> ScoreTable:
        """The scores. Raises as `closed_set`."""
        return self.closed_set.table

    @property
    def distributions(self) -> Distributions:
        """Their softmax. Raises as `closed_set`."""
        return self.closed_set.distributions

    @property
    def widths(self) -> Ints:
        """K, the number of candidates of each instance, [instances]; 0 where answers are free."""
        return self.instances.n_options

    @cached_property
    def facts(self) -> RunFacts:
        """What was scored, in a few numbers."""
        sizes = self.widths[self.widths > 0]
        return RunFacts(
            label=self.label,
            recorded=self.recorded,
            relations=len(self.relations),
            instances=len(self.instances),
            candidates=(int(sizes.min()), int(sizes.max())) if len(sizes) else (0, 0),
            chance_accuracy=float((1 / sizes).mean()) if len(sizes) else float("nan"),
            questions=self.questions,
        )

    @cached_property
    def right_shares(self) -> Floats | None:
        """The share of the paraphrases that get each instance right, [instances]; None with fewer than two.

        Its mean is the BEAR score: the mean accuracy over the paraphrases, every instance weighing the same.
        """
        rows = () if self.evidence is None else paraphrase_rows(self.table.templates)
        return right_shares(self.distributions, rows) if rows else None

    @cached_property
    def answered(self) -> Answered:
        """What each template answers. Raises as `closed_set`."""
        peaks = self.distributions.peaks
        return Answered(self.table.templates, self.distributions.answer_idx, peaks.prediction, peaks.largest)

    def confidence(self, estimator: str) -> Confidence:
        """What an estimator says of every instance. Raises KeyError for one that the run does not have."""
        return self.cell.confidences[estimator]

    def confidences(self, estimators: Sequence[str] | None = None) -> dict[str, Confidence]:
        """Those of several estimators, by name; None: of all."""
        return {name: self.confidence(name) for name in (self.estimators if estimators is None else estimators)}

    def released(self) -> ScoredRun:
        """The run with all confidences and without the evidence and distributions, which take most of the memory."""
        confidences = {name: replace(confidence, probabilities=None) for name, confidence in self.confidences().items()}
        run = replace(self, evidence=None, cell=replace(self.cell, confidences=confidences))
        run.__dict__["right_shares"] = self.right_shares  # where cached_property keeps it
        if self.evidence is not None:
            run.__dict__["answered"] = self.answered
        return run

    def restricted(self, rows: Ints, places: Ints) -> ScoredRun:
        """Some templates and instances of a run over a closed set, in this order; the run itself if these are all.

        Args:
            rows: of the table's scores.
            places: of the instances.
        """
        if np.array_equal(rows, np.arange(len(self.table.templates))) and np.array_equal(
            places, np.arange(len(self.instances))
        ):
            return self
        evidence = ClosedSet(_restricted(self.table, rows, places), self.closed_set.ties)
        named = self.cell.run, self.cell.model, self.cell.set
        cell = _cell(named, evidence, None if self.clusters is None else self.clusters[places])
        relations = frozenset(np.unique(cell.units.group).tolist())
        return replace(self, cell=cell, relations=relations, questions="", evidence=evidence)


def scored_run(label: str, run: Run, options: ScoreReading) -> ScoredRun:
    """A run's scores under the options' reduction, over its complete relations. Raises as `Run.table`."""
    table = run.table(options.reduction, options.score_rules)
    evidence = ClosedSet(table, options.ties)
    named = label, model_name(run.manifest.model), run.manifest.probe.name
    return ScoredRun(
        cell=_cell(named, evidence, cluster_labels(table.relation, options)),
        recorded=Recorded(run.manifest, run.cut_contexts, run.progress, run.path, run.template_costs),
        relations=frozenset(run.complete_relations),
        questions=questions_of(run.manifest, table),
        evidence=evidence,
    )


def _cell(named: tuple[str, str, str], evidence: ClosedSet, clusters: Labels | None) -> Cell:
    """The cell of a run, a model and a probe of these names."""
    table = evidence.table
    available = available_estimators(table.templates, shared=table.shares_candidates)
    estimators = {estimator.name: estimator for estimator in available}
    return Cell(
        *named,
        variant="",
        units=Units(table.relation, table.instance, np.diff(table.offsets), clusters),
        estimators=estimators,
        confidences=Confidences(estimators, lambda estimator: estimator(evidence.distributions)),
    )


def read_scores(source: Run | str | Path | ScoreTable, options: ScoreReading) -> ScoreTable:
    """The scores that the options ask for; a table has its reduction already and stays as it is.

    Raises DataMissingError if there is no run at a path, CalprobeError as `Run.table`.
    """
    return read_table(source, options.reduction, options.score_rules)


def cluster_labels(relation: npt.NDArray[np.str_], options: ScoreReading) -> Labels | None:
    """The clusters of instances of these relations, [instances]; None where instances are drawn one by one."""
    if options.cluster in (None, "instance"):
        return None
    return relation if options.cluster == "relation" else Within(relation)


def right_shares(distributions: Distributions, rows: Sequence[int]) -> Floats:
    """The share of these rows' predictions that are right, of each instance: [instances]."""
    shares: Floats = (distributions.peak(rows).prediction == distributions.answer_idx).mean(axis=0)
    return shares


def _restricted(table: ScoreTable, rows: Ints, places: Ints) -> ScoreTable:
    widths = np.diff(table.offsets)[places]
    offsets = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
    # Where each kept candidate lies: its instance's start there, and its place among the instance's own.
    columns = np.arange(offsets[-1]) + np.repeat(table.offsets[places] - offsets[:-1], widths)
    return ScoreTable(
        scores=table.scores[np.ix_(rows, columns)],
        offsets=offsets,
        answer_idx=table.answer_idx[places],
        relation=table.relation[places],
        instance=table.instance[places],
        templates=tuple(table.templates[row] for row in rows),
        own_candidates=table.own_candidates,
    )
