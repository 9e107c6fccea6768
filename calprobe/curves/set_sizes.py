"""Set-size curves: how many candidates an answer set takes for a coverage, and how often sets hold the right one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from calprobe.arrays import Floats
from calprobe.cells.candidates import Candidates, GroupedCell
from calprobe.cells.opening import Runs
from calprobe.curves.curve import DEFAULT_CURVE_OPTIONS, LEAD, Columns, CurveOptions, Curves, Line, lines_of
from calprobe.curves.inputs import lead_of, read_runs
from calprobe.errors import UsageError
from calprobe.measures.halves import check_promised, cluster_names, half_of
from calprobe.metrics import SetRule, answer_sets, conformal_threshold, set_scores
from calprobe.show.plots import frame
from calprobe.show.plots.groups import Series, group_lines
from calprobe.show.plots.look import DEFAULT_LOOK, Look
from calprobe.show.plots.names import run_names
from calprobe.show.plots.style import FAINT

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure

PROMISED = (*(k / 20 for k in range(10, 20)), 0.98)
RULES: tuple[SetRule, ...] = ("lac", "aps", "naive")
MOST_LINES = 6  # in one panel
PANEL_INCHES, LEAST_INCHES = 2.6, 2.2  # height and least width of a panel


@dataclass(frozen=True, slots=True)
class SetSizeLine(Line):
    """The sets by one rule, fixed on one half of the units and checked on the other; arrays are [points]."""

    rule: SetRule
    promised: Floats  # ascending
    coverage: Floats
    low: Floats  # 95 % interval of the coverage
    high: Floats
    mean_size: Floats
    mean_options: float

    @property
    def named(self) -> SetSizeLine:
        """With the rule in the place of the estimator, as a figure of one estimator names its lines."""
        return replace(self, estimator=self.rule)


@dataclass(frozen=True, slots=True)
class SetSizes(Curves):
    """Set-size curves. Columns: rule, promised, coverage with its interval, mean_size, mean_options."""

    kind = "set-sizes"
    COLUMNS = (*LEAD, "rule", "promised", "coverage", "low", "high", "mean_size", "mean_options")

    lines: tuple[SetSizeLine, ...]

    def only(self, estimators: Sequence[str]) -> Self:
        """See `Curves.only`."""
        if len(estimators) == 1:
            return replace(self, lines=tuple(line for line in self.lines if line.estimator in estimators))
        return replace(self, lines=lines_of(self.lines, estimators))

    def _parts(self) -> Iterable[Columns]:
        for line in self.lines:
            names = ("rule", "promised", "coverage", "low", "high", "mean_size", "mean_options")
            yield {**line.lead, **{name: getattr(line, name) for name in names}}


def set_sizes(runs: Runs, options: CurveOptions = DEFAULT_CURVE_OPTIONS) -> SetSizes:
    """The mean size of answer sets, and their coverage, for promises of 50 to 98 %: `calprobe.metrics.answer_sets`.

    Args:
        runs: run folders, open or by path; one or several.
        options: reduction, compat, seed of the halves; one estimator that is a probability of candidates, by default
            base.
    Returns:
        A line for each run and rule.
    Raises:
        UsageError: no run, one named twice, several estimators, or one without probabilities of candidates.
            DataMissingError, CalprobeError: as `report`.
    """
    lines: list[SetSizeLine] = []
    for run in read_runs(runs, options.scores):
        name = one_estimator(options.estimators, "base")
        cell = GroupedCell(run.cell, "relation", run.cell.units.group, run)
        check_promised(run.cell, name)
        lines += set_size_lines(cell, lead_of(run, run.estimators[name]), options.scores.resampling.seed)
    return SetSizes(tuple(lines))


def one_estimator(named: Sequence[str] | None, usual: str) -> str:
    """The one that is named, or the usual one. Raises UsageError for several."""
    if named is not None and len(named) > 1:
        raise UsageError(f"--estimator: a curve of set sizes is of one, got {', '.join(named)}")
    return named[0] if named else usual


def set_size_lines(cell: GroupedCell, lead: tuple[str, str, str, tuple[int, ...]], seed: int) -> Iterator[SetSizeLine]:
    """The lines of one cell, by rule. Raises UsageError for an estimator without probabilities of candidates."""
    candidates = cell.candidates(lead[2])
    if candidates is None:
        raise UsageError(f"{cell.name}: {lead[2]} has no probabilities of candidates; name base, mixture or label")
    for rule in RULES:
        yield _line(cell, candidates, lead, rule, seed)


def _line(
    cell: GroupedCell,
    candidates: Candidates,
    lead: tuple[str, str, str, tuple[int, ...]],
    rule: SetRule,
    seed: int,
) -> SetSizeLine:
    units = cell.cell.units.at(candidates.places)
    clusters = cluster_names(units, np.ones(len(units), np.bool_))
    half = half_of(units, seed)
    scores = set_scores(candidates.probabilities, candidates.offsets, rule)
    right = scores[candidates.offsets[:-1] + candidates.answer_idx]
    of_half = None if clusters is None else clusters[half]
    points = []
    for promised in PROMISED:
        naive = math.nextafter(promised, 0)
        limit = naive if rule == "naive" else conformal_threshold(right[half], promised, of_half)
        sets = answer_sets(scores, candidates.offsets, candidates.answer_idx, limit, clusters).at(~half)
        points.append((sets.coverage.value, sets.coverage.low, sets.coverage.high, sets.mean_size, sets.mean_options))
    coverage, low, high, size, options = np.array(points).T
    return SetSizeLine(*lead, rule, np.array(PROMISED), coverage, low, high, size, float(options[0]))


def draw_set_sizes(result: SetSizes, look: Look = DEFAULT_LOOK) -> Figure:
    """Of one run the rules in one pair of panels, of several a pair for each rule: size, and coverage against it."""
    groups = group_lines([line.named for line in result.lines], look, MOST_LINES) if result.lines else []
    figure, panels, columns = frame.panel_figure(2 * max(1, len(groups)), look, (LEAST_INCHES, PANEL_INCHES))
    entries: dict[str, Artist] = {}
    several = len(groups) > 1
    for sizes, coverages, group in zip(panels[::2], panels[1::2], groups, strict=False):
        for series in group.series:
            line, style = series.line, series.style
            sizes.plot(line.promised, line.mean_size, **style.points())
            coverages.plot(line.promised, line.coverage, **style.points())
            coverages.fill_between(line.promised, line.low, line.high, color=style.color, alpha=0.13, linewidth=0)
            entries[series.name] = frame.sample(**style.points())
        coverages.plot([0.5, 1], [0.5, 1], color=FAINT, linewidth=0.8)
        frame.title_panel(sizes, f"Mean size, {group.title}" if several else "Mean size", _options(group.series))
        note = "bands: 95 % intervals; grey: as promised"
        frame.title_panel(coverages, f"Coverage, {group.title}" if several else "Coverage", note)
        sizes.set_ylim(bottom=0)
        coverages.set_ylim(min(0.4, *(float(np.nanmin(s.line.low)) for s in group.series)), 1)
    for axes in panels:
        axes.set_xlim(0.5, 1)
    frame.outer_labels(panels, columns, "Promised coverage", "")
    names = list(run_names(result.lines, look).values())
    frame.finish(figure, look, entries, names[0] if len(names) == 1 else "")
    return figure


def _options(series: Sequence[Series[SetSizeLine]]) -> str:
    """How many candidates there are, where that is the same of all lines."""
    numbers = {f"{one.line.mean_options:.1f}" for one in series}
    return f"of {numbers.pop()} candidates" if len(numbers) == 1 else "of different numbers of candidates"
