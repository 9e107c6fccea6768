"""The table of uncertainties without a scale: how well their order tells right from wrong, in three readings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from calprobe.confidence.asked.sample_readings import GREEDY_READING, MAJORITY, READINGS
from calprobe.confidence.estimator import Scale
from calprobe.metrics import Metric, RankMetric
from calprobe.metrics.intervals import FEW
from calprobe.show.tables.layout import Cells, Layout, cells
from calprobe.show.tables.types import Cell, Row, Table
from calprobe.studies.asked.cell_results import CellEstimator, CellReport
from calprobe.studies.asked.results import SetReport

NAMES = {"": "pooled", MAJORITY: "majority", GREEDY_READING: "greedy"}
SHOWN = ("auroc", "aurc", "prr")
ALIKE = 0.9  # of the most samples: where questions have fewer on average, their numbers matter
UNEQUAL = (
    "Warning: questions have different numbers of samples ({}). With fewer an answer is more frequent, and an entropy "
    "smaller, by chance alone (a single sample has frequency 1), so calibration and order partly show these numbers."
)
Readings = Mapping[str, CellEstimator]  # an uncertainty, by the end of its name


def uncertainty_table(report: SetReport, metrics: Sequence[Metric]) -> Table:
    """A row an uncertainty, grouped by variant; the ranking metrics of each reading that the run allows."""
    rank_metrics = [metric for metric in metrics if isinstance(metric, RankMetric) and metric.name in SHOWN]
    cells = list(report.cells.values())
    readings = [end for end in READINGS if any(_has(cell, end) for cell in cells)]
    layout = Layout[Readings].given(
        "Uncertainty of samples, by its order",
        "uncertainty",
        "uncertainty",
        *[_column(metric, end) for end in readings for metric in rank_metrics],
        notes=(
            "Larger is less sure, without a scale. Pooled: every sample with its own correctness; majority: one row a "
            "question, with that of the most frequent answer; greedy: with that of one greedy answer.",
        ),
        kind="uncertainty",
    )
    return layout.of_rows(
        (
            (
                Row(name, group=cell.variant, keys={"variant": cell.variant, "estimator": name}),
                {end: cell.estimators[name + end] for end in readings if name + end in cell.estimators},
            )
            for cell in cells
            for name in uncertainties(cell)
        ),
        *_counts(cells),
        *unequal_samples(cells),
        *few_outcomes(report.cells.values(), "uncertainty"),
    )


def _column(metric: Metric, end: str) -> Cells[Readings]:
    def value(readings: Readings) -> Cell:
        return readings[end].metrics.get(metric.name) if end in readings else None

    return cells(metric.title, metric.name, value, heading=NAMES[end], keys={"reading": NAMES[end]})


def _counts(cells: Sequence[CellReport]) -> Iterator[str]:
    """How many samples the questions have: uncertainties of different numbers cannot be compared."""
    counts = [(cell.variant, cell.samples) for cell in cells if cell.samples is not None]
    clauses = (
        f"{name} {samples.mean:.3g}{f' ({samples.least} to {samples.most})' if samples.least < samples.most else ''}, "
        f"{samples.answered:.3g} of them with an answer"
        for name, samples in counts
    )
    if counts:
        yield f"Samples a question: {'; '.join(clauses)}. A sample without an answer agrees with no other."


def unequal_samples(cells: Iterable[CellReport]) -> Iterator[str]:
    """A warning where many questions have fewer samples than others; not of a few requests that failed."""
    unequal = [
        f"{cell.variant} {cell.samples.least} to {cell.samples.most}"
        for cell in cells
        if cell.samples is not None and cell.samples.mean < ALIKE * cell.samples.most
    ]
    if unequal:
        yield UNEQUAL.format(", ".join(unequal))


def few_outcomes(cells: Iterable[CellReport], scale: Scale) -> Iterator[str]:
    """A warning where the order of confidences rests on few questions."""
    fewest = {
        cell.variant: min(counts)
        for cell in cells
        if (
            counts := [
                estimator.rarer
                for estimator in cell.estimators.values()
                if estimator.scale == scale and estimator.rarer
            ]
        )
    }
    few = [f"{name} {count}" for name, count in fewest.items() if count < FEW]
    if few:
        yield (
            f"Warning: few questions have the rarer outcome, right or wrong ({', '.join(few)}): AUROC, AURC and PRR "
            "rest on them, and have no interval."
        )


def uncertainties(cell: CellReport) -> list[str]:
    """The names of a cell's uncertainties, without their readings."""
    names = (name for name, estimator in cell.estimators.items() if estimator.scale == "uncertainty")
    return list(dict.fromkeys(name.removesuffix(MAJORITY).removesuffix(GREEDY_READING) for name in names))


def _has(cell: CellReport, end: str) -> bool:
    names = [name for name, estimator in cell.estimators.items() if estimator.scale == "uncertainty"]
    ended = [name for name in names if name.endswith((MAJORITY, GREEDY_READING))]
    return any(name.endswith(end) for name in ended) if end else len(ended) < len(names)
