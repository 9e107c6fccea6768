"""Stated confidence beside the frequency of answers: by a loop, by what words that follow nothing have, by clusters."""

from __future__ import annotations

import numpy as np
import pytest

from calprobe.metrics import Resampling
from calprobe.metrics.faithfulness import faithfulness

NONE = Resampling(0)


def drawn(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.random(n), rng.integers(1, 11, n) / 10


@pytest.mark.parametrize("n", [1, 7, 200])
def test_the_conditional_mean_is_that_of_a_loop_over_bins(n: int) -> None:
    stated, frequency = drawn(n, n)
    of_bins: dict[int, list[float]] = {}
    for said, seen in zip(stated, frequency, strict=True):
        of_bins.setdefault(min(int(seen * 10), 9), []).append(1 - abs(said - seen))
    expected = sum(sum(own) / len(own) for own in of_bins.values()) / len(of_bins)
    found = faithfulness(stated, frequency, NONE)
    assert found.conditional.value == pytest.approx(expected, abs=1e-12)
    assert found.mean.value == pytest.approx(float((1 - abs(stated - frequency)).mean()), abs=1e-12)
    assert found.excess.value == pytest.approx(float((stated - frequency).mean()), abs=1e-12)


@pytest.mark.parametrize("always", [0.0, 0.5, 1.0])
def test_words_that_follow_nothing_have_about_a_half(always: float) -> None:
    frequency = (np.arange(1000) + 0.5) / 1000
    expected = 0.5 if always != 0.5 else 0.75
    assert faithfulness(np.full(1000, always), frequency, NONE).conditional.value == pytest.approx(expected, abs=1e-9)


def test_words_that_say_the_frequency_are_faithful() -> None:
    _, frequency = drawn(50, 0)
    found = faithfulness(frequency, frequency, Resampling(50))
    assert (found.mean.value, found.conditional.value, found.rho.value) == (1, 1, pytest.approx(1))


def test_copies_within_questions_change_no_value_and_make_no_interval_narrower() -> None:
    stated, frequency = drawn(60, 1)
    copied = [np.repeat(values, 5) for values in (stated, frequency)]
    alone = faithfulness(stated, frequency)
    found = faithfulness(*copied, clusters=np.repeat(np.arange(60), 5))
    assert found.conditional.value == pytest.approx(alone.conditional.value)
    assert found.conditional.low == pytest.approx(alone.conditional.low, abs=1e-12)
    assert found.conditional.high == pytest.approx(alone.conditional.high, abs=1e-12)


def test_what_is_out_of_range_is_refused() -> None:
    with pytest.raises(ValueError, match="stated must lie in"):
        faithfulness([1.5], [1.0])
    with pytest.raises(ValueError, match="one length"):
        faithfulness([0.5], [1.0, 0.5])
