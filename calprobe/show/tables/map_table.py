"""Metrics before and after recalibration side by side, of estimators of any kind of run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from calprobe.metrics import Estimate
from calprobe.show.tables.layout import Cells, cells
from calprobe.show.tables.types import Better
from calprobe.words import Recalibration

BESIDE = {"ace": "ACE", "brier": "Brier", "nll": "NLL", "auroc": "AUROC"}


@dataclass(frozen=True, slots=True)
class Beside:
    """An estimator's metrics by name."""

    before: Mapping[str, Estimate]
    after: Mapping[str, Estimate]


def beside_columns(rows: Iterable[Beside], method: Recalibration) -> tuple[Cells[Beside], ...]:
    """Two columns for each metric of BESIDE that any row has; nothing after where nothing was before."""
    metrics = {metric for row in rows for metric in row.before}
    titles = {metric: title for metric, title in BESIDE.items() if metric in metrics}
    return tuple(column for metric, title in titles.items() for column in _columns(metric, title, method))


def _columns(metric: str, title: str, method: Recalibration) -> Iterator[Cells[Beside]]:
    better: Better = "larger" if metric == "auroc" else "smaller"
    yield cells("before", metric, lambda row: row.before.get(metric), better, heading=title)
    yield cells(
        method,
        f"{metric}_{method}",
        lambda row: row.after.get(metric) if metric in row.before else None,
        better,
        heading=title,
    )
