"""Consistency of one cell: deviations within groups of prompts, and correlations of each two prompts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np

from calprobe.analysis.asked.stated.cells import StatedCell
from calprobe.analysis.asked.stated.drawn import Drawn
from calprobe.metrics import Resampling
from calprobe.metrics.consistency import answer_deviations
from calprobe.metrics.correlation import correlation
from calprobe.metrics.known_means import known_mean

ALL = "All"
Groups = Mapping[str, tuple[str, ...]]


def groups_of(prompts: Sequence[str], groups: Groups) -> dict[str, tuple[str, ...]]:
    """The groups with two prompts or more that were all asked, and behind them all prompts together."""
    known = {name: own for name, own in groups.items() if len(own) > 1 and set(own) <= set(prompts)}
    return known | ({ALL: tuple(prompts)} if len(prompts) > 1 and ALL not in known else {})


def deviations(cell: StatedCell, groups: Groups, resampling: Resampling) -> dict[str, Drawn]:
    """The MSD of each group, over the answers that have all of its confidences."""
    found = {}
    for name, own in groups.items():
        values = answer_deviations(cell.of(own))
        known = int((~np.isnan(values)).sum())
        found[name] = Drawn(known_mean(values[None], resampling, cell.clusters), known)
    return found


def correlations(cell: StatedCell, resampling: Resampling) -> Iterator[tuple[str, str, Drawn, Drawn]]:
    """Of each two prompts Pearson's r and Spearman's rho over the answers that have both confidences."""
    for one, other in combinations(range(len(cell.prompts)), 2):
        found = correlation(cell.confidence[one], cell.confidence[other], resampling, cell.clusters)
        linear, ranked = Drawn(found.pearson, found.instances), Drawn(found.spearman, found.instances)
        yield cell.names[one], cell.names[other], linear, ranked
