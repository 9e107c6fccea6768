"""Answer options: accuracy, mean confidence and ACE of a run against the number of candidates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from calprobe.analysis.curves.curve import DEFAULT_CURVE_OPTIONS, LEAD, Columns, CurveOptions, Curves, Line
from calprobe.analysis.curves.inputs import chosen_estimators, lead_of, read_runs
from calprobe.analysis.options import DEFAULT_OPTIONS, ReportOptions
from calprobe.analysis.plots import frame
from calprobe.analysis.plots.groups import Group, Series, group_lines
from calprobe.analysis.plots.style import PAGE_INCHES
from calprobe.analysis.scored_run import RunLike, Runs, ScoredRun, read_scores
from calprobe.arrays import Floats, Ints, check_count
from calprobe.confidence import Distributions, base_confidence, keep_options, margin_confidence, option_ranks
from calprobe.confidence.estimators import ENTRIES
from calprobe.confidence.types import default_row
from calprobe.errors import UsageError
from calprobe.metrics import accuracy, ace, mean_confidence
from calprobe.runs import ScoreTable

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class OptionNumbers:
    """Numbers for each count of answer options, means over seeds or one draw."""

    accuracy: Floats  # [counts]
    mean_confidence: Floats  # [counts]
    ace: Floats  # [counts]


@dataclass(frozen=True, slots=True)
class OptionsLine(Line):
    """How one estimator changes with the number of answer options: the right one and others drawn at random."""

    relations: tuple[str, ...]  # those with enough candidates for every count, sorted
    instances: int  # of them
    options: Ints  # [counts], ascending
    seeds: tuple[int, ...]
    means: OptionNumbers  # over the seeds
    draws: tuple[OptionNumbers, ...]  # one for each seed


@dataclass(frozen=True, slots=True)
class Options(Curves):
    """Answer-option curves. Columns: seed (NaN: the mean over the seeds), options, accuracy, mean_confidence, ace."""

    kind = "options"
    COLUMNS = (*LEAD, "seed", "options", "accuracy", "mean_confidence", "ace")

    lines: tuple[OptionsLine, ...]

    def _parts(self) -> Iterable[Columns]:
        for line in self.lines:
            numbers = zip((float("nan"), *map(float, line.seeds)), (line.means, *line.draws), strict=True)
            for seed, found in numbers:
                columns = {name: getattr(found, name) for name in ("accuracy", "mean_confidence", "ace")}
                yield {**line.lead, "seed": seed, "options": line.options, **columns}


MEASURED = tuple(entry.name for entry in ENTRIES if entry.group == "intrinsic")  # in each draw: base and margin
OPTION_COUNTS = tuple(range(5, 61, 5))
OPTION_SEEDS = (0, 1, 2)
FEW = 2 * OPTION_COUNTS[0]  # with fewer candidates, steps of five would make no curve: every number of them then


@dataclass(frozen=True, slots=True, eq=False)
class AnswerOptions:
    """The numbers of each draw of answer options.

    The tables have the columns options (int), seed (int; in `draws` only), accuracy, mean_base, mean_margin, ace_base
    and ace_margin (float64, [0, 1]), sorted by options, then seed.
    """

    relations: tuple[str, ...]  # those with enough candidates, sorted
    instances: int  # of them
    template: int  # number of the one that base and margin read
    options: Ints  # [counts], ascending
    seeds: tuple[int, ...]  # ascending
    numbers: Mapping[str, Floats]  # by column, [seeds, counts]

    @property
    def draws(self) -> pd.DataFrame:
        """A row a (number of options, seed)."""
        import pandas as pd

        places = {"options": np.repeat(self.options, len(self.seeds)), "seed": np.tile(self.seeds, len(self.options))}
        return pd.DataFrame(places | {name: found.T.ravel() for name, found in self.numbers.items()})

    @property
    def means(self) -> pd.DataFrame:
        """A row a number of options: means over the seeds."""
        means: pd.DataFrame = self.draws.drop(columns="seed").groupby("options", as_index=False).mean()
        return means

    def of(self, estimator: str, seed: int | None) -> OptionNumbers:
        """One estimator's numbers in one draw, or their means over the seeds."""
        rows = self.means if seed is None else self.draws[self.draws["seed"] == seed]
        columns = (rows[name].to_numpy(np.float64) for name in ("accuracy", f"mean_{estimator}", f"ace_{estimator}"))
        return OptionNumbers(*columns)


def answer_option_curve(
    source: RunLike | ScoreTable,
    counts: Sequence[int] = OPTION_COUNTS,
    seeds: Sequence[int] = OPTION_SEEDS,
    options: ReportOptions = DEFAULT_OPTIONS,
) -> AnswerOptions:
    """Accuracy, mean base, ACE of base and of margin among k options: the right answer and k - 1 others at random.

    Kissling et al. 2026, section 5.4, from stored scores. Every k takes the same instances: those of all relations that
    have at least as many candidates as the largest k. For k up to 60 on BEAR they are the paper's 14 1:1 relations.
    The draws of one seed are nested (`calprobe.confidence.option_ranks`).

    Args:
        source: a run, open or by path, or a table of its scores, which has its reduction already.
        counts: numbers of options k, two or more each.
        seeds: a draw for each, none negative.
        options: reduction, compat and number of ACE bins.
    Returns:
        The numbers of each draw, and their means over the seeds. Instances whose kept candidates have NaN scores are
        incorrect with confidence 0, as in `base_confidence`.
    Raises:
        UsageError: no relation has enough candidates, or the run has neither template 0 nor a paraphrase. ValueError:
            a count under two, a negative seed, or none of them. DataMissingError, CalprobeError: as `report`.

    >>> from calprobe.runs import TemplateRecord
    >>> scores, p30 = np.log([[0.5, 0.3, 0.2, 0.1, 0.6, 0.3]]), np.array(["P30", "P30"])
    >>> table = ScoreTable(scores, np.array([0, 3, 6]), np.array([0, 0]), p30, np.array([0, 1]),
    ...                    (TemplateRecord(0, "paraphrase"),))
    >>> found = answer_option_curve(table, counts=[2, 3], seeds=[0])
    >>> found.draws[["options", "seed", "accuracy", "mean_base"]].round(3).values.tolist()
    [[2.0, 0.0, 0.5, 0.786], [3.0, 0.0, 0.5, 0.55]]
    """
    for count in counts:
        check_count("counts", count, 2)
    for seed in seeds:
        check_count("seeds", seed, 0)
    if not len(counts) or not len(seeds):
        raise ValueError(f"counts and seeds must not be empty; got {counts!r} and {seeds!r}")
    table = _roomy(read_scores(source, options), max(counts))
    counts, seeds = sorted(set(counts)), sorted(set(seeds))
    distributions = Distributions.from_table(table, options.ties)
    ranks = {seed: option_ranks(distributions, seed) for seed in seeds}
    found = [
        [_measure(keep_options(distributions, ranks[seed] < count), options.ace_bins) for count in counts]
        for seed in seeds
    ]
    return AnswerOptions(
        relations=tuple(np.unique(table.relation).tolist()),
        instances=table.n_instances,
        template=table.templates[0].number,
        options=np.array(counts, dtype=np.int64),
        seeds=tuple(seeds),
        numbers={name: np.array([[own[name] for own in draw] for draw in found]) for name in found[0][0]},
    )


def _roomy(table: ScoreTable, least: int) -> ScoreTable:
    """The instances with at least that many candidates, under the one template that base reads."""
    row = default_row(table.templates)
    if row is None:
        raise UsageError("answer options: the run has neither template 0 nor a paraphrase; score it with one")
    widths = np.diff(table.offsets)
    chosen = widths >= least
    if not chosen.any():
        largest = f"the largest answer space has {widths.max()}" if len(widths) else "it has no complete relation"
        raise UsageError(f"answer options: no relation of the run has {least} candidates, {largest}; ask for fewer")
    return replace(
        table,
        scores=table.scores[row : row + 1, np.repeat(chosen, widths)],
        offsets=np.concatenate([[0], np.cumsum(widths[chosen])]),
        answer_idx=table.answer_idx[chosen],
        relation=table.relation[chosen],
        instance=table.instance[chosen],
        templates=(table.templates[row],),
    )


def _measure(distributions: Distributions, ace_bins: int) -> dict[str, float]:
    base, margin = base_confidence(distributions), margin_confidence(distributions)
    return {
        "accuracy": accuracy(base.confidence, base.correct).value,
        "mean_base": mean_confidence(base.confidence, base.correct).value,
        "mean_margin": mean_confidence(margin.confidence, margin.correct).value,
        "ace_base": ace(base.confidence, base.correct, ace_bins).value,
        "ace_margin": ace(margin.confidence, margin.correct, ace_bins).value,
    }


def options_curve(runs: Runs, options: CurveOptions = DEFAULT_CURVE_OPTIONS) -> Options:
    """Accuracy, mean confidence and ACE among k options: the right answer and k - 1 others at random, three times.

    Kissling et al. 2026, section 5.4 (`answer_option_curve`). k = 5, 10, .. up to 60 or the run's largest answer space;
    every k takes the same instances, those of all relations with enough candidates for the largest k. On BEAR they are
    the paper's 14 relations of 60 candidates, on `mini` two of 40 and more.

    Args:
        runs: run folders, open or by path; one or several.
        options: reduction, compat, number of ACE's bins; estimators, base and margin or one of them.
    Returns:
        A line for each run and estimator.
    Raises:
        UsageError: a run whose largest answer space has fewer than two candidates, or which lacks template 0 and
            paraphrases; another estimator; no run, or one named twice. DataMissingError, CalprobeError: as `report`.
    """
    lines: list[OptionsLine] = []
    for run in read_runs(runs, options.scores):
        chosen = chosen_estimators(run, options, MEASURED, among=MEASURED)
        found = answer_option_curve(run.table, option_counts(run), OPTION_SEEDS, options.scores)
        lines += [
            OptionsLine(
                *lead_of(run, estimator),
                relations=found.relations,
                instances=found.instances,
                options=found.options,
                seeds=OPTION_SEEDS,
                means=found.of(estimator.name, None),
                draws=tuple(found.of(estimator.name, seed) for seed in OPTION_SEEDS),
            )
            for estimator in chosen
        ]
    return Options(tuple(lines))


def option_counts(run: ScoredRun) -> tuple[int, ...]:
    """The numbers of options that the run's largest answer spaces have room for, ascending.

    Raises UsageError where none has two candidates.
    """
    largest = int(run.widths.max(initial=0))
    if largest < 2:
        found = f"the largest answer space has {largest}" if largest else "it has no complete relation"
        raise UsageError(f"{run.label}: a curve of answer options needs two candidates; {found}")
    return tuple(range(2, largest + 1)) if largest < FEW else tuple(k for k in OPTION_COUNTS if k <= largest)


PANEL_INCHES = 2.2
NUMBERS = {  # by the name in the result: what it is, and which way is better
    "accuracy": "Accuracy (share correct)",
    "mean_confidence": "Mean confidence",
    "ace": "ACE (lower is better)",
}


def draw_options(result: Options, width: float = PAGE_INCHES) -> Figure:
    """A panel for each number; a row of them for each run or estimator. Thin lines: single draws of the options."""
    groups = group_lines(result.lines)
    rows = max(1, len(groups))
    columns = frame.columns_for(len(NUMBERS), width)
    n_panels = rows * len(NUMBERS)
    figure = frame.blank_figure(width, PANEL_INCHES * n_panels / columns + 0.6)
    panels = frame.panel_grid(figure, n_panels, columns)
    entries: dict[str, Artist] = {}
    for at, group in enumerate(groups):
        for axes, name in zip(panels[len(NUMBERS) * at :], NUMBERS, strict=False):
            _draw_number(axes, group, name)
            axes.set_title(group.title if len(groups) > 1 else "", loc="left")
        entries |= {series.name: frame.sample(**series.style.points()) for series in group.series}
    for axes in panels[-columns:]:
        axes.set_xlabel("Answer options")
    if len(groups) == 1:
        figure.suptitle(groups[0].title)
    frame.legend_below(figure, entries)
    frame.fix_layout(figure)
    return figure


def _draw_number(axes: Axes, group: Group[OptionsLine], name: str) -> None:
    for series in group.series:
        _draw_line(axes, series, name)
    if name == "ace":
        axes.set_ylim(bottom=0)
    else:
        frame.share_axis(axes, "y")
    axes.set_ylabel(NUMBERS[name])


def _draw_line(axes: Axes, series: Series[OptionsLine], name: str) -> None:
    line, style = series.line, series.style
    axes.plot(line.options, getattr(line.means, name), **style.points())
    for draw in line.draws:
        axes.plot(line.options, getattr(draw, name), color=style.color, linewidth=0.5, alpha=0.45)
