"""AUROC of parts of a sample in resamples, by counting pairs."""

from __future__ import annotations

import numpy as np
import pytest

from calprobe.metrics.ranks import RankedPart


@pytest.mark.parametrize("n_strata", [1, 4])
@pytest.mark.parametrize("decimals", [1, 8])  # with ties and without
def test_auroc_in_resamples_counts_pairs_of_a_stratum(decimals: int, n_strata: int) -> None:
    rng = np.random.default_rng(3)
    confidence, strata = rng.random(50).round(decimals), rng.integers(n_strata, size=50)
    truths = [np.array(rng.random(50) < share, np.float64) for share in (0.5, 0.1, 0.0)]
    kept = rng.random(50) < 0.8
    counts = rng.multinomial(50, [1 / 50] * 50, size=4)
    found = RankedPart.of(confidence, truths, kept, strata).auroc(counts)
    difference = confidence[:, None] - confidence
    surer = (difference > 0) + 0.5 * (difference == 0)
    for truth, row in zip(truths, found, strict=True):
        for held, value in zip(counts * kept, row, strict=True):
            pairs = np.outer(held * truth, held * (1 - truth)) * (strata[:, None] == strata)
            wanted = (pairs * surer).sum() / pairs.sum() if pairs.any() else np.nan
            assert value == pytest.approx(wanted, nan_ok=True)


def test_a_part_of_nothing_has_no_auroc() -> None:
    nothing = RankedPart.of(np.array([0.5, 0.2]), [np.array([1, 0])], np.zeros(2, np.bool_))
    assert np.isnan(nothing.auroc(np.ones((3, 2), np.int64))).tolist() == [[True] * 3]
