"""Simultaneous bands: plain loops over the definition, and how often a curve as a whole lies within."""

from __future__ import annotations

import numpy as np
import pytest

from calprobe.metrics import simultaneous_band
from calprobe.metrics.simultaneous import simultaneous_normal


def test_the_band_holds_95_percent_of_the_resampled_curves_and_no_narrower_one_does() -> None:
    rng = np.random.default_rng(0)
    resampled = np.cumsum(rng.normal(size=(400, 12)), axis=1)
    low, high = simultaneous_band(np.zeros(12), resampled)
    inside = ((resampled >= low) & (resampled <= high)).all(axis=1)
    assert inside.mean() >= 0.95
    ascending = np.sort(resampled, axis=0)
    k = int(np.flatnonzero(ascending[:, 0] == low[0])[0]) + 1
    narrower = ((resampled >= ascending[k]) & (resampled <= ascending[400 - k - 1])).all(axis=1)
    assert narrower.mean() < 0.95
    pointwise = np.quantile(resampled, [0.025, 0.975], axis=0)
    assert (low <= pointwise[0]).all()
    assert (high >= pointwise[1]).all()


def test_one_point_has_about_the_percentile_interval() -> None:
    resampled = np.random.default_rng(1).normal(size=(1000, 1))
    low, high = simultaneous_band(np.zeros(1), resampled)
    assert [low[0], high[0]] == pytest.approx(np.quantile(resampled, [0.025, 0.975]).tolist(), abs=0.05)


def test_bands_cover_all_points_of_curves() -> None:
    """The running mean of 60 numbers at six places: bootstrap resamples of it, 200 trials."""
    places, held, pointwise = np.arange(10, 61, 10), 0, 0
    for trial in range(200):
        rng = np.random.default_rng([2, trial])
        values = rng.normal(size=(60, 6))
        curve = values.mean(axis=0)
        resampled = values[rng.integers(60, size=(200, 60))].mean(axis=1)
        low, high = simultaneous_band(curve, resampled)
        held += bool(((low <= 0) & (high >= 0)).all())
        ends = np.quantile(resampled, [0.025, 0.975], axis=0)
        pointwise += bool(((ends[0] <= 0) & (ends[1] >= 0)).all())
    assert len(places) == 6
    assert 0.88 <= held / 200 <= 0.99
    assert pointwise / 200 < 0.83


def test_undefined_points_and_no_resamples() -> None:
    low, high = simultaneous_band(np.array([0.5, np.nan]), np.array([[0.4, np.nan], [0.6, 0.1], [np.nan, 0.2]]))
    assert (low[0], high[0]) == (0.4, 0.6)
    assert np.isnan([low[1], high[1]]).all()
    assert np.isnan(simultaneous_band(np.array([0.5]), np.empty((0, 1)))).all()


def test_it_holds_the_curve_itself() -> None:
    low, high = simultaneous_band(np.array([0.9]), np.full((20, 1), 0.5))
    assert (low[0], high[0]) == (0.5, 0.9)


def test_normal_quantile_of_sidak() -> None:
    assert simultaneous_normal(1) == pytest.approx(1.959964)
    assert simultaneous_normal(0) == simultaneous_normal(1)
