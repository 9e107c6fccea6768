"""The metrics of a table of scores and correctness: a row a metric, a column a score."""

from __future__ import annotations

from collections.abc import Iterator

from calprobe.analysis.rank import RankReport
from calprobe.analysis.tables.types import Column, Row, Table
from calprobe.messages import counted


def rank_tables(found: RankReport) -> tuple[Table]:
    """One table. A score that is no confidence has no calibration."""
    table = Table(
        caption=f"Ranking metrics of {found.label}.",
        label="rank",
        stub="metric",
        columns=tuple(Column(score.name) for score in found.scores),
        rows=tuple(
            Row(metric.name, tuple(score.metrics.get(metric.name) for score in found.scores))
            for metric in found.metrics
        ),
        heading=(f"{found.label}: {counted(found.answers, 'answer')}",),
        general=tuple(_notes(found)),
        best_within=None,
    )
    return (table,)


def _notes(found: RankReport) -> Iterator[str]:
    for better in ("larger", "smaller"):
        names = ", ".join(metric.name for metric in found.metrics if metric.better == better)
        yield f"{better.capitalize()} is better: {names}."
    if found.options.resampling.n_resamples:
        resamples = counted(found.options.resampling.n_resamples, "resample")
        yield f"Ranges: 95 % bootstrap intervals ({resamples}, seed {found.options.resampling.seed})."
    if not all(score.scale == "probability" for score in found.scores):
        why = "larger scores are less sure" if found.options.uncertainty else "not all scores lie in [0, 1]"
        yield f"Ranking metrics alone where calibration has no meaning ({why})."
