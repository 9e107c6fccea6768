"""The report of asked runs, with its forms for programs: JSON and a frame."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from calprobe.measures.in_notebook import InNotebook
from calprobe.measures.options import ReportOptions
from calprobe.metrics import Metric
from calprobe.studies.asked.results import AcrossRuns, AskedRunReport
from calprobe.studies.stated.reliability import reliability_metrics
from calprobe.studies.stated.results import StatedStudy

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("run", "model", "set", "variant", "estimator", "metric", "value", "low", "high", "coverage")


@dataclass(frozen=True, slots=True)
class AskedReport(InNotebook):
    """The reports of one asked run or several."""

    runs: tuple[AskedRunReport, ...]
    metrics: tuple[Metric, ...]
    options: ReportOptions
    across: AcrossRuns | None = None  # None of one run
    metrics_chosen: bool = False  # whether metrics were chosen, which tables then have in that order

    def __repr__(self) -> str:
        return f"<AskedReport of {', '.join(run.label for run in self.runs)}>"

    @property
    def stated(self) -> StatedStudy | None:
        """The study of stated confidence of those runs that ask what it asks; None without any."""
        runs = tuple(run.stated for run in self.runs if run.stated is not None)
        return StatedStudy(runs, self.stated_metrics) if runs else None

    @property
    def stated_metrics(self) -> tuple[Metric, ...]:
        """The metrics of that study: of those that were chosen, or all."""
        metrics = reliability_metrics(self.options)
        chosen = [run.stated.chosen for run in self.runs if run.stated is not None]
        names = chosen[0] if chosen else None
        return metrics if names is None else tuple(metric for metric in metrics if metric.name in names)

    def frame(self) -> pd.DataFrame:
        """A row for each run, set, variant, estimator and metric, with value, low, high and coverage.

        `low` and `high` are the ends of the 95 % interval; NaN where there is none. The estimator of an accuracy is its
        reader; the coverage is the share of the rows that the value is of.
        """
        import pandas as pd

        return pd.DataFrame(self._numbers(), columns=list(COLUMNS))

    def _numbers(self) -> Iterator[tuple[Any, ...]]:
        for run in self.runs:
            for cell in run.reports():
                place = (run.label, run.model, cell.set, cell.variant)
                for reader, accuracy in cell.accuracy.items():
                    value, share = accuracy.value, accuracy.asked / cell.rows if cell.rows else float("nan")
                    yield (*place, reader, "accuracy", value.value, value.low, value.high, share)
                for name, estimator in cell.estimators.items():
                    for metric, value in estimator.metrics.items():
                        yield (*place, name, metric, value.value, value.low, value.high, estimator.coverage.value)

    def to_json(self) -> dict[str, Any]:
        """The object of `calprobe report --json`, a key for each run, and `across` for several. NaN is None."""
        across = {} if self.across is None else {"across": self.across.to_json()}
        return {run.label: run.to_json() for run in self.runs} | across
