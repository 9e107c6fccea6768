"""Consistency of one cell: deviations within groups of prompts, and correlations of each two prompts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np

from calprobe.metrics import Resampling
from calprobe.metrics.consistency import answer_deviations
from calprobe.metrics.correlation import correlation
from calprobe.metrics.known_means import known_mean
from calprobe.studies.stated.drawn import Drawn
from calprobe.studies.stated.stated_cells import StatedCell

ALL = "All"
Groups = Mapping[str, tuple[str, ...]]


def groups_of(prompts: Sequence[str], groups: Groups) -> dict[str, tuple[str, ...]]:
    """The groups with two prompts or more that were all asked, and behind them all prompts together."""
    complete = {name: members for name, members in groups.items() if len(members) > 1 and set(members) <= set(prompts)}
    return complete | ({ALL: tuple(prompts)} if len(prompts) > 1 and ALL not in complete else {})


def deviations(cell: StatedCell, groups: Groups, resampling: Resampling) -> dict[str, Drawn]:
    """The MSD of each group, over the answers that have all of its confidences."""
    drawn = {}
    for name, members in groups.items():
        values = answer_deviations(cell.of(members))
        answers = int((~np.isnan(values)).sum())
        drawn[name] = Drawn(known_mean(values[None], resampling, cell.clusters), answers)
    return drawn


def correlations(cell: StatedCell, resampling: Resampling) -> Iterator[tuple[str, str, Drawn, Drawn]]:
    """Of each two prompts Pearson's r and Spearman's rho over the answers that have both confidences."""
    for first, second in combinations(range(len(cell.prompts)), 2):
        drawn = correlation(cell.confidence[first], cell.confidence[second], resampling, cell.clusters)
        linear, ranked = Drawn(drawn.pearson, drawn.instances), Drawn(drawn.spearman, drawn.instances)
        yield cell.names[first], cell.names[second], linear, ranked
