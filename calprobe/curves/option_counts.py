"""Answer options: accuracy, mean confidence and ACE of a run against the number of candidates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from calprobe.arrays import Ints
from calprobe.cells.opening import Runs
from calprobe.cells.scored import ScoredRun
from calprobe.curves.answer_option_curve import (
    FEW,
    MEASURED,
    OPTION_COUNTS,
    OPTION_SEEDS,
    OptionNumbers,
    answer_option_curve,
)
from calprobe.curves.curve import DEFAULT_CURVE_OPTIONS, LEAD, Columns, CurveOptions, Curves, Line
from calprobe.curves.inputs import chosen_estimators, lead_of, read_runs
from calprobe.errors import UsageError
from calprobe.messages import counted
from calprobe.show.palette import MAX_SERIES
from calprobe.show.plots import frame
from calprobe.show.plots.groups import distinct, run_styles
from calprobe.show.plots.look import DEFAULT_LOOK, Look
from calprobe.show.plots.names import run_names
from calprobe.show.plots.style import INK, SeriesStyle, series_styles

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class OptionsLine(Line):
    """How one estimator changes with the number of answer options: the right one and others drawn at random.

    Of the accuracy, `means` has the exact value over all draws.
    """

    relations: tuple[str, ...]  # those with enough candidates for every count, sorted
    instances: int  # of them
    options: Ints  # [counts], ascending
    seeds: tuple[int, ...]
    means: OptionNumbers  # over the seeds
    draws: tuple[OptionNumbers, ...]  # one for each seed
    low: OptionNumbers  # lower ends of the 95 % intervals of `means`
    high: OptionNumbers


@dataclass(frozen=True, slots=True)
class Options(Curves):
    """Answer-option curves. Columns: seed (NaN: over all draws, with intervals), options, then the numbers."""

    kind = "options"
    COLUMNS = (
        *(*LEAD, "seed", "options", "accuracy", "mean_confidence", "ace", "accuracy_low", "accuracy_high"),
        *("mean_confidence_low", "mean_confidence_high", "ace_low", "ace_high"),
    )

    lines: tuple[OptionsLine, ...]

    def _parts(self) -> Iterable[Columns]:
        for line in self.lines:
            ends = {"low": line.low, "high": line.high}
            intervals = {f"{name}_{end}": getattr(numbers, name) for end, numbers in ends.items() for name in NUMBERS}
            yield {**line.lead, "seed": float("nan"), **_columns(line, line.means), **intervals}
            for seed, draw in zip(line.seeds, line.draws, strict=True):
                yield {**line.lead, "seed": float(seed), **_columns(line, draw)}


def _columns(line: OptionsLine, numbers: OptionNumbers) -> Columns:
    return {"options": line.options, **{name: getattr(numbers, name) for name in NUMBERS}}


def options_curve(runs: Runs, options: CurveOptions = DEFAULT_CURVE_OPTIONS) -> Options:
    """Accuracy, mean confidence and ACE among k options: the right answer and k - 1 others at random, thirty times.

    Kissling et al. 2026, section 5.4 (`answer_option_curve`). k = 5, 10, .. up to 60 or the run's largest answer space;
    every k takes the same instances, those of all relations with enough candidates for the largest k. On BEAR they are
    the paper's 14 relations of 60 candidates, on `mini` two of 40 and more.

    Args:
        runs: run folders, open or by path; one or several.
        options: reduction, compat, number of ACE's bins, bootstrap; estimators, base and margin or one of them.
    Returns:
        A line for each run and estimator.
    Raises:
        UsageError: a run without an answer space of two candidates or more, or which lacks template 0 and
            paraphrases; another estimator; no run, or one named twice. DataMissingError, CalprobeError: as `report`.
    """
    lines: list[OptionsLine] = []
    for run in read_runs(runs, options.scores):
        chosen = chosen_estimators(run, options, MEASURED, among=MEASURED)
        curve = answer_option_curve(run.table, option_counts(run), OPTION_SEEDS, options.scores)
        for estimator in chosen:
            means, low, high = curve.expected(estimator.name)
            lines.append(
                OptionsLine(
                    *lead_of(run, estimator),
                    relations=curve.relations,
                    instances=curve.instances,
                    options=curve.options,
                    seeds=OPTION_SEEDS,
                    means=means,
                    draws=tuple(curve.of_draw(estimator.name, place) for place in range(len(OPTION_SEEDS))),
                    low=low,
                    high=high,
                )
            )
    return Options(tuple(lines))


def option_counts(run: ScoredRun) -> tuple[int, ...]:
    """The numbers of options that the run's largest answer spaces have room for, ascending.

    Raises UsageError where none has two candidates.
    """
    largest = int(run.widths.max(initial=0))
    if largest < 2:
        reason = f"the largest answer space has {largest}" if largest else "it has no complete relation"
        raise UsageError(f"{run.label}: a curve of answer options needs two candidates; {reason}")
    return tuple(range(2, largest + 1)) if largest < FEW else tuple(k for k in OPTION_COUNTS if k <= largest)


PANEL_INCHES = 2.3  # high
LEAST_INCHES = 1.9  # wide
NUMBERS = {"accuracy": "Accuracy", "mean_confidence": "Mean confidence", "ace": "ACE (lower is better)"}
MOST_BANDS = 4  # bands of more are fainter
_BOTH = SeriesStyle(INK, "o", (0, ()))


class _Panel(NamedTuple):
    """A number against the options."""

    number: str
    note: str
    lines: tuple[tuple[SeriesStyle, OptionsLine], ...]


def draw_options(result: Options, look: Look = DEFAULT_LOOK) -> Figure:
    """A panel for each number, with 95 % bands. Of several runs, confidence and ACE have a panel for each estimator.

    The answers of base and margin are the same, and so are their accuracies, which are drawn once.
    """
    runs, names = distinct([line.run for line in result.lines]), run_names(result.lines, look)
    groups = [runs[at : at + MAX_SERIES] for at in range(0, len(runs), MAX_SERIES)] or [[]]
    blocks = [_panels([line for line in result.lines if line.run in group], runs) for group in groups]
    figure, grids, columns = frame.block_figure([len(block) for block in blocks], look, (LEAST_INCHES, PANEL_INCHES))
    for grid, block in zip(grids, blocks, strict=True):
        for at, (axes, panel) in enumerate(zip(grid, block, strict=True)):
            _draw_number(axes, panel)
            if at + columns >= len(block):
                axes.set_xlabel("Answer options")
    _same_axes([axes for grid in grids for axes in grid], [panel for block in blocks for panel in block])
    frame.title_figure(figure, look, _subject(result.lines, names))
    frame.legends_in_gaps(figure, grids, columns, [_entries(result.lines, group, names) for group in groups])
    return figure


def _panels(lines: Sequence[OptionsLine], runs: Sequence[str]) -> list[_Panel]:
    estimators = distinct([line.estimator for line in lines])
    first = tuple(line for line in lines if line.estimator == estimators[0])
    if len(runs) <= 1:
        styles = series_styles(estimators)
        pairs = tuple((styles[line.estimator], line) for line in lines)
        shared = "the same for base and margin" if len(estimators) > 1 else ""
        alone = tuple((_BOTH if shared else style, line) for style, line in pairs[:1])
        return [_Panel("accuracy", shared, alone), _Panel("mean_confidence", "", pairs), _Panel("ace", "", pairs)]
    of_runs = run_styles(runs)
    panels = [_Panel("accuracy", "of base and margin", tuple((of_runs[line.run], line) for line in first))]
    for number in ("mean_confidence", "ace"):
        for name in estimators:
            entries = tuple((of_runs[line.run], line) for line in lines if line.estimator == name)
            panels.append(_Panel(number, f"of {name}", entries))
    return panels


def _draw_number(axes: Axes, panel: _Panel) -> None:
    for style, line in panel.lines:
        low, high = (getattr(end, panel.number) for end in (line.low, line.high))
        if np.isfinite(low).any():
            alpha = 0.13 if len(panel.lines) <= MOST_BANDS else 0.06
            axes.fill_between(line.options, low, high, color=style.color, alpha=alpha, linewidth=0)
        axes.plot(line.options, getattr(line.means, panel.number), **style.points())
    frame.title_panel(axes, NUMBERS[panel.number], panel.note)


def _same_axes(panels: Sequence[Axes], contents: Sequence[_Panel]) -> None:
    """Accuracy and confidence from 0 to 1, ACE from 0 to one upper end for all."""
    errors = [axes for axes, panel in zip(panels, contents, strict=True) if panel.number == "ace"]
    for axes, panel in zip(panels, contents, strict=True):
        if panel.number == "ace":
            axes.set_ylim(0, max(axes.get_ylim()[1] for axes in errors))
        else:
            frame.share_axis(axes, "y")


def _subject(lines: Sequence[OptionsLine], names: Mapping[str, str]) -> str:
    """Of what the figure is: the run, where it is one, and the facts of relations with so many candidates."""
    facts = distinct([_facts(line) for line in lines])
    run = f"{names[lines[0].run]}: " if len(names) == 1 else ""
    return f"{run}{facts[0]}" if len(facts) == 1 else ""


def _facts(line: OptionsLine) -> str:
    return f"{counted(line.instances, 'fact')} in {counted(len(line.relations), 'relation')}"


def _entries(lines: Sequence[OptionsLine], runs: Sequence[str], names: Mapping[str, str]) -> dict[str, Artist]:
    """The estimators of one run, or the runs; with their facts where these differ."""
    if len(names) <= 1:
        styles = series_styles(distinct([line.estimator for line in lines]))
        return {name: frame.sample(**style.points()) for name, style in styles.items()}
    of_runs, differ = run_styles(list(names)), len(distinct([_facts(line) for line in lines])) > 1
    facts = {line.run: f" ({_facts(line)})" if differ else "" for line in lines}
    return {names[run] + facts[run]: frame.sample(**of_runs[run].points()) for run in runs}
