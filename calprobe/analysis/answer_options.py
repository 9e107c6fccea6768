"""How accuracy and calibration change with the number of answer options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from calprobe.analysis.options import DEFAULT_OPTIONS, ReportOptions
from calprobe.analysis.scored_run import RunLike, read_scores
from calprobe.arrays import check_count
from calprobe.confidence import Distributions, base_confidence, keep_options, margin_confidence, option_ranks
from calprobe.confidence.estimators import ENTRIES
from calprobe.confidence.types import default_row
from calprobe.errors import UsageError
from calprobe.metrics import accuracy, ace, mean_confidence
from calprobe.runs import ScoreTable

if TYPE_CHECKING:
    import pandas as pd

OPTION_COUNTS = tuple(range(5, 61, 5))
OPTION_SEEDS = (0, 1, 2)
MEASURED = tuple(entry.name for entry in ENTRIES if entry.group == "intrinsic")  # in each draw: base and margin


@dataclass(frozen=True, slots=True, eq=False)
class AnswerOptions:
    """The experiment's numbers, in tables with the columns options (int), seed (int; in `draws` only), accuracy,
    mean_base, mean_margin, ace_base and ace_margin (float64, [0, 1]), sorted by options, then seed."""

    relations: tuple[str, ...]  # those with enough candidates, sorted
    instances: int  # of them
    template: int  # number of the one that base and margin read
    draws: pd.DataFrame  # a row a (number of options, seed)
    means: pd.DataFrame  # a row a number of options: means over the seeds


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

    >>> from calprobe.statements import Template
    >>> scores, p30 = np.log([[0.5, 0.3, 0.2, 0.1, 0.6, 0.3]]), np.array(["P30", "P30"])
    >>> table = ScoreTable(scores, np.array([0, 3, 6]), np.array([0, 0]), p30, np.array([0, 1]),
    ...                    (Template(0, "", "paraphrase"),))
    >>> found = answer_option_curve(table, counts=[2, 3], seeds=[0])
    >>> found.draws[["options", "seed", "accuracy", "mean_base"]].round(3).values.tolist()
    [[2.0, 0.0, 0.5, 0.786], [3.0, 0.0, 0.5, 0.55]]
    """
    import pandas as pd

    for count in counts:
        check_count("counts", count, 2)
    for seed in seeds:
        check_count("seeds", seed, 0)
    if not len(counts) or not len(seeds):
        raise ValueError(f"counts and seeds must not be empty; got {counts!r} and {seeds!r}")
    table = _roomy(read_scores(source, options), max(counts))
    distributions = Distributions.from_table(table)
    rows = []
    for seed in seeds:
        ranks = option_ranks(distributions, seed)
        for count in counts:
            found = _measure(keep_options(distributions, ranks < count), options.ace_bins)
            rows.append({"options": count, "seed": seed, **found})
    draws = pd.DataFrame(rows).sort_values(["options", "seed"], ignore_index=True)
    means = draws.drop(columns="seed").groupby("options", as_index=False).mean()
    relations = tuple(np.unique(table.relation).tolist())
    return AnswerOptions(relations, table.n_instances, table.templates[0].number, draws, means)


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
