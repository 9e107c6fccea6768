"""A forest plot of a comparison: each difference with its interval, a row a pair, a panel a metric."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from calprobe.cells.run_facts import RunFacts
from calprobe.measures.compare_results import Comparison, Contrast
from calprobe.measures.run_names import last_names, state
from calprobe.show.plots import frame
from calprobe.show.plots.look import DEFAULT_LOOK, Look
from calprobe.show.plots.names import fitted_names, shortened
from calprobe.show.plots.style import FAINT, INK, SeriesStyle, series_styles, style_at

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LINE_INCHES, POINT_INCHES = 0.14, 0.13  # height of a line of a label, and of a point in a row
LINE = 26  # characters of a label in one line
LABEL_INCHES, PANEL_INCHES = 1.6, 1.3  # widths: of the rows' labels, at least, and of a panel
ACCURACY = "accuracy"  # the metric of what pairs are matched by


@dataclass(frozen=True, slots=True)
class ForestRow:
    """A pair, over all relations or a domain, and its differences."""

    label: str  # one or two lines
    contrasts: tuple[Contrast, ...]


@dataclass(frozen=True, slots=True)
class Forest:
    """What a forest plot shows."""

    rows: tuple[ForestRow, ...]
    panels: Mapping[str, str]  # the metrics' titles, by name, in the order of panels
    better: Mapping[str, str]  # smaller or larger, by metric
    estimators: tuple[str, ...]  # series, where a row has several; none where there is one point a panel
    margin: float | None  # of equivalence
    title: str = ""  # the run's name, where the rows do not say it


def forest(comparison: Comparison) -> Forest:
    """The rows and panels of a comparison; the slope of markers, which is on another scale, is not among them."""
    rows = tuple(_rows_within(comparison) if comparison.within is not None else _rows_of_pairs(comparison))
    present = {
        contrast.metric for row in rows for contrast in row.contrasts if not math.isnan(contrast.difference.value)
    }
    titles = {metric.name: metric.title for metric in comparison.metrics}
    better: dict[str, str] = {metric.name: metric.better or "" for metric in comparison.metrics}
    if comparison.within is None:
        of_all = {pair.accuracy_of for pair in comparison.pairs}
        mean = "BEAR score" if all(run.has_bear_score for run in comparison.runs) else "mean accuracy"
        title = mean if of_all == {"bear_score"} and ACCURACY not in titles else "accuracy"
        titles, better = {ACCURACY: title} | titles, {ACCURACY: "larger"} | better
    estimators = dict.fromkeys(
        contrast.estimator for row in rows for contrast in row.contrasts if contrast.estimator is not None
    )
    return Forest(
        rows,
        {name: title for name, title in titles.items() if name in present},
        better,
        tuple(estimators),
        comparison.options.margin,
        title="" if comparison.within is None else _titled(comparison.within.run),
    )


def _titled(run: RunFacts) -> str:
    """The last name of a run, with how much of it there is."""
    return last_names([run.label])[run.label] + state(limited=run.limited, partial=run.partial)


def _rows_of_pairs(comparison: Comparison) -> Iterator[ForestRow]:
    names = last_names([run.label for run in comparison.runs])
    fitted = fitted_names(list(names.values()))
    states = {run.label: state(limited=run.limited, partial=run.partial) for run in comparison.runs}
    names = {label: fitted[name] + states[label] for label, name in names.items()}
    for pair in comparison.pairs:
        for scope in pair.scopes:
            of = "" if scope.domain is None else f" ({scope.domain})"
            yield ForestRow(_label(names[pair.first], f"{names[pair.second]}{of}"), scope.contrasts)


def _rows_within(comparison: Comparison) -> Iterator[ForestRow]:
    assert comparison.within is not None
    for pairs in comparison.within.kinds.values():
        for pair in pairs:
            yield ForestRow(_label(pair.first, pair.second), pair.contrasts)


def _label(first: str, second: str) -> str:
    """The difference in words, in one line or two."""
    return f"{first}{' ' if len(first) + len(second) < LINE else chr(10)}− {second}"


def draw_differences(found: Forest, look: Look = DEFAULT_LOOK) -> Figure:
    """A panel for each metric, in rows where the width has no room for all; a mark is filled where p is below 0.05."""
    styles = _styles(found)
    columns = max(1, min(len(found.panels), int((look.width - LABEL_INCHES) // PANEL_INCHES)))
    blocks = max(1, -(-len(found.panels) // columns))
    lines = max((row.label.count("\n") + 1 for row in found.rows), default=1)
    row = max(LINE_INCHES * lines + 0.08, POINT_INCHES * (1 + len(found.estimators)))
    figure = frame.blank_figure(look.width, blocks * (row * max(1, len(found.rows)) + 0.75) + 0.5)
    grid = figure.subplots(blocks, columns, squeeze=False, sharey=True)
    panels: list[Axes] = list(grid.ravel())
    for unused in panels[max(1, len(found.panels)) :]:
        unused.remove()
    for axes, metric in zip(panels, found.panels, strict=False):
        _draw_panel(axes, found, metric, styles)
    panels[0].set_ylim(len(found.rows) - 0.4, -0.6)
    panels[0].set_yticks(range(len(found.rows)), [_fitting(row.label, look.width) for row in found.rows])
    legend: dict[str, Artist] = {}
    if len(styles) > 1:
        legend = {name: frame.sample(**style.dots()) for name, style in styles.items() if name is not None}
    dots = {"color": INK, "marker": "o", "linestyle": "none"}
    legend["corrected p < 0.05"] = frame.sample(**dots)
    legend["corrected p ≥ 0.05"] = frame.sample(**dots, **_HOLLOW)
    frame.finish(figure, look, legend, found.title)
    return figure


_HOLLOW: Mapping[str, Any] = {"markerfacecolor": "white", "markeredgewidth": 0.9}


def _fitting(label: str, width: float) -> str:
    """The label with lines that leave room for a panel."""
    letters = int((width - PANEL_INCHES - 0.2) * frame.POINTS_PER_INCH / frame.LETTER)
    return "\n".join(shortened(line, letters) for line in label.split("\n"))


def _styles(forest: Forest) -> dict[str | None, SeriesStyle]:
    """A style for each estimator, and one for what is of none."""
    styles: dict[str | None, SeriesStyle] = {None: style_at(0)}
    styles.update(series_styles(forest.estimators))
    return styles


def _draw_panel(axes: Axes, forest: Forest, metric: str, styles: Mapping[str | None, SeriesStyle]) -> None:
    """The differences of a metric, each estimator's a little below the one before."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    if forest.margin is not None:
        axes.axvspan(-forest.margin, forest.margin, color="#eeeeee", linewidth=0, zorder=0)
    axes.axvline(0, color=FAINT, linewidth=0.8)
    for place, row in enumerate(forest.rows):
        contrasts = [contrast for contrast in row.contrasts if contrast.metric == metric]
        for at, contrast in enumerate(contrasts):
            _draw_point(axes, contrast, place + _aside(at, len(contrasts)), styles[contrast.estimator])
    better = forest.better[metric]
    title = forest.panels[metric]
    frame.title_panel(axes, title[:1].upper() + title[1:], f"{better} is better" if better else "")
    axes.set_xlabel("difference")
    axes.xaxis.set_major_locator(MaxNLocator(3, min_n_ticks=2))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:+.3g}" if abs(x) > 1e-9 else "0"))
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.margins(x=0.08)


def _aside(at: int, number: int) -> float:
    return (at - (number - 1) / 2) * min(0.26, 0.7 / max(1, number))


def _draw_point(axes: Axes, contrast: Contrast, place: float, style: SeriesStyle) -> None:
    difference = contrast.difference
    if math.isnan(difference.value):
        return
    if not math.isnan(difference.low):
        axes.hlines(place, difference.low, difference.high, color=style.color, linewidth=0.9)
    hollow = {} if contrast.significant else _HOLLOW
    axes.plot(difference.value, place, **style.dots(), **hollow)
