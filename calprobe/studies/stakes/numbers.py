"""What answers are worth at stakes: given by their confidences, and as a prompt that names the stakes made it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from calprobe.answers import abstains
from calprobe.arrays import Floats
from calprobe.cells.asked import AskedCell
from calprobe.cells.candidates import GroupedCell, run_cells
from calprobe.cells.cell import Labels
from calprobe.cells.opening import RunLike, open_runs
from calprobe.errors import UsageError
from calprobe.measures.chosen import known_estimators
from calprobe.measures.estimates import mean_estimate
from calprobe.measures.halves import with_answers
from calprobe.measures.options import DEFAULT_OPTIONS
from calprobe.metrics import Estimate, Resampling, cost_of_error, mean_utilities, utilities
from calprobe.metrics.bootstrap import draw_mean
from calprobe.metrics.intervals import UNDEFINED, interval
from calprobe.runs import AskedRun
from calprobe.studies.stakes.results import DEFAULT_STAKES, AtStakes, Decided, StakesOptions, StakesReport, Told

USUAL = ("base", "margin", "average_min")


def run_stakes(run: RunLike | AskedRun, options: StakesOptions = DEFAULT_STAKES) -> StakesReport:
    """What the answers of a run are worth at stakes, by confidence and with the stakes in the prompt.

    At stakes t a right answer is worth 1, a wrong one -t / (1 - t), none 0; an answer is given where its confidence is
    at least t. docs/methods/stakes.md has the formulas and their source.

    Args:
        run: of scores or replies, open or by path.
        options: stakes, estimators, bootstrap.
    Raises:
        UsageError: as `stakes_report`. DataMissingError, CalprobeError: as `report`.

    Example:
        >>> calprobe.stakes("runs/clm").decided[0].mean  # doctest: +SKIP
    """
    ((label, opened),) = open_runs(run).items()
    return stakes_report(run_cells(label, opened, DEFAULT_OPTIONS), options)


def stakes_report(cells: Sequence[GroupedCell], options: StakesOptions = DEFAULT_STAKES) -> StakesReport:
    """What answers are worth at stakes, of each cell and estimator, and of each variant that names stakes.

    Units of which an estimator says nothing, such as all but one of a question's samples, do not count; those without a
    confidence are not answered.

    Raises:
        UsageError: an estimator that a cell lacks, or that is no probability, so that stakes are no threshold of it.
    """
    decided = [_decided(cell, name, options) for cell in cells for name in _estimators(cell, options)]
    told = [
        _told(cell, cell.stakes, cell.source, options)
        for cell in cells
        if cell.stakes is not None and isinstance(cell.source, AskedCell)
    ]
    if not decided and not told:
        others = ", ".join(dict.fromkeys(name for cell in cells for name in cell.cell.estimators)) or "none"
        raise UsageError(
            "no confidences that are probabilities, within 0 and 1, and no prompt that names stakes; there are: "
            f"{others}"
        )
    return StakesReport(options, tuple(decided), tuple(told))


def _estimators(cell: GroupedCell, options: StakesOptions) -> tuple[str, ...]:
    estimators = cell.cell.estimators
    if options.estimators is not None:
        for name in (named := known_estimators(cell.cell.run, options.estimators, estimators)):
            if estimators[name].scale != "probability":
                raise UsageError(f"{name}: no probability, so stakes are no threshold of it; name a confidence")
        return named
    probabilities = [name for name, estimator in estimators.items() if estimator.scale == "probability"]
    if cell.by == "relation":
        return tuple(name for name in USUAL if name in probabilities)
    return tuple(name for name in probabilities if cell.cell.confidences[name].read.any())


def _decided(cell: GroupedCell, name: str, options: StakesOptions) -> Decided:
    answers = with_answers(cell.cell, name)
    confidence, clusters, resampling = answers.confidences[name], answers.units.clusters, options.resampling
    # One that is not known is below all stakes but 0, at which nothing is lost by answering.
    sure, correct = np.nan_to_num(confidence.confidence, nan=0.0), confidence.correct
    certain = np.ones_like(sure)

    def mean(values: Floats) -> Estimate:
        return _mean_utility(values, resampling, clusters)

    at = tuple(
        AtStakes(
            stakes,
            float((sure >= stakes).mean()) if len(sure) else math.nan,
            mean(utilities(sure, correct, stakes)),
            mean(utilities(certain, correct, stakes)),
        )
        for stakes in options.at
    )
    return Decided(
        cell=cell.name,
        score=name,
        units=len(sure),
        accuracy=mean_estimate(correct, None, resampling, clusters),
        at=at,
        mean=mean(mean_utilities(sure, correct)),
        mean_always=mean(mean_utilities(certain, correct)),
    )


def _told(cell: GroupedCell, stakes: float, source: AskedCell, options: StakesOptions) -> Told:
    """Answers and abstentions as they were read. An abstention from a choice or a number is a reply without one."""
    answers = source.read.answers
    rows = np.flatnonzero(answers.asked)
    said = np.array([abstains(source.table.rows[at].first.text) for at in rows], np.bool_)
    extracted, correct = answers.extracted[rows], answers.correct[rows]
    abstained = answers.abstained[rows] | (~extracted & said)
    clusters = source.units.at(rows).clusters
    worth = np.where(abstained, 0.0, correct - ~correct * cost_of_error(stakes))
    answered = ~abstained

    return Told(
        cell=" ".join(filter(None, (cell.cell.run, cell.cell.set))),
        variant=cell.cell.variant,
        stakes=stakes,
        units=len(rows),
        abstained=mean_estimate(abstained, None, options.resampling, clusters),
        unread=float((answered & ~extracted).mean()) if len(rows) else math.nan,
        accuracy=mean_estimate(correct, answered, options.resampling, clusters),
        utility=_mean_utility(worth.astype(np.float64), options.resampling, clusters),
    )


def _mean_utility(values: Floats, resampling: Resampling, clusters: Labels | None) -> Estimate:
    """The mean of any numbers with its percentile interval; NaN without numbers, no interval where all are equal."""
    if not len(values):
        return UNDEFINED
    return interval(draw_mean(values, resampling, clusters))
