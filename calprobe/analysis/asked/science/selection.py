"""The design that comprehension on one half of the questions chooses, reported on the other half."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from calprobe.analysis.asked.options import AskedOptions
from calprobe.analysis.asked.science.label_results import Selection
from calprobe.analysis.asked.science.masses import DesignMasses
from calprobe.metrics import bootstrap_many, bootstrap_mean
from calprobe.metrics.registry import named_metrics

COMPREHENSION = "comprehension"
HELD_OUT = ("accuracy", "ece_15", "auroc")
_LEAST = 4  # questions


def halves(names: npt.NDArray[np.str_], seed: int) -> tuple[frozenset[str], frozenset[str]]:
    """The questions in two halves, drawn by the seed; they do not depend on the questions' order."""
    every = np.unique(names)
    order = np.random.default_rng(seed).permutation(len(every))
    half = len(every) // 2
    return frozenset(every[order[:half]].tolist()), frozenset(every[order[half:]].tolist())


def selection(name: str, designs: Mapping[str, DesignMasses], options: AskedOptions) -> Selection | None:
    """The choice among two designs or more; None of one, or of fewer than four questions."""
    if len(designs) < 2:
        return None
    common = set.intersection(*(set(own.names.tolist()) for own in designs.values()))
    if len(common) < _LEAST:
        return None
    choosing, held_out = halves(np.array(sorted(common), np.str_), options.resampling.seed)
    seen = {variant: _comprehension(own, choosing) for variant, own in designs.items()}
    unseen = {variant: _comprehension(own, held_out) for variant, own in designs.items()}
    best = max(seen, key=lambda variant: seen[variant])
    there = _within(designs[best], held_out)
    sample = {"": (there.chosen("normalised"), there.right)}
    found = dict(bootstrap_many(named_metrics(HELD_OUT), sample, options.resampling, there.clusters)[""])
    found = {COMPREHENSION: bootstrap_mean(there.total, options.resampling, there.clusters)} | found
    return Selection(
        set=name,
        variant=best,
        comprehension=seen[best],
        others=seen,
        rows=len(there.right),
        held_out=found,
        best_on_held_out=max(unseen, key=lambda variant: unseen[variant]),
    )


def _within(own: DesignMasses, names: frozenset[str]) -> DesignMasses:
    return own.at(np.nonzero(np.isin(own.names, sorted(names)))[0])


def _comprehension(own: DesignMasses, names: frozenset[str]) -> float:
    return float(_within(own, names).total.mean())
