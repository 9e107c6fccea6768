"""Reversed scales: does the model turn its number round where it is asked how probable it is that it is wrong?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from calprobe.metrics import Estimate, Resampling, bootstrap_mean
from calprobe.metrics.correlation import correlation
from calprobe.metrics.intervals import UNDEFINED
from calprobe.studies.stated.stated_cells import StatedCell

SAME = 1e-9  # numbers of different scales that are equal: 0.7, 70 % and 7 of 10
HALF = 0.5  # turned round it is itself, and says nothing


@dataclass(frozen=True, slots=True)
class Reversal:
    """A reversed prompt beside the one that asks on the same scale the other way round."""

    JSON: ClassVar = "forward n=answers compared same_number turned nearer_to_same=nearer pearson ignored"

    prompt: str
    forward: str
    answers: int  # with both confidences
    compared: int  # those of them without 0.5 under the forward prompt, which the shares are of
    same_number: Estimate  # share whose raw number is the forward prompt's
    turned: Estimate  # share whose raw number is 1 minus that
    nearer: Estimate  # share whose raw number is nearer to the forward prompt's than 1 minus it is; halves of ties
    pearson: Estimate  # of both confidences; negative where the scale was not reversed

    @property
    def ignored(self) -> bool:
        """Whether most raw numbers are what the forward prompt got: the scale was not reversed."""
        return self.nearer.value > HALF


def reversals(cell: StatedCell, resampling: Resampling) -> Iterator[Reversal]:
    """Of each reversed prompt that has a forward one."""
    for prompt in cell.prompts:
        if prompt.forward in cell.names:
            yield _reversal(cell, prompt.name, prompt.forward, resampling)


def _reversal(cell: StatedCell, name: str, forward: str, resampling: Resampling) -> Reversal:
    turned, straight = cell.of([name, forward])
    raw = 1 - turned
    common = ~np.isnan(raw) & ~np.isnan(straight)
    tells = common & (np.abs(straight - HALF) > SAME)
    to_same, to_turned = np.abs(raw - straight), np.abs(turned - straight)
    nearer = np.where(np.abs(to_same - to_turned) < SAME, HALF, to_same < to_turned)

    def share(values: np.ndarray) -> Estimate:
        clusters = None if cell.clusters is None else cell.clusters[tells]
        if not tells.any():
            return UNDEFINED
        return bootstrap_mean(values[tells].astype(np.float64), resampling, clusters)

    return Reversal(
        name,
        forward,
        int(common.sum()),
        int(tells.sum()),
        share(to_same < SAME),
        share(to_turned < SAME),
        share(nearer),
        correlation(turned, straight, resampling, cell.clusters).linear,
    )
