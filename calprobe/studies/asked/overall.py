"""The numbers that stand for a run of replies: means over its sets and variants, all of the same answers."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from calprobe.cells.asked import Asked, AskedCell, read_sets, usual_variants
from calprobe.measures.estimates import few_values_of
from calprobe.measures.options import DEFAULT_OPTIONS, ReportOptions
from calprobe.metrics import Estimate, standard_metrics
from calprobe.metrics.error_shown import ERRORS, ErrorName, error_shown, for_chance, with_chance
from calprobe.metrics.intervals import UNDEFINED
from calprobe.show.verdict import MOST
from calprobe.studies.asked.cell_report import mean_of, report_accuracy, report_estimator
from calprobe.studies.asked.cell_results import Accuracy, CellEstimator, CellReport
from calprobe.studies.asked.results import AskedRunReport

# Estimators of replies that stand for a run, the best known first; of others the first that there is.
LABELS = ("label", "label_final")
ANSWER = "label_answer"  # label probabilities where the answer stands, however long the reply before it is
OF_RUN = (
    *("accuracy", "mean_confidence", "confidence_gap"),
    *(name for error in ERRORS for name in with_chance(error)),
    *("brier", "auroc"),
)
_OF_ONE = tuple(with_chance(error)[2] for error in ERRORS)  # p-values, which have no mean


@dataclass(frozen=True, slots=True)
class Overall:
    """A run in a few numbers, over the variants of the usual form of answer and order of options."""

    of: str  # the estimator whose answers and confidences all numbers are of; without any, the reader of the answers
    rows: int  # with that confidence, over all sets and variants
    asked: int  # that could have it
    questions: int  # the most with replies that any set has
    cells: int  # sets and variants that the means are over
    left_out: tuple[str, ...]  # variants
    few_values: bool  # whether the error that is printed is ECE
    chance: float
    metrics: Mapping[str, Estimate]  # those of OF_RUN: of one cell with intervals, of several plain means; no mean of p
    answers: int  # of all kinds and sets, with the confidence or not
    read: Estimate  # accuracy of these as they are read from replies, likewise

    @property
    def few(self) -> bool:
        """Whether the confidence is in so few of the answers that its accuracy is not the run's."""
        return self.rows < MOST * self.answers

    @property
    def accuracy(self) -> Estimate:
        """The run's: of the answers with the confidence, or where these are few, of all as they are read."""
        return self.read if self.few else self.metrics["accuracy"]

    @property
    def error(self) -> ErrorName:
        """The calibration error that stands for the run."""
        return error_shown(few_values=self.few_values)

    @property
    def coverage(self) -> float:
        """The share of the rows that could have the confidence which have it; NaN without any."""
        return self.rows / self.asked if self.asked else float("nan")


@dataclass(frozen=True, slots=True)
class _Cell:
    """What counts of one cell."""

    rows: int
    asked: int
    chance: float
    metrics: Mapping[str, Estimate]

    @classmethod
    def of(cls, found: CellEstimator) -> _Cell:
        """By an estimator."""
        return cls(found.rows, found.rows + sum(found.reasons.values()), found.chance, found.metrics)

    @classmethod
    def read(cls, found: Accuracy, chance: float) -> _Cell:
        """By a reader, where there is no confidence."""
        return cls(found.asked, found.asked, chance, {"accuracy": found.value})


def overall_of(run: AskedRunReport) -> Overall | None:
    """The numbers that stand for a reported run; None without replies."""
    return overall_by(run, confidence_of(usual_cells(run)))


def overall_by(run: AskedRunReport, estimator: str | None, of_set: str | None = None) -> Overall | None:
    """The numbers of a reported run by an estimator of it; None: by the reader of its answers, without confidence.

    Args:
        run: a report.
        estimator: one that is a probability.
        of_set: a set of the run; None: over all.
    Returns:
        None where no cell has the estimator, or an answer.
    """
    sets = [report for name, report in run.sets.items() if of_set in (None, name)]
    usual = [report.cells[variant] for report in sets for variant in report.usual]
    read = [_Cell.read(cell.accuracy[cell.reader], cell.chance) for cell in usual if cell.accuracy]
    having = [cell.estimators[estimator] for cell in usual if estimator in cell.estimators] if estimator else []
    cells = read if estimator is None else list(map(_Cell.of, having))
    left_out = [variant for report in sets for variant in report.cells if variant not in report.usual]
    of = estimator or next((cell.reader for cell in usual if cell.accuracy), "")
    questions = max((report.answered for report in sets), default=0)
    return _overall(of, cells, read, left_out, questions, few_values=run.few_values)


def usual_cells(run: AskedRunReport) -> list[CellReport]:
    """The cells that means are over, of all sets."""
    return [report.cells[variant] for report in run.sets.values() for variant in report.usual]


def overall_read(asked: Asked, options: ReportOptions = DEFAULT_OPTIONS, *, intervals: bool = True) -> Overall | None:
    """The same numbers of a run that was not reported; no others are computed.

    Without intervals, what chance makes of errors is there only where it is shown, see `chance_shown`.
    """
    read = list(read_sets(asked, options))
    questions = max((read_set.answered for read_set in read), default=0)
    if not intervals:
        options = replace(options, resampling=for_chance(questions, options.resampling))
    usual = {read_set.name: usual_variants(asked, read_set.cells) for read_set in read}
    opened = [read_set.cells[variant] for read_set in read for variant in usual[read_set.name]]
    name = confidence_of(opened)
    metrics = [metric for metric in standard_metrics(options.ace_bins) if metric.name in OF_RUN]
    answers = [cell.read.answers for cell in opened]
    read_cells = [
        _Cell.read(report_accuracy(cell, own, options), mean_of(cell.units.chance.tolist()))
        for cell, own in zip(opened, answers, strict=True)
    ]
    having = [cell for cell in opened if name in cell.confidences]
    cells = [_Cell.of(report_estimator(cell, name, metrics, options)) for cell in having] if name else read_cells
    of = name or next((own.reader for own in answers), "")
    left_out = [variant for read_set in read for variant in read_set.cells if variant not in usual[read_set.name]]
    few = any(
        few_values_of(cell.cell, name, options.ace_bins)
        for read_set in read
        for cell in read_set.cells.values()
        for name in cell.estimators
    )
    return _overall(of, cells, read_cells, left_out, questions, few_values=few)


def confidence_of(cells: Iterable[AskedCell | CellReport]) -> str | None:
    """The estimator that stands for the cells of a run, of those that are probabilities; None of none."""
    return first_estimator(probabilities_of(cells))


def probabilities_of(cells: Iterable[AskedCell | CellReport]) -> dict[str, None]:
    """The names of the estimators of any cell that are probabilities, in their order."""
    return dict.fromkeys(
        name for cell in cells for name, estimator in cell.estimators.items() if estimator.scale == "probability"
    )


def kinds_of(run: AskedRunReport, estimator: str) -> tuple[str, ...]:
    """The kinds of questions that have the confidence, where others have not; none where all have it or no kind has."""
    cells = [report.cells[variant] for report in run.sets.values() for variant in report.usual]
    estimators = [(kind, of_kind.estimators) for cell in cells for kind, of_kind in cell.kinds.items()]
    having = dict.fromkeys(kind for kind, names in estimators if estimator in names)
    return tuple(having) if len(having) < len({*dict(estimators)}) else ()


def first_estimator(given: Collection[str]) -> str | None:
    """The estimator of replies that stands for a run; None of none.

    >>> first_estimator(["label_raw", "label"]), first_estimator(["stated_percent"])
    ('label', 'stated_percent')
    """
    return next((name for name in LABELS if name in given), next(iter(given), None))


def _overall(
    of: str,
    cells: Sequence[_Cell],
    read: Sequence[_Cell],
    left_out: Iterable[str],
    questions: int,
    *,
    few_values: bool,
) -> Overall | None:
    if not cells:
        return None
    return Overall(
        of=of,
        rows=sum(cell.rows for cell in cells),
        asked=sum(cell.asked for cell in cells),
        questions=questions,
        cells=len(cells),
        left_out=tuple(dict.fromkeys(left_out)),
        few_values=few_values,
        chance=_mean([Estimate(cell.chance) for cell in cells]).value,
        metrics={
            name: UNDEFINED if name in _OF_ONE and len(cells) > 1 else _mean([cell.metrics[name] for cell in cells])
            for name in OF_RUN
            if all(name in cell.metrics for cell in cells)
        },
        answers=sum(cell.asked for cell in read),
        read=_mean([cell.metrics["accuracy"] for cell in read]),
    )


def _mean(estimates: Sequence[Estimate]) -> Estimate:
    """One estimate as it is; of several the mean of those that are defined, without an interval."""
    if len(estimates) == 1:
        return estimates[0]
    values = [estimate.value for estimate in estimates if not math.isnan(estimate.value)]
    return Estimate(sum(values) / len(values)) if values else UNDEFINED
