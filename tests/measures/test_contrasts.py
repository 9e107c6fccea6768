"""Contrasts of any two sides: the paired differences of their samples, by hand where they are few."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest
import scipy.stats

from calprobe.confidence import Estimator
from calprobe.measures.compare_results import Contrast, Corrected
from calprobe.measures.contrasts import Drawn, Sides, agreement_of, contrasts_of, corrected
from calprobe.measures.options import DEFAULT_COMPARISON, CompareOptions
from calprobe.metrics import ACCURACY, Metric, Resampling, bootstrap_many, holm, paired_differences, standard_metrics
from calprobe.metrics.ranking import AUROC
from calprobe.metrics.scoring_rules import BRIER, CONFIDENCE_GAP

RNG = np.random.default_rng(5)
N = 40
CORRECT = RNG.random(N) < 0.6
SURE, UNSURE = np.round(RNG.random(N), 2), np.round(RNG.random(N), 2)
RESAMPLING = Resampling(80, 3)


def estimator(scale: str = "probability") -> Estimator:
    return Estimator("own", "", "given", lambda _: None, scale=scale)  # type: ignore[arg-type]


def test_values_are_those_of_each_side_and_differences_are_paired() -> None:
    metrics = [metric for metric in standard_metrics() if metric.name in ("accuracy", "brier", "ece", "auroc")]
    samples = {"first": (SURE, CORRECT), "second": (UNSURE, CORRECT)}
    clusters = np.repeat(np.arange(20), 2).astype(str)
    expected = paired_differences(metrics, samples, [("first", "second")], RESAMPLING, clusters)["first", "second"]
    alone = bootstrap_many(metrics, samples, RESAMPLING, clusters)
    contrasts = list(contrasts_of({"own": Sides(*samples.values())}, metrics, Drawn(RESAMPLING, clusters)))
    assert [contrast.metric for contrast in contrasts] == [metric.name for metric in metrics]
    for contrast in contrasts:
        assert contrast.difference == expected[contrast.metric]
        assert contrast.first == alone["first"][contrast.metric]
        assert contrast.second == alone["second"][contrast.metric]


@pytest.mark.parametrize("clusters", [None, np.repeat(np.arange(20), 2).astype(str)])
def test_sides_that_are_all_right_or_all_wrong_have_the_intervals_of_each_alone(clusters: np.ndarray | None) -> None:
    metrics = [ACCURACY, CONFIDENCE_GAP]
    samples = {"first": (SURE, np.ones(N, bool)), "second": (UNSURE, np.zeros(N, bool))}
    alone = bootstrap_many(metrics, samples, RESAMPLING, clusters)
    for contrast in contrasts_of({"own": Sides(*samples.values())}, metrics, Drawn(RESAMPLING, clusters)):
        assert contrast.first == alone["first"][contrast.metric]
        assert contrast.second == alone["second"][contrast.metric]
        assert contrast.first.low < contrast.first.high
        assert np.isnan(contrast.difference.low) == (contrast.metric == "accuracy")


def test_several_pairs_of_sides_have_the_numbers_of_each_alone() -> None:
    sides = {"one": Sides((SURE, CORRECT), (UNSURE, CORRECT)), "two": Sides((UNSURE, ~CORRECT), (SURE, CORRECT))}
    drawn = Drawn(RESAMPLING)
    together = list(contrasts_of(sides, [BRIER, ACCURACY], drawn))
    alone = [own for name, pair in sides.items() for own in contrasts_of({name: pair}, [BRIER, ACCURACY], drawn)]
    assert repr(together) == repr(alone)  # NaN is not equal to itself


def test_a_metric_must_have_a_meaning_for_both_sides() -> None:
    sides = Sides((SURE, CORRECT), (UNSURE, CORRECT), (estimator(), estimator("uncertainty")))
    contrasts = contrasts_of({None: sides}, [BRIER, AUROC, ACCURACY], Drawn(RESAMPLING))
    assert [contrast.metric for contrast in contrasts] == ["auroc", "accuracy"]


def test_what_both_answer_alike_is_equal_in_the_difference_alone() -> None:
    ties = np.arange(N) < N // 2
    sides = Sides((SURE, CORRECT), (UNSURE, ~CORRECT), ties=ties)
    (contrast,) = contrasts_of({None: sides}, [ACCURACY], Drawn(RESAMPLING))
    assert contrast.second.value == pytest.approx((~CORRECT).mean())
    assert contrast.difference.value == pytest.approx((CORRECT.astype(int) - ~CORRECT)[~ties].sum() / N)


def test_margin_and_chance_follow_what_is_drawn() -> None:
    clusters = np.repeat(np.arange(20), 2).astype(str)
    sides = {None: Sides((SURE, CORRECT), (UNSURE, CORRECT))}
    ece = [metric for metric in standard_metrics() if metric.name == "ece"]
    (plain,) = contrasts_of(sides, ece, Drawn(Resampling(0)))
    assert (plain.by_chance, plain.equivalence) == (None, None)
    (contrast,) = contrasts_of(sides, ece, Drawn(RESAMPLING, clusters, sampled=True, margin=0.5, correction="max-t"))
    assert contrast.by_chance is not None
    assert contrast.equivalence is not None
    assert (contrast.equivalence.margin, contrast.corrected_by) == (0.5, "max-t")
    half = Drawn(RESAMPLING, clusters).at(np.arange(N) < 10)
    assert half.clusters is not None
    assert len(half.clusters) == 10


@dataclass(frozen=True)
class Listed(Corrected):
    """A comparison of contrasts alone."""

    given: tuple[Contrast, ...]
    metrics: tuple[Metric, ...] = (ACCURACY, BRIER)
    options: CompareOptions = DEFAULT_COMPARISON

    @property
    def contrasts(self) -> Iterator[Contrast]:
        yield from self.given

    def replaced(self, change: Callable[[Contrast], Contrast]) -> Listed:
        return replace(self, given=tuple(map(change, self.given)))


def test_a_test_that_stands_there_again_is_counted_once() -> None:
    other = RNG.random(N) < 0.3
    sides = {
        "one": Sides((SURE, CORRECT), (UNSURE, other)),
        "same answers": Sides((UNSURE, CORRECT), (SURE, other)),
        "others": Sides((UNSURE, ~CORRECT), (SURE, other)),
    }
    contrasts = tuple(contrasts_of(sides, [ACCURACY, BRIER], Drawn(RESAMPLING, margin=0.4)))
    found = corrected(Listed(contrasts))
    assert [c.repeated for c in found.given] == [False, False, True, False, False, False]
    assert found.tests == 5
    once = [c for c in found.given if not c.repeated]
    assert [c.p_holm for c in once] == holm([c.difference.p_value for c in once]).tolist()
    within = [c.equivalence for c in once if c.equivalence]
    assert [e.p_holm for e in within] == holm([e.p_value for e in within]).tolist()
    first, again = found.given[0], found.given[2]
    assert (again.p_holm, again.p_max_t, again.equivalence) == (first.p_holm, first.p_max_t, first.equivalence)


def test_agreement_by_hand() -> None:
    first, second = np.array([1, 1, 1, 0, 0], bool), np.array([1, 0, 0, 1, 0], bool)
    same, ties = np.array([1, 0, 0, 0, 1], bool), np.array([0, 1, 0, 0, 0], bool)
    found = agreement_of(same, first, second)
    shares = found.same_prediction, found.both_right, found.first_right, found.second_right
    assert shares == pytest.approx((0.4, 0.2, 0.4, 0.2))
    assert found.mcnemar_p == pytest.approx(scipy.stats.binomtest(1, 3).pvalue)
    tied = agreement_of(same, first, second, ties)
    assert tied.first_right == found.first_right
    assert tied.mcnemar_p == pytest.approx(scipy.stats.binomtest(1, 2).pvalue)
    assert np.isnan(agreement_of(same, first, second, tested=False).mcnemar_p)
    nothing = np.zeros(0, bool)
    assert np.isnan(agreement_of(nothing, nothing, nothing).same_prediction)
