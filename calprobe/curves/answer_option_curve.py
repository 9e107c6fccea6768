"""The experiment on the number of answer options: a run's numbers among fewer candidates than it has."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from calprobe.arrays import Floats, Ints, check_count
from calprobe.cells.cell import Labels
from calprobe.cells.opening import RunLike
from calprobe.cells.scored import cluster_labels, read_scores
from calprobe.confidence import (
    Distributions,
    base_confidence,
    expected_correct,
    keep_options,
    margin_confidence,
    option_ranks,
)
from calprobe.confidence.estimators import ENTRIES
from calprobe.confidence.types import default_row
from calprobe.errors import UsageError
from calprobe.measures.options import DEFAULT_OPTIONS, ReportOptions
from calprobe.metrics import Estimate, Resampling, bootstrap_mean, standard_metrics
from calprobe.metrics.bootstrap import draw_samples
from calprobe.metrics.intervals import Draws, interval, least_beyond
from calprobe.runs import ScoreTable

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class OptionNumbers:
    """Numbers for each count of answer options: of one draw, expected values, or ends of intervals."""

    accuracy: Floats  # [counts]
    mean_confidence: Floats  # [counts]
    ace: Floats  # [counts]


MEASURED = tuple(
    entry.estimator.name for entry in ENTRIES if entry.estimator.group == "intrinsic"
)  # in each draw: base and margin
OPTION_COUNTS = tuple(range(5, 61, 5))
OPTION_SEEDS = tuple(range(30))
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
    estimates: Mapping[str, tuple[Estimate, ...]]  # by column, [counts]: exact accuracy, means over the seeds

    @property
    def draws(self) -> pd.DataFrame:
        """A row a (number of options, seed)."""
        import pandas as pd

        places = {"options": np.repeat(self.options, len(self.seeds)), "seed": np.tile(self.seeds, len(self.options))}
        return pd.DataFrame(places | {name: numbers.T.ravel() for name, numbers in self.numbers.items()})

    @property
    def means(self) -> pd.DataFrame:
        """A row a number of options: the exact accuracy, of the other numbers the means over the seeds."""
        import pandas as pd

        values = {name: [estimate.value for estimate in column] for name, column in self.estimates.items()}
        return pd.DataFrame({"options": self.options} | values)

    def of_draw(self, estimator: str, place: int) -> OptionNumbers:
        """One estimator's numbers in the draw of a seed, by the seed's place."""
        return OptionNumbers(*(self.numbers[name][place] for name in columns_of(estimator)))

    def expected(self, estimator: str) -> tuple[OptionNumbers, OptionNumbers, OptionNumbers]:
        """One estimator's exact accuracy and means over the seeds; the lower and the upper ends of their intervals."""
        columns = [self.estimates[name] for name in columns_of(estimator)]
        value, low, high = (
            OptionNumbers(*(np.array([getattr(estimate, end) for estimate in column]) for column in columns))
            for end in ("value", "low", "high")
        )
        return value, low, high


def columns_of(estimator: str) -> tuple[str, str, str]:
    """The columns of an estimator's numbers, in the order of `OptionNumbers`."""
    return "accuracy", f"mean_{estimator}", f"ace_{estimator}"


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

    The accuracy needs no draws: it is the mean over the instances of `calprobe.confidence.expected_correct`. The other
    numbers are means over the draws. The interval of the accuracy is over the instances (`bootstrap_mean`); those of
    the others are of one draw, over instances and draws together: each seed has an equal share of the resamples.

    Args:
        source: a run, open or by path, or a table of its scores, which has its reduction already.
        counts: numbers of options k, two or more each.
        seeds: a draw for each, none negative.
        options: reduction, compat, number of ACE bins, bootstrap.
    Returns:
        The numbers of each draw, and of all of them with intervals. Instances with NaN scores of kept candidates are
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
    distributions, clusters = Distributions.from_table(table, options.ties), cluster_labels(table.relation, options)
    n_resamples = math.ceil(options.resampling.n_resamples / len(seeds))
    draws = [_drawn(distributions, seed, counts, options, n_resamples, clusters) for seed in seeds]
    columns = list(draws[0][0])
    pooled = {name: tuple(_pooled([draw[at][name] for draw in draws]) for at in range(len(counts))) for name in columns}
    exact = expected_correct(distributions, counts)
    pooled["accuracy"] = tuple(bootstrap_mean(correct, options.resampling, clusters) for correct in exact)
    return AnswerOptions(
        relations=tuple(np.unique(table.relation).tolist()),
        instances=table.n_instances,
        template=table.templates[0].number,
        options=np.array(counts, dtype=np.int64),
        seeds=tuple(seeds),
        numbers={name: np.array([[numbers[name].value for numbers in draw] for draw in draws]) for name in columns},
        estimates=pooled,
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


def _drawn(
    distributions: Distributions, seed: int, counts: Sequence[int], options: ReportOptions, n_resamples: int,
    clusters: Labels | None,
) -> list[dict[str, Draws]]:  # fmt: skip
    """The numbers of one draw of the options with their resamples, by column, for each count."""
    ranks = option_ranks(distributions, seed)
    samples = {}
    for count in counts:
        subset = keep_options(distributions, ranks < count)
        for name, confidence in (("base", base_confidence(subset)), ("margin", margin_confidence(subset))):
            samples[f"{name} {count}"] = confidence.confidence, confidence.correct
    metrics = [
        metric for metric in standard_metrics(options.ace_bins) if metric.name in ("accuracy", "mean_confidence", "ace")
    ]
    resampling = Resampling(n_resamples, options.resampling.seed + seed)
    draws = draw_samples(metrics, samples, resampling, clusters)
    return [
        {
            "accuracy": draws[f"base {count}"]["accuracy"],
            "mean_base": draws[f"base {count}"]["mean_confidence"],
            "mean_margin": draws[f"margin {count}"]["mean_confidence"],
            "ace_base": draws[f"base {count}"]["ace"],
            "ace_margin": draws[f"margin {count}"]["ace"],
        }
        for count in counts
    ]


def _pooled(draws: Sequence[Draws]) -> Estimate:
    """The mean over the seeds. Its interval holds the middle 95 % of the resamples of all seeds together."""
    chance = [draw.by_chance for draw in draws if draw.by_chance is not None]
    return interval(
        Draws(
            float(np.mean([draw.value for draw in draws])),
            np.concatenate([draw.resampled for draw in draws]),
            np.concatenate(chance) if chance else None,
            beyond=least_beyond(draws),
        )
    )
