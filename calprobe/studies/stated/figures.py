"""What figures and pages of stated confidence show: an overview, correlations, reliability, confidence by condition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calprobe.cells.asked import AskedCell
from calprobe.curves.calibration_curve import METRICS, Calibration, calibration_line
from calprobe.curves.calibration_figure import draw_calibration
from calprobe.measures.options import ReportOptions
from calprobe.metrics import Estimate, Resampling, bootstrap_many, standard_metrics
from calprobe.show.kinds.grouped_dots import GroupedDots
from calprobe.show.kinds.matrix_figure import Correlations, Matrix
from calprobe.show.plots.paper import draw
from calprobe.studies.stated.consistency import ALL
from calprobe.studies.stated.fidelity import MEAN, ORIGINAL, SPLITS
from calprobe.studies.stated.matrices import stated_cell
from calprobe.studies.stated.results import StatedRun, StatedScope
from calprobe.studies.stated.stated_cells import AS_SAID, StatedCell, pooled

if TYPE_CHECKING:
    from calprobe.arrays import Floats
    from calprobe.show.plots.look import Draw

QUALITIES = ("consistency (MSD)", "fidelity (F)", "reliability (Brier)")
TENTHS = tuple(f"to {upper}" for upper in (".1", ".2", ".3", ".4", ".5", ".6", ".7", ".8", ".9", "1"))


@dataclass(frozen=True, slots=True)
class StatedPictures:
    """The figures of one run's part of the study, or of several runs side by side, as numbers."""

    panels: Calibration  # a line for each prompt, over all sets
    correlations: tuple[Correlations, ...]
    conditions: tuple[GroupedDots, ...]  # mean confidences by what stood in the answer's place
    distributions: tuple[Matrix, ...] = ()  # share of the confidences in each tenth of the scale, likewise
    overviews: tuple[GroupedDots, ...] = ()  # consistency, fidelity and reliability by group of prompts, and by run

    def drawn(self) -> Iterator[tuple[str, Draw]]:
        """The kinds of figures that there is something to draw of, each with the function that draws it."""
        if self.overviews:
            yield "overview", lambda look: draw(self.overviews, look)
        if self.panels.lines:
            yield "prompts", lambda look: draw_calibration(self.panels, look)
        if self.correlations:
            yield "correlation", lambda look: draw(self.correlations, look)
        if self.conditions:
            yield "conditions", lambda look: draw(self.conditions, look)
        if self.distributions:
            yield "distribution", lambda look: draw(self.distributions, look)


def stated_pictures(run: StatedRun, cells: Sequence[AskedCell], options: ReportOptions) -> StatedPictures:
    """The figures of one run, over all of its sets; a panel more for each further variant."""
    matrices = [matrix for opened in cells if (matrix := stated_cell(opened, run.prompts)) is not None]
    variants = list(dict.fromkeys(matrix.variant for matrix in matrices))
    with_variant = len(variants) > 1
    lines = [
        line
        for variant in variants
        for line in _lines(
            run, pooled([matrix for matrix in matrices if matrix.variant == variant]), options, with_variant
        )
    ]
    scopes = {variant: _main(run, variant) for variant in variants}
    titles = {variant: variant if with_variant else "" for variant in variants}
    return StatedPictures(
        Calibration(tuple(lines), "questions" if all(line.questions is None for line in lines) else "statements"),
        tuple(_correlations(scope, titles[variant]) for variant, scope in scopes.items() if scope.pairs),
        tuple(filter(_has_means, (_conditions(scope, titles[variant]) for variant, scope in scopes.items()))),
        tuple(
            _distribution(pooled([matrix for matrix in matrices if matrix.variant == variant]), titles[variant])
            for variant in variants
        ),
        tuple(_overview(scope, titles[variant]) for variant, scope in scopes.items() if scope.deviations),
    )


def side_by_side(named: Sequence[tuple[str, StatedPictures]]) -> StatedPictures | None:
    """The figures of several runs in one, each run by its name; None of fewer than two.

    Their overviews become two: all prompts by run, and each group of prompts as the mean over runs.
    """
    if len(named) < 2:
        return None
    return StatedPictures(
        Calibration(()),
        tuple(
            replace(panel, title=_title(name, panel.title))
            for name, pictures in named
            for panel in pictures.correlations
        ),
        tuple(
            replace(panel, title=_title(name, panel.title)) for name, pictures in named for panel in pictures.conditions
        ),
        tuple(
            replace(panel, title=_title(name, panel.title))
            for name, pictures in named
            for panel in pictures.distributions
        ),
        tuple(
            _overviews([(_title(name, panel.title), panel) for name, pictures in named for panel in pictures.overviews])
        ),
    )


def _title(name: str, more: str) -> str:
    return f"{name}, {more}" if more else name


def _main(run: StatedRun, variant: str) -> StatedScope:
    """All answers of a variant as they were said."""
    scopes = [scope for scope in run.of(AS_SAID) if scope.variant == variant]
    return next((scope for scope in scopes if scope.kind == "pooled"), scopes[0])


def _lines(run: StatedRun, cell: StatedCell, options: ReportOptions, with_variant: bool) -> Iterator[Any]:
    metrics = [metric for metric in standard_metrics(options.ace_bins) if metric.name in METRICS]
    name = f"{run.label}, {cell.variant}" if with_variant else run.label
    for prompt, values in zip(cell.names, cell.by(AS_SAID).confidence, strict=True):
        read = ~np.isnan(values)
        if read.any():
            sample = values[read], cell.correct[read]
            estimates = bootstrap_many(metrics, {prompt: sample}, Resampling(0))[prompt]
            questions = None if cell.clusters is None else cell.clusters[read]
            yield calibration_line((name, run.model, prompt, ()), sample, estimates, options.ace_bins, questions)


def _correlations(scope: StatedScope, title: str) -> Correlations:
    names = tuple(scope.values)
    return Correlations(title, names, tuple(tuple(scope.pearson(first, second) for second in names) for first in names))


def _conditions(scope: StatedScope, title: str) -> GroupedDots:
    rows = tuple(
        tuple(None if (mean := splits[split].get(MEAN)) is None else mean.value for split in SPLITS)
        for splits in scope.conditions.values()
    )
    names = tuple(scope.conditions)
    return GroupedDots(title, "mean confidence", "answer", names, SPLITS, rows, reach=0.45, of="answers")


def _overview(scope: StatedScope, title: str) -> GroupedDots:
    rows = tuple((deviation.msd, deviation.fidelity, deviation.brier) for deviation in scope.deviations.values())
    return GroupedDots(title, "MSD, F, Brier score", "prompts", tuple(scope.deviations), QUALITIES, rows, reach=0.45)


def _overviews(named: Sequence[tuple[str, GroupedDots]]) -> Iterator[GroupedDots]:
    """All prompts by run; and by group the mean over runs, of groups that all have, without intervals."""
    if len(named) < 2:
        return
    by_run = {name: dict(zip(panel.groups, panel.values, strict=True)) for name, panel in named}
    first, groups = (
        named[0][1],
        [name for name in named[0][1].groups if all(name in values for values in by_run.values())],
    )
    if ALL in groups:
        rows = tuple(values[ALL] for values in by_run.values())
        yield replace(first, title="all prompts", group="run", groups=tuple(by_run), values=rows)
    means = tuple(tuple(map(_mean, zip(*(values[name] for values in by_run.values()), strict=True))) for name in groups)
    yield replace(first, title="mean over runs", groups=tuple(groups), values=means)


def _mean(estimates: Sequence[Estimate | None]) -> Estimate | None:
    values = [estimate.value for estimate in estimates if estimate is not None]
    return Estimate(float(np.mean(values))) if len(values) == len(estimates) else None


def _has_means(panel: GroupedDots) -> bool:
    """Whether there is any dot: no answer may have a confidence under every prompt."""
    return any(estimate is not None for row in panel.values for estimate in row)


def _distribution(cell: StatedCell, title: str) -> Matrix:
    """Of all prompts together, the share of the confidences of each condition in each of ten bins (a, b]."""
    stated = cell.by(AS_SAID)
    matrices = {ORIGINAL: stated.own, **stated.replaced}
    rows = tuple(shares_of_tenths(matrix.confidence) for matrix in matrices.values())
    return Matrix("distribution", title, tuple(matrices), TENTHS, rows)


def shares_of_tenths(confidence: Floats) -> tuple[float, ...]:
    """The share of the confidences that were read in each tenth; NaN where none was."""
    read = confidence[~np.isnan(confidence)]
    if not len(read):
        return (float("nan"),) * len(TENTHS)
    # 0 belongs to the first bin, as in ECE.
    places = np.maximum(np.ceil(np.round(read * len(TENTHS), 9)), 1).astype(int) - 1
    return tuple((np.bincount(places, minlength=len(TENTHS)) / len(read)).tolist())
