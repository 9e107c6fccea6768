"""The design that comprehension on one half of the questions chooses, reported on the other half."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from calprobe.measures.options import ReportOptions
from calprobe.metrics import bootstrap_many, bootstrap_mean
from calprobe.metrics.registry import named_metrics
from calprobe.studies.labels.masses import DesignMasses
from calprobe.studies.labels.results import Selection

COMPREHENSION = "comprehension"
HELD_OUT = ("accuracy", "ece_15", "auroc")
_LEAST = 4  # questions


def halves(names: npt.NDArray[np.str_], seed: int) -> tuple[frozenset[str], frozenset[str]]:
    """The questions in two halves, drawn by the seed; they do not depend on the questions' order."""
    questions = np.unique(names)
    order = np.random.default_rng(seed).permutation(len(questions))
    half = len(questions) // 2
    return frozenset(questions[order[:half]].tolist()), frozenset(questions[order[half:]].tolist())


def selection(name: str, designs: Mapping[str, DesignMasses], options: ReportOptions) -> Selection | None:
    """The choice among two designs or more; None of one, or of fewer than four questions."""
    if len(designs) < 2:
        return None
    common = set.intersection(*(set(masses.names.tolist()) for masses in designs.values()))
    if len(common) < _LEAST:
        return None
    choosing, held_out = halves(np.array(sorted(common), np.str_), options.resampling.seed)
    seen = {variant: _comprehension(masses, choosing) for variant, masses in designs.items()}
    unseen = {variant: _comprehension(masses, held_out) for variant, masses in designs.items()}
    best = max(seen, key=lambda variant: seen[variant])
    of_best = _within(designs[best], held_out)
    sample = {"": (of_best.chosen("normalised"), of_best.right)}
    metrics = dict(bootstrap_many(named_metrics(HELD_OUT), sample, options.resampling, of_best.clusters)[""])
    metrics = {COMPREHENSION: bootstrap_mean(of_best.total, options.resampling, of_best.clusters)} | metrics
    return Selection(
        set=name,
        variant=best,
        comprehension=seen[best],
        others=seen,
        rows=len(of_best.right),
        held_out=metrics,
        best_on_held_out=max(unseen, key=lambda variant: unseen[variant]),
    )


def _within(masses: DesignMasses, names: frozenset[str]) -> DesignMasses:
    return masses.at(np.nonzero(np.isin(masses.names, sorted(names)))[0])


def _comprehension(masses: DesignMasses, names: frozenset[str]) -> float:
    return float(_within(masses, names).total.mean())
