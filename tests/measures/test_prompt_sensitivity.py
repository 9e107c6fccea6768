"""Prompt sensitivity of a run: by hand, against plain loops over its tables, and where there is little to compare."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from run_samples import write_run
from scipy.special import softmax
from scipy.stats import pearsonr
from sklearn.calibration import calibration_curve

from calprobe.analysis import PromptSensitivity, ReportOptions, prompt_sensitivity
from calprobe.errors import UsageError
from calprobe.measures.sensitivity import template_sd
from calprobe.metrics import Resampling, bootstrap_mean
from calprobe.runs import ScoreTable, TemplateRecord, open_run

QUICK = ReportOptions(resampling=Resampling(50, seed=3))
FOUR = ReportOptions(ace_bins=4, resampling=Resampling(50))


def make_table(probabilities: list[list[float]], widths: list[int], kinds: str, first: int = 0) -> ScoreTable:
    """Scores are log-probabilities; the right answer is always candidate 0; p: paraphrase, v: verbal."""
    names = {"p": "paraphrase", "v": "verbal"}
    with np.errstate(divide="ignore"):
        scores = np.log(np.array(probabilities).reshape(len(kinds), -1))
    return ScoreTable(
        scores=scores,
        offsets=np.cumsum([0, *widths]),
        answer_idx=np.zeros(len(widths), np.int64),
        relation=np.array(["P30"] * len(widths), dtype=np.str_),
        instance=np.arange(len(widths)),
        templates=tuple(TemplateRecord(first + number, names[kind]) for number, kind in enumerate(kinds)),
    )


def test_by_hand() -> None:
    table = make_table([[0.9, 0.1, 0.6, 0.4], [0.3, 0.3, 0.2, 0.2], [0.7, 0.3, 0.2, 0.8]], [2, 2], "pvp")
    found = prompt_sensitivity(table, ReportOptions(ace_bins=1, resampling=Resampling(0)))
    assert (found.templates, found.reference, found.instances, found.failed) == ((0, 2), 0, 2, 0)
    assert found.accuracy.tolist() == [1, 0.5]
    np.testing.assert_allclose(found.ace, [1 - 0.75, 0.75 - 0.5])
    assert (found.accuracy_spread, found.ace_spread) == (0.5, pytest.approx(0))
    assert found.msd.value == pytest.approx((0.2 + 0.4) / math.sqrt(2) / 2)
    assert found.fidelity.value == 0.5
    assert math.isnan(found.msd.low)
    np.testing.assert_allclose(found.correlation, [[1, -1], [-1, 1]])
    assert found.mean_correlation == pytest.approx(-1)


def test_without_template_0_the_first_paraphrase_is_the_reference() -> None:
    table = make_table([[0.3, 0.7], [0.9, 0.1], [0.2, 0.8]], [2], "vpp", first=5)
    found = prompt_sensitivity(table, QUICK)
    assert (found.templates, found.reference) == ((6, 7), 6)
    assert found.fidelity.value == 0


def random_table(n_instances: int = 90, n_templates: int = 4) -> ScoreTable:
    rng = np.random.default_rng(11)
    widths = rng.integers(2, 9, n_instances)
    offsets = np.cumsum([0, *widths])
    common = rng.normal(size=offsets[-1]) * 2
    return ScoreTable(
        scores=common + rng.normal(size=(n_templates, offsets[-1])),
        offsets=offsets,
        answer_idx=np.array([rng.integers(0, width) for width in widths]),
        relation=np.array(["P30"] * n_instances),
        instance=np.arange(n_instances),
        templates=tuple(TemplateRecord(number, "paraphrase") for number in range(n_templates)),
    )


def test_against_loops() -> None:
    table = random_table()
    found = prompt_sensitivity(table, FOUR)
    spaces = [softmax(s, axis=1) for s in np.split(table.scores, table.offsets[1:-1], axis=1)]
    base = np.array([p.max(axis=1) for p in spaces])
    right = np.array([p.argmax(axis=1) for p in spaces]) == table.answer_idx[:, None]
    errors = []
    for row in range(4):
        truth, confidence = calibration_curve(right[:, row], base[:, row], n_bins=4, strategy="quantile")
        errors.append(abs(truth - confidence).mean())
    np.testing.assert_allclose(found.accuracy, right.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(found.ace, errors, atol=1e-12)
    assert found.accuracy_spread == pytest.approx(max(right.mean(axis=0)) - min(right.mean(axis=0)), abs=1e-12)
    assert found.ace_spread == pytest.approx(max(errors) - min(errors), abs=1e-12)
    deviations = [p[:, p[0].argmax()].std(ddof=1) for p in spaces]
    assert found.msd.value == pytest.approx(np.mean(deviations), abs=1e-12)
    interval = bootstrap_mean(np.array(deviations), FOUR.resampling)
    assert (found.msd.low, found.msd.high) == pytest.approx((interval.low, interval.high), abs=1e-12)
    for a in range(4):
        for b in range(4):
            assert found.correlation[a, b] == pytest.approx(pearsonr(base[:, a], base[:, b]).statistic, abs=1e-12)
    assert found.mean_correlation == pytest.approx((found.correlation.sum() - 4) / 12)
    # 270 pairs, each a draw from the candidates that are not the answer.
    beaten = [(p[1:, [p[0].argmax()]] > np.delete(p[1:], p[0].argmax(), axis=1)).mean() for p in spaces]
    assert found.fidelity.value == pytest.approx(np.mean(beaten), abs=0.08)
    assert found.fidelity.low < found.fidelity.value < found.fidelity.high


def test_failed_instances_are_incorrect_and_have_no_deviation() -> None:
    table = make_table([[0.9, 0.1, 0.6, 0.4, 0.5, 0.5], [0.7, 0.3, 0.2, 0.8, 0.5, math.nan]], [2, 2, 2], "pp")
    found = prompt_sensitivity(table, QUICK)
    assert (found.instances, found.failed) == (3, 1)
    assert found.accuracy == pytest.approx([1, 1 / 3])
    assert found.msd.value == pytest.approx((0.2 + 0.4) / math.sqrt(2) / 2)
    assert found.fidelity.value == 0.5
    assert found.mean_correlation == pytest.approx(-1)


def undefined(found: PromptSensitivity) -> None:
    numbers = (found.accuracy_spread, found.ace_spread, found.msd.value, found.fidelity.value, found.mean_correlation)
    assert all(math.isnan(number) for number in numbers)


def test_one_paraphrase_has_no_sensitivity() -> None:
    found = prompt_sensitivity(make_table([[0.9, 0.1], [0.8, 0.2]], [2], "pv"), QUICK)
    undefined(found)
    assert (found.accuracy.tolist(), found.ace.tolist()) == ([1], [pytest.approx(0.1)])


def test_no_instances() -> None:
    found = prompt_sensitivity(make_table([[], []], [], "pp"), QUICK)
    undefined(found)
    assert np.isnan(found.accuracy).tolist() == np.isnan(found.ace).tolist() == [True, True]
    assert (found.instances, found.failed) == (0, 0)


def test_no_paraphrase_is_refused() -> None:
    with pytest.raises(UsageError, match="prompt sensitivity: the run has no paraphrase; score it with"):
        prompt_sensitivity(make_table([[0.9, 0.1]], [2], "v"), QUICK)


def test_from_a_run(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", numbers=(0, 1, 2))
    by_path, opened, table = (
        prompt_sensitivity(source, ReportOptions("mean_answer", resampling=Resampling(20)))
        for source in (path, open_run(path), open_run(path).table("mean_answer"))
    )
    assert repr(by_path) == repr(opened) == repr(table)
    assert repr(by_path) != repr(prompt_sensitivity(path, ReportOptions("sum", resampling=Resampling(20))))


def test_the_deviation_over_templates_leaves_chance_out() -> None:
    """Templates of accuracies 0.3, 0.5, 0.7 among hard and easy facts: sd 0.2; equal ones: nearly 0."""
    rng = np.random.default_rng(3)
    hardness = rng.uniform(-0.25, 0.25, 4000)
    drawn = rng.random((3, 4000)) < np.array([[0.3], [0.5], [0.7]]) + hardness
    assert template_sd(drawn) == pytest.approx(0.2, abs=0.015)
    equal = [template_sd(rng.random((5, 60)) < 0.5) for _ in range(40)]
    spreads = [np.ptp((rng.random((5, 60)) < 0.5).mean(axis=1)) for _ in range(40)]
    assert np.mean(equal) < 0.035 < 0.1 < np.mean(spreads)
    assert np.isnan(template_sd(np.ones((1, 5))))
