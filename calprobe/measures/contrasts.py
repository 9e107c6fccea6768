"""Two confidences in the same units: their metrics, differences with corrected p-values, and how answers agree.

Every comparison takes its numbers from here. Each kind of run says by itself which units two sides share and what is
compared of them. P-values are corrected for their number by Holm's way, and by the resamples that they come from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Ints, Mask
from calprobe.cells.cell import Labels
from calprobe.confidence import Estimator
from calprobe.measures.compare_results import Agreement, Contrast, Corrected, Equivalence
from calprobe.measures.meaningful import is_meaningful
from calprobe.measures.options import CompareOptions
from calprobe.metrics import ACCURACY, Estimate, Metric, PairedDraws, Resampling, holm, max_t, mcnemar
from calprobe.metrics.bootstrap import Predictions, draw_samples
from calprobe.metrics.error_shown import ERRORS, ByChance, chance_shown
from calprobe.metrics.intervals import Draws, interval
from calprobe.words import ClusterKind, Correction

C = TypeVar("C", bound=Corrected)
ROUNDED = 9  # decimals in which means that are added up in another order are equal


@dataclass(frozen=True, slots=True)
class Drawn:
    """How differences over some units are drawn, and what they are tested for."""

    resampling: Resampling
    clusters: Labels | None = None  # [units], that resamples go by
    unit: ClusterKind = "instance"
    sampled: bool = False  # whether a cluster is the answers to one question
    margin: float | None = None  # that differences are tested to lie within
    correction: Correction = "holm"

    @classmethod
    def of(
        cls,
        options: CompareOptions,
        clusters: Labels | None,
        unit: ClusterKind = "instance",
        *,
        sampled: bool = False,
    ) -> Drawn:
        """As a comparison's options say."""
        by = options.correction or "holm"
        return cls(options.scores.resampling, clusters, unit, sampled, options.margin, by)

    def at(self, kept: Mask) -> Drawn:
        """The same over some of the units."""
        return self if self.clusters is None else replace(self, clusters=self.clusters[kept])

    def contrast(
        self, estimator: str | None, metric: str, sides: tuple[Estimate, Estimate], draws: PairedDraws
    ) -> Contrast:
        """A contrast of these estimates and draws, its p-values not corrected."""
        margin = self.margin
        equivalence = None if margin is None else Equivalence(margin, draws.equivalence(margin))
        return Contrast(
            estimator,
            metric,
            *sides,
            draws.difference(),
            equivalence=equivalence,
            corrected_by=self.correction,
            draws=draws,
            few=draws.few,
        )

    def by_chance(self, metric: str, sides: tuple[Draws, Draws], units: int) -> tuple[ByChance, ByChance] | None:
        """What chance makes of a calibration error of both sides, where it is shown beside it; None elsewhere."""
        if self.sampled and isinstance(self.clusters, np.ndarray):
            units = len(np.unique(self.clusters))
        if metric not in ERRORS or not chance_shown(units, self.resampling):
            return None
        first, second = map(ByChance.of, sides)
        return None if first is None or second is None else (first, second)


@dataclass(frozen=True, slots=True)
class Sides:
    """Two confidences in the same units, with their correctness, as metrics take them."""

    first: Predictions
    second: Predictions
    estimators: tuple[Estimator, ...] = ()  # of either side: a metric must have a meaning for all
    ties: Mask | None = None  # [units] that both answer alike, see `tied_instances`; None: none
    failed: tuple[int, int] = (0, 0)  # units without an answer: incorrect with confidence 0

    @property
    def samples(self) -> dict[str, Predictions]:
        """What is resampled, by name; `compared` is the second with the first's answers where both answer alike."""
        samples = {"first": self.first, "second": self.second}
        if self.ties is None or not self.ties.any():
            return samples
        (confidence, correct), (second_confidence, second_correct) = self.first, self.second
        compared = np.where(self.ties, confidence, second_confidence), np.where(self.ties, correct, second_correct)
        return samples | {"compared": compared}


def contrasts_of(sides: Mapping[str | None, Sides], metrics: Sequence[Metric], drawn: Drawn) -> Iterator[Contrast]:
    """The metrics of both sides that have a meaning for them, and their differences, first minus second.

    Args:
        sides: of the same units, by the name that their contrasts have as estimator.
        metrics: those that are resampled.
        drawn: the clusters of these units, and how to resample.
    """
    metrics_of = {
        name: [metric for metric in metrics if all(is_meaningful(metric, estimator) for estimator in pair.estimators)]
        for name, pair in sides.items()
    }
    samples = {
        f"{place} {side}": sample for place, pair in enumerate(sides.values()) for side, sample in pair.samples.items()
    }
    resampled = [metric for metric in metrics if any(metric in of_pair for of_pair in metrics_of.values())]
    draws = draw_samples(resampled, samples, drawn.resampling, drawn.clusters)
    for place, (name, pair) in enumerate(sides.items()):
        first, second = draws[f"{place} first"], draws[f"{place} second"]
        compared = draws.get(f"{place} compared", second)
        for metric in metrics_of[name]:
            errors = first[metric.name], second[metric.name]
            estimates = interval(errors[0], metric), interval(errors[1], metric)
            difference = PairedDraws.of(errors[0], compared[metric.name], metric)
            contrast = drawn.contrast(name, metric.name, estimates, difference)
            by_chance = drawn.by_chance(metric.name, errors, len(np.asarray(pair.first[1])))
            failed = (0, 0) if metric.name == ACCURACY.name else pair.failed
            yield replace(contrast, by_chance=by_chance, failed=failed)


def agreement_of(
    same: npt.NDArray[np.bool_], first: Mask, second: Mask, ties: Mask | None = None, *, tested: bool = True
) -> Agreement:
    """How two answers agree; NaN without units.

    Args:
        same: [units], whether both answers are the same.
        first: [units], whether the first is right.
        second: [units], whether the second is right.
        ties: [units], those that McNemar's test takes for answered alike; None: none.
        tested: whether units are drawn one by one, which McNemar's test is of.
    """
    if not len(first):
        return Agreement(*[float("nan")] * 4)
    alone = first & ~second, ~first & second
    counts = [int((right if ties is None else right & ~ties).sum()) for right in alone]
    return Agreement(
        same_prediction=float(np.mean(same)),
        both_right=float((first & second).mean()),
        first_right=float(alone[0].mean()),
        second_right=float(alone[1].mean()),
        mcnemar_p=mcnemar(*counts) if tested else float("nan"),
    )


def corrected(comparison: C) -> C:
    """The comparison with every p-value corrected for all of them, those of equivalence among themselves.

    A test that stands there several times, as that of the accuracy of estimators with the same answers, counts once.
    """
    tested = list(comparison.contrasts)
    firsts = _firsts(tested)
    p_values = np.array([contrast.difference.p_value for contrast in tested])
    margins = [contrast.equivalence.p_value if contrast.equivalence else np.nan for contrast in tested]
    by_holm = iter(_holm_once(p_values, firsts).tolist())
    by_max_t = iter(_by_max_t(tested, p_values).tolist())
    within = iter(_holm_once(np.array(margins), firsts).tolist())
    repeats = iter((firsts != np.arange(len(tested))).tolist())

    def change(contrast: Contrast) -> Contrast:
        p_holm, p_max_t, p_within, repeated = next(by_holm), next(by_max_t), next(within), next(repeats)
        equivalence = contrast.equivalence and replace(contrast.equivalence, p_holm=p_within)
        corrections = {"p_holm": p_holm, "p_max_t": p_max_t, "equivalence": equivalence}
        return replace(contrast, **corrections, repeated=repeated, draws=None)

    return comparison.replaced(change)


def _firsts(tested: Sequence[Contrast]) -> Ints:
    """[tests], the place of the first one of accuracies that differ alike on every resample: of the same answers."""
    places: dict[bytes, int] = {}
    firsts = np.arange(len(tested))
    for at, contrast in enumerate(tested):
        # Without any difference, answers that differ cannot be told from those that do not.
        if (
            contrast.metric == ACCURACY.name
            and contrast.draws is not None
            and np.nan_to_num(contrast.draws.resampled).any()
        ):
            rounded = np.round(contrast.draws.resampled, ROUNDED) + 0.0  # no -0.0, whose bytes are others
            firsts[at] = places.setdefault(rounded.tobytes(), at)
    return firsts


def _holm_once(p_values: Floats, firsts: Ints) -> Floats:
    """Holm's p-values, [tests], of which those that stand there again do not count and have that of the first."""
    counted = np.where(firsts == np.arange(len(firsts)), p_values, np.nan)
    adjusted: Floats = holm(counted)[firsts]
    return adjusted


def _by_max_t(tested: list[Contrast], p_values: Floats) -> Floats:
    """Adjusted p-values, [tests], none below its own p; NaN where there is no test.

    Tests of other instances have resamples of their own, which are taken for independent: that corrects too much rather
    than too little (Sidak 1967).
    """
    adjusted = np.full(len(tested), np.nan)
    drawn = {
        place: contrast.draws
        for place, contrast in enumerate(tested)
        if contrast.draws is not None and not np.isnan(p_values[place])
    }
    if drawn:
        statistics = [draws.statistic for draws in drawn.values()]
        by_chance = np.array([draws.null_statistics() for draws in drawn.values()])
        places = list(drawn)
        adjusted[places] = np.maximum(max_t(statistics, by_chance), p_values[places])
    return adjusted
