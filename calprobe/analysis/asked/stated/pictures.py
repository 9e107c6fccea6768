"""What figures and pages of stated confidence show: an overview, correlations, reliability, confidence by condition."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calprobe.analysis.asked.options import AskedOptions
from calprobe.analysis.asked.stated.cells import AS_SAID, StatedCell, pooled
from calprobe.analysis.asked.stated.consistency import ALL
from calprobe.analysis.asked.stated.fidelity import MEAN, ORIGINAL, SPLITS
from calprobe.analysis.asked.stated.matrices import stated_cell
from calprobe.analysis.asked.stated.results import StatedRun, StatedScope
from calprobe.analysis.curves.calibration import METRICS, Calibration, calibration_line
from calprobe.analysis.curves.calibration_figure import draw_calibration
from calprobe.analysis.curves.grouped_dots import GroupedDots
from calprobe.analysis.curves.matrix_figure import Correlations, Matrix
from calprobe.analysis.plots.paper import draw
from calprobe.cells.asked import AskedCell
from calprobe.metrics import Estimate, Resampling, bootstrap_many, standard_metrics

if TYPE_CHECKING:
    from calprobe.analysis.plots import Look
    from calprobe.arrays import Floats

Drawn = Callable[["Look"], Any]  # -> a figure of matplotlib
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

    def drawn(self) -> Iterator[tuple[str, Drawn]]:
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


def stated_pictures(run: StatedRun, cells: Sequence[AskedCell], options: AskedOptions) -> StatedPictures:
    """The figures of one run, over all of its sets; a panel more for each further variant."""
    found = [own for opened in cells if (own := stated_cell(opened, run.prompts)) is not None]
    variants = list(dict.fromkeys(own.variant for own in found))
    several = len(variants) > 1
    lines = [
        line
        for variant in variants
        for line in _lines(run, pooled([own for own in found if own.variant == variant]), options, several)
    ]
    scopes = {variant: _main(run, variant) for variant in variants}
    titles = {variant: variant if several else "" for variant in variants}
    return StatedPictures(
        Calibration(tuple(lines), "questions" if all(line.questions is None for line in lines) else "statements"),
        tuple(_correlations(own, titles[variant]) for variant, own in scopes.items() if own.pairs),
        tuple(filter(_has_means, (_conditions(own, titles[variant]) for variant, own in scopes.items()))),
        tuple(
            _distribution(pooled([own for own in found if own.variant == variant]), titles[variant])
            for variant in variants
        ),
        tuple(_overview(own, titles[variant]) for variant, own in scopes.items() if own.deviations),
    )


def side_by_side(named: Sequence[tuple[str, StatedPictures]]) -> StatedPictures | None:
    """The figures of several runs in one, each run by its name; None of fewer than two.

    Their overviews become two: all prompts by run, and each group of prompts as the mean over runs.
    """
    if len(named) < 2:
        return None
    return StatedPictures(
        Calibration(()),
        tuple(replace(found, title=_title(name, found.title)) for name, own in named for found in own.correlations),
        tuple(replace(found, title=_title(name, found.title)) for name, own in named for found in own.conditions),
        tuple(replace(found, title=_title(name, found.title)) for name, own in named for found in own.distributions),
        tuple(_overviews([(_title(name, found.title), found) for name, own in named for found in own.overviews])),
    )


def _title(name: str, more: str) -> str:
    return f"{name}, {more}" if more else name


def _main(run: StatedRun, variant: str) -> StatedScope:
    """All answers of a variant as they were said."""
    found = [own for own in run.of(AS_SAID) if own.variant == variant]
    return next((own for own in found if own.kind == "pooled"), found[0])


def _lines(run: StatedRun, cell: StatedCell, options: AskedOptions, several: bool) -> Iterator[Any]:
    metrics = [metric for metric in standard_metrics(options.ace_bins) if metric.name in METRICS]
    name = f"{run.label}, {cell.variant}" if several else run.label
    for prompt, values in zip(cell.names, cell.by(AS_SAID).confidence, strict=True):
        read = ~np.isnan(values)
        if read.any():
            sample = values[read], cell.correct[read]
            found = bootstrap_many(metrics, {prompt: sample}, Resampling(0))[prompt]
            questions = None if cell.clusters is None else cell.clusters[read]
            yield calibration_line((name, run.model, prompt, ()), sample, found, options.ace_bins, questions)


def _correlations(own: StatedScope, title: str) -> Correlations:
    names = tuple(own.values)
    return Correlations(title, names, tuple(tuple(own.pearson(one, other) for other in names) for one in names))


def _conditions(own: StatedScope, title: str) -> GroupedDots:
    rows = tuple(
        tuple(None if (found := splits[split].get(MEAN)) is None else found.value for split in SPLITS)
        for splits in own.conditions.values()
    )
    names = tuple(own.conditions)
    return GroupedDots(title, "mean confidence", "answer", names, SPLITS, rows, reach=0.45, of="answers")


def _overview(own: StatedScope, title: str) -> GroupedDots:
    rows = tuple((found.msd, found.fidelity, found.brier) for found in own.deviations.values())
    return GroupedDots(title, "MSD, F, Brier score", "prompts", tuple(own.deviations), QUALITIES, rows, reach=0.45)


def _overviews(named: Sequence[tuple[str, GroupedDots]]) -> Iterator[GroupedDots]:
    """All prompts by run; and by group the mean over runs, of groups that all have, without intervals."""
    if len(named) < 2:
        return
    known = {name: dict(zip(own.groups, own.values, strict=True)) for name, own in named}
    first, groups = named[0][1], [name for name in named[0][1].groups if all(name in own for own in known.values())]
    if ALL in groups:
        rows = tuple(own[ALL] for own in known.values())
        yield replace(first, title="all prompts", group="run", groups=tuple(known), values=rows)
    means = tuple(tuple(map(_mean, zip(*(own[name] for own in known.values()), strict=True))) for name in groups)
    yield replace(first, title="mean over runs", groups=tuple(groups), values=means)


def _mean(several: Sequence[Estimate | None]) -> Estimate | None:
    values = [found.value for found in several if found is not None]
    return Estimate(float(np.mean(values))) if len(values) == len(several) else None


def _has_means(own: GroupedDots) -> bool:
    """Whether there is any dot: no answer may have a confidence under every prompt."""
    return any(found is not None for row in own.values for found in row)


def _distribution(cell: StatedCell, title: str) -> Matrix:
    """Of all prompts together, the share of the confidences of each condition in each of ten bins (a, b]."""
    said = cell.by(AS_SAID)
    matrices = {ORIGINAL: said.own, **said.replaced}
    rows = tuple(shares_of_tenths(own.confidence) for own in matrices.values())
    return Matrix("distribution", title, tuple(matrices), TENTHS, rows)


def shares_of_tenths(confidence: Floats) -> tuple[float, ...]:
    """The share of the confidences that were read in each tenth; NaN where none was."""
    read = confidence[~np.isnan(confidence)]
    if not len(read):
        return (float("nan"),) * len(TENTHS)
    # 0 belongs to the first bin, as in ECE.
    places = np.maximum(np.ceil(np.round(read * len(TENTHS), 9)), 1).astype(int) - 1
    return tuple((np.bincount(places, minlength=len(TENTHS)) / len(read)).tolist())
