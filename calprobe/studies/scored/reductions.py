"""Which reduction of token scores to take: accuracy and calibration of base under each of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from calprobe.cells.opening import Runs, open_each_scored
from calprobe.cells.run_facts import RunFacts
from calprobe.cells.scored import scored_run
from calprobe.confidence import Confidence, Distributions, base_confidence
from calprobe.confidence.types import default_row
from calprobe.errors import CalprobeError
from calprobe.measures.json_values import estimate_json
from calprobe.measures.options import DEFAULT_OPTIONS, ReportOptions
from calprobe.metrics import Estimate, bootstrap_many, standard_metrics
from calprobe.runs import Manifest, Run
from calprobe.runs.pieces import REDUCTIONS
from calprobe.runs.run import Reduction
from calprobe.studies.scored.paper_figures import RunAgainst

METRICS = ("accuracy", "ace")


@dataclass(frozen=True, slots=True)
class ReductionNumbers:
    """The numbers of base under one reduction."""

    reduction: Reduction
    accuracy: Estimate
    ace: Estimate

    @property
    def harmonic_mean(self) -> float:
        """Of accuracy and 1 - ACE, `harmonic_mean`."""
        return harmonic_mean(self.accuracy.value, self.ace.value)


@dataclass(frozen=True, slots=True)
class RunReductions:
    """The reductions of one run."""

    facts: RunFacts
    template: int | None  # number of the one that base reads; None if the run has none for it, and then no numbers
    reductions: tuple[ReductionNumbers, ...]  # those that the run knows
    unknown: tuple[Reduction, ...]  # those that it does not know, being an import
    against: RunAgainst | None = None  # None unless asked for

    @property
    def label(self) -> str:
        """The run as typed."""
        return self.facts.label

    @property
    def manifest(self) -> Manifest:
        """What the run's folder says of it."""
        return self.facts.manifest

    @property
    def best(self) -> Reduction | None:
        """That of the highest harmonic mean, the first on a tie; None if no harmonic mean is defined."""
        defined = [numbers for numbers in self.reductions if not math.isnan(numbers.harmonic_mean)]
        return max(defined, key=lambda numbers: numbers.harmonic_mean).reduction if defined else None

    def to_json(self) -> dict[str, Any]:
        """The run's object in `calprobe report --reduction all --json`."""
        by_reduction = {
            numbers.reduction: {
                "accuracy": estimate_json(numbers.accuracy),
                "ace": estimate_json(numbers.ace),
                "harmonic_mean": estimate_json(Estimate(numbers.harmonic_mean)),
            }
            for numbers in self.reductions
        }
        against = {} if self.against is None else {"against": self.against.to_json()}
        content = {"reductions": by_reduction, "best": self.best, "unknown": list(self.unknown)}
        return self.facts.to_json() | content | against


@dataclass(frozen=True, slots=True)
class ReductionsReport:
    """The reductions of one run or several."""

    runs: tuple[RunReductions, ...]
    options: ReportOptions  # its reduction is not read

    def to_json(self) -> dict[str, Any]:
        """The object of `calprobe report --reduction all --json`, a key for each run as typed. NaN is None.

        Of the keys for one reduction it has those that do not depend on it; under `reductions` is accuracy, ACE and
        harmonic mean (without interval) of base by name, under `unknown` what an import lacks.
        """
        return {run.label: run.to_json() for run in self.runs}


def harmonic_mean(accuracy: float, ace: float) -> float:
    """`2 * accuracy * (1 - ace) / (accuracy + 1 - ace)`: high only where accuracy is high and calibration error low.

    Kissling et al. 2026, appendix B. Within [0, 1], larger is better; 0 where both accuracy and 1 - ace are 0, NaN
    where one of the two is NaN.

    >>> round(harmonic_mean(0.4, 0.2), 4), harmonic_mean(0.0, 1.0)
    (0.5333, 0.0)
    """
    calibration = 1 - ace
    total = accuracy + calibration
    return 0.0 if total == 0 else 2 * accuracy * calibration / total


def compare_reductions(runs: Runs, options: ReportOptions = DEFAULT_OPTIONS) -> ReductionsReport:
    """Accuracy and ACE of base, and their harmonic mean, under every reduction that a run knows.

    Kissling et al. 2026, appendix B. Accuracy and ACE have the intervals of `report`, on the same resamples under all
    reductions. The harmonic mean has none: ACE is biased upwards on a resample, so the mean is biased downwards, and no
    shift of it has been held by a simulation.

    Args:
        runs: run folders, open or by path; one or several.
        options: compat, number of ACE bins, bootstrap, its clusters; the reduction is not read.
    Returns:
        The numbers of each run over its complete relations, NaN without instances. No numbers for a run that has
        neither template 0 nor a paraphrase.
    Raises:
        UsageError: no run, or one named twice. DataMissingError: no run at a path. CalprobeError: a run is damaged, or
            an import that knows no reduction under compat.

    `compare_reductions("runs/gpt2-bear").runs[0].best` is the reduction of the highest harmonic mean.
    """
    compared = (_compare(label, run, options) for label, run in open_each_scored(runs).items())
    return ReductionsReport(tuple(compared), options)


def _compare(label: str, run: Run, options: ReportOptions) -> RunReductions:
    reductions = run.reductions(options.score_rules)
    if not reductions:
        raise CalprobeError(f"{run.path}: an import that lacks what --compat {options.compat} needs; leave that out")
    scored = scored_run(label, run, replace(options, reduction=reductions[0]))
    row = default_row(scored.table.templates)
    base = {} if row is None else {reduction: _base(run, reduction, row, options) for reduction in reductions}
    metrics = [metric for metric in standard_metrics(options.ace_bins) if metric.name in METRICS]
    samples = {str(reduction): (confidence.confidence, confidence.correct) for reduction, confidence in base.items()}
    estimates = bootstrap_many(metrics, samples, options.resampling, scored.clusters)
    return RunReductions(
        facts=scored.facts,
        template=None if row is None else scored.table.templates[row].number,
        reductions=tuple(ReductionNumbers(reduction, **estimates[reduction]) for reduction in base),
        unknown=tuple(reduction for reduction in REDUCTIONS if reduction not in reductions),
    )


def _base(run: Run, reduction: Reduction, row: int, options: ReportOptions) -> Confidence:
    table = run.table(reduction, options.score_rules)
    # So that no softmax is taken of the other templates.
    one_template = replace(table, scores=table.scores[row : row + 1], templates=table.templates[row : row + 1])
    return base_confidence(Distributions.from_table(one_template, options.ties))
