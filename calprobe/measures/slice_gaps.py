"""How far confidence is from accuracy in all slices at once, and what maps of each slice's own would mend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Ints, Mask
from calprobe.cells.cell import Cell, Labels
from calprobe.measures.json_values import number_json, value_json
from calprobe.metrics import (
    Difference,
    Estimate,
    GroupGaps,
    Resampling,
    bootstrap_many,
    gaps_of,
    grouping_loss,
    paired_differences,
)
from calprobe.metrics.bootstrap import Predictions
from calprobe.metrics.recalibration import fit_folds
from calprobe.metrics.scoring_rules import BRIER
from calprobe.words import Recalibration

MAP: Recalibration = "platt"  # two coefficients: the most that a slice of a few dozen units can bear
LEAST_TO_MAP = 60  # units of a slice with a map of its own


@dataclass(frozen=True, slots=True)
class OwnMaps:
    """Brier scores after recalibration by one map for all slices, and by one for each, both of other units."""

    as_is: Estimate
    one_map: Estimate
    own_maps: Estimate
    change: Difference  # own_maps minus one_map: below 0 where slices differ in what a confidence means
    mapped: int  # slices with a map of their own: the others keep the one of all


@dataclass(frozen=True, slots=True)
class SliceGaps:
    """Calibration of one estimator in all slices."""

    found: GroupGaps
    grouping_loss: float  # an estimate of what one map for all cannot mend, at least; NaN where slices overlap
    maps: OwnMaps | None  # None where slices overlap, or fewer than two are large enough

    def to_json(self) -> dict[str, Any]:
        """One estimator's object under `slice_gaps`."""
        largest = self.found.largest
        return {
            "p": number_json(self.found.p_value),
            "largest": None if largest is None else largest.name,
            "grouping_loss": number_json(self.grouping_loss),
            "maps": value_json(self.maps),
            "slices": {
                group.name: {
                    "n": group.instances,
                    "gap": value_json(group.gap),
                    "p": number_json(group.p_value),
                    "debiased_ece": number_json(group.debiased_ece),
                }
                for group in self.found.groups
            },
        }


def slice_gaps(
    cell: Cell,
    estimators: Sequence[str],
    slices: Mapping[str, Mask],
    resampling: Resampling,
    questions: npt.NDArray[np.str_] | None = None,
) -> dict[str, SliceGaps]:
    """The calibration of each estimator of probabilities in all slices, over the units that it has a confidence of.

    Args:
        cell: all units, with the clusters that resamples go by.
        estimators: those wanted.
        slices: by name, [units]; they may overlap.
        resampling: number of resamples, and seed.
        questions: [units], what each is an answer to, where several are to one; None: each to another.
    """
    units = np.arange(len(cell.units)) if questions is None else np.unique(questions, return_inverse=True)[1]
    apart = bool((np.sum(list(slices.values()), axis=0) <= 1).all())
    by_name = {}
    for name in estimators:
        if cell.estimators[name].scale != "probability":
            continue
        confidence = cell.confidences[name]
        read = confidence.read
        kept = {label: mask[read] for label, mask in slices.items()}
        found = gaps_of(*cell.sample(name, read), kept, resampling, cell.units.clusters_of(read))
        by_name[name] = SliceGaps(found, float("nan"), None)
        if apart:
            # A confidence of 0 that stands for no answer is no number for a bin or a map.
            read = read & ~confidence.failed
            kept = {label: mask[read] for label, mask in slices.items()}
            sample, clusters = cell.sample(name, read), cell.units.clusters_of(read)
            loss = grouping_loss(*sample, np.select(list(kept.values()), list(kept), ""))
            maps = _own_maps(sample, kept, units[read], resampling, clusters)
            by_name[name] = SliceGaps(found, loss, maps)
    return by_name


def _own_maps(
    sample: Predictions, slices: Mapping[str, Mask], units: Ints, resampling: Resampling, clusters: Labels | None
) -> OwnMaps | None:
    values, right = (np.asarray(column, np.float64) for column in sample)
    large = [mask for mask in slices.values() if len(np.unique(units[mask])) >= LEAST_TO_MAP]
    if len(large) < 2:
        return None
    one, _ = fit_folds(values, right, units, MAP)
    own = one.copy()
    for mask in large:
        own[mask] = fit_folds(values[mask], right[mask], units[mask], MAP)[0]
    samples = {"as is": (values, right), "one": (one, right), "own": (own, right)}
    brier = {name: of["brier"] for name, of in bootstrap_many([BRIER], samples, resampling, clusters).items()}
    pair = ("own", "one")
    change = paired_differences([BRIER], samples, [pair], resampling, clusters)[pair]["brier"]
    return OwnMaps(brier["as is"], brier["one"], brier["own"], change, len(large))
