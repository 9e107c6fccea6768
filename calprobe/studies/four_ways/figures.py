"""What figures and pages show of the same facts in several ways: reliability, combinations, relations, correlations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from calprobe.curves.calibration_curve import (
    METRICS,
    Calibration,
    CalibrationLine,
    calibration_line,
)
from calprobe.curves.calibration_figure import draw_calibration
from calprobe.measures.run_names import state
from calprobe.metrics import ACE_BINS, Resampling, bootstrap_many, standard_metrics
from calprobe.metrics.intervals import SIGNIFICANT
from calprobe.show.kinds.dumbbell_figure import DumbbellRow, Dumbbells
from calprobe.show.kinds.matrix_figure import Correlations
from calprobe.show.kinds.quarters_figure import QuarterBars, Quarters
from calprobe.show.plots.paper import draw
from calprobe.studies.four_ways.joint import FourWays
from calprobe.studies.four_ways.results import TwoByTwo

if TYPE_CHECKING:
    from calprobe.show.plots import Look
    from calprobe.show.plots.look import Draw

PARTS = ("both right", "only ranked right", "only answered right", "neither right")
RHO = "Spearman's correlation of how sure each two confidences are"


@dataclass(frozen=True, slots=True)
class WayPictures:
    """The figures as numbers."""

    title: str  # the models, and that runs are not of everything
    calibration: Calibration  # of views that are probabilities; `run` is the title
    quarters: tuple[Quarters, ...]
    dumbbells: tuple[Dumbbells, ...]
    correlations: Correlations | None  # None of a single view

    def drawn(self) -> Iterator[tuple[str, Draw]]:
        """The kinds that there is something to draw of, each with the function that draws it."""
        if self.calibration.lines:
            yield "reliability", lambda look: draw_calibration(self.calibration, self._titled(look))
        if self.quarters:
            yield "two-by-two", lambda look: draw([QuarterBars(self.quarters)], self._titled(look))
        if self.dumbbells:
            yield "relations", lambda look: draw(self.dumbbells, self._titled(look))
        if self.correlations is not None:
            correlations = self.correlations
            yield "correlations", lambda look: draw([correlations], self._titled(look))

    def _titled(self, look: Look) -> Look:
        return replace(look, title=self.title) if look.title is None else look


def way_pictures(found: FourWays) -> WayPictures:
    """All figures of a comparison."""
    views = [numbers.view for numbers in found.views]
    values = tuple(tuple(found.rho(first, second).value for second in views) for first in views)
    titles = tuple(f"{view.title} ({view.way})" for view in views)
    of = state(limited=any(run.limited for run in found.runs), partial=any(run.partial for run in found.runs))
    title = f"{', '.join(found.models)}{of}"
    return WayPictures(
        title,
        Calibration(tuple(_lines(found, title)), "facts"),
        tuple(_quarters(pair) for pair in found.two_by_two if pair.fair),
        tuple(_dumbbells(pair) for pair in found.two_by_two if pair.fair),
        Correlations("Rank correlation", titles, values, RHO, numbered=False) if len(views) > 1 else None,
    )


def _lines(comparison: FourWays, title: str) -> Iterator[CalibrationLine]:
    ace_bins = comparison.options.scores.ace_bins
    metrics = [metric for metric in standard_metrics(ace_bins) if metric.name in METRICS]
    for numbers in comparison.views:
        view, kept = numbers.view, numbers.view.confidence.read
        if view.estimator.scale != "probability" or not kept.any():
            continue
        sample = view.sample(kept)
        values = bootstrap_many(metrics, {view.title: sample}, Resampling(0))[view.title]
        name = f"{view.title} ({view.way})"
        # Twenty bins of a few facts would be a fact each.
        bins = None if ace_bins == ACE_BINS else ace_bins
        yield calibration_line((title, title, name, ()), sample, values, bins, np.flatnonzero(kept))


def _quarters(pair: TwoByTwo) -> Quarters:
    both, ranked_only, answered_only, neither = (share.value for share in pair.shares)
    return Quarters(pair.title, pair.facts, PARTS, (both, ranked_only, answered_only, neither))


def _dumbbells(pair: TwoByTwo) -> Dumbbells:
    rows = tuple(
        DumbbellRow(gap.relation, gap.ranks, gap.answers, gap.facts, gap.p_holm < SIGNIFICANT) for gap in pair.relations
    )
    return Dumbbells(pair.title, "ranked right", "answered right", rows, pair.answering.chance)
