"""The two forms of every curve: tidy tables with the promised columns, and JSON without NaN."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from calprobe.curves.accuracy_ace import AccuracyAce, AccuracyAcePoint, RankCorrelation
from calprobe.curves.accuracy_rejection import (
    AccuracyRejection,
    Band,
    RejectionLine,
    RejectionPoints,
    VoteLine,
)
from calprobe.curves.answer_option_curve import OptionNumbers
from calprobe.curves.calibration_curve import BinnedError, Calibration, CalibrationLine, SmoothError
from calprobe.curves.curve import Curves
from calprobe.curves.exposure import Exposure, ExposureLine
from calprobe.curves.markers import MarkerPoint, Markers
from calprobe.curves.option_counts import Options, OptionsLine
from calprobe.metrics import Difference, Estimate, ace, ece, reject_by_rank, reject_by_threshold, reject_by_vote

RUN = ("runs/a", "tiny-clm", "base", (0,))
NAN = float("nan")
CONFIDENCE, CORRECT = [0.2, 0.6, 0.9], [False, False, True]


def accuracy_rejection() -> AccuracyRejection:
    nothing = np.full(2, NAN)
    points = RejectionPoints(reject_by_threshold(CONFIDENCE, CORRECT, [0.0, 1.0]), nothing, nothing)
    band = Band(np.array([0.0, 0.5]), np.array([1 / 3, 2 / 3]), np.array([0.1, 0.2]), np.array([0.8, 0.9]))
    votes = RejectionPoints(reject_by_vote([2], [[0, 1]], [[1, 0]]), np.array([0.5]), np.array([1.0]))
    return AccuracyRejection(
        (RejectionLine(*RUN, points, reject_by_rank(CONFIDENCE, CORRECT), band),),
        (VoteLine("runs/a", "tiny-clm", "vote", (0, 1), votes),),
    )


def calibration() -> Calibration:
    parts = []
    for measure in (ace, ece):
        found = measure(CONFIDENCE, CORRECT, 2)
        assert found.bins is not None
        parts.append(BinnedError(Estimate(found.value), found.bins, *[np.zeros(2), np.ones(2)] * 2))
    smooth = SmoothError(Estimate(0.1), np.array([0.0, 1.0]), np.array([NAN, 0.5]), np.array([0.5, 1.5]))
    return Calibration((CalibrationLine(*RUN, 3, parts[0], parts[1], smooth, np.array([1, 2])),))


def options() -> Options:
    numbers = OptionNumbers(np.array([0.5, 0.25]), np.array([0.6, 0.4]), np.array([0.1, 0.2]))
    line = OptionsLine(*RUN, ("P1",), 7, np.array([2, 4]), (0, 1), numbers, (numbers, numbers), numbers, numbers)
    return Options((line,))


def accuracy_ace() -> AccuracyAce:
    point = AccuracyAcePoint(*RUN, Estimate(0.5, 0.4, 0.6), Estimate(0.1), "causal")
    return AccuracyAce((point,), (RankCorrelation("base", 1, Estimate(NAN)),))


def markers() -> Markers:
    same = (Estimate(0.5), Estimate(0.6), Estimate(0.1))
    plain = MarkerPoint(*RUN, "plain", NAN, *same, None)
    shift = Difference(-0.1, -0.2, 0.0, 0.04)
    half = MarkerPoint(*RUN, "50", 50.0, *same, shift, shift, shift, 0.1, 0.1, 0.1)
    return Markers((plain, half))


def exposure() -> Exposure:
    estimates = (Estimate(0.25, 0.0, 0.5), Estimate(1.0))
    counts, ends = np.array([0.0, 3.5]), (np.array([0, 3]), np.array([0, 4]))
    return Exposure((ExposureLine(*RUN, counts, *ends, np.array([4, 2]), estimates, estimates),))


EVERY = {
    "accuracy-rejection": (accuracy_rejection(), 2 + 3 + 2 + 1),
    "calibration": (calibration(), 2 + 2 + 2 + 2),
    "options": (options(), 3 * 2),
    "accuracy-ace": (accuracy_ace(), 1),
    "markers": (markers(), 2),
    "exposure": (exposure(), 2),
}


@pytest.mark.parametrize("kind", EVERY)
def test_a_table_has_its_columns_and_a_row_a_point(kind: str) -> None:
    curves, n_rows = EVERY[kind]
    frame = curves.frame()
    assert curves.kind == kind
    assert tuple(frame.columns) == curves.COLUMNS
    assert curves.COLUMNS[:3] == ("run", "model", "estimator")
    assert len(frame) == n_rows
    assert not frame[["run", "model", "estimator"]].isna().any().any()
    undefined = {name for name in frame if frame[name].isna().all()}
    assert {name for name in undefined if not name.endswith(("_low", "_high"))} <= {"spearman", "options"}


@pytest.mark.parametrize("kind", EVERY)
def test_json_holds_no_nan_and_says_its_kind(kind: str) -> None:
    curves: Curves = EVERY[kind][0]
    again = json.loads(json.dumps(curves.to_json(), allow_nan=False))
    assert again == curves.to_json()
    assert again["kind"] == kind


def test_nothing_kept_is_null_and_never_an_accuracy() -> None:
    found = accuracy_rejection()
    at_one = found.frame().query("form == 'threshold' and threshold == 1.0").iloc[0]
    assert (at_one.kept, at_one.rejected) == (0, 1)
    assert math.isnan(at_one.accuracy)
    assert found.to_json()["lines"][0]["by_threshold"]["curve"]["accuracy"] == [1 / 3, None]


def test_an_estimate_is_written_as_in_reports() -> None:
    point = accuracy_ace().to_json()["points"][0]
    assert point["accuracy"] == {"value": 0.5, "ci95": [0.4, 0.6]}
    assert point["ace"] == {"value": 0.1, "ci95": None}


def test_no_lines_make_an_empty_table_with_all_columns() -> None:
    frame = Exposure(()).frame()
    assert len(frame) == 0
    assert tuple(frame.columns) == Exposure.COLUMNS
