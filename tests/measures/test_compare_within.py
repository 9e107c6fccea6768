"""Contrasts within one run: estimators, markers, templates, and the slope on stated percentages."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from compared_runs import run_of

from calprobe.analysis import CompareOptions, Comparison, ReportOptions, compare
from calprobe.confidence import estimate
from calprobe.errors import UsageError
from calprobe.metrics import Resampling, holm, paired_differences, standard_metrics
from calprobe.runs import Manifest, TemplateRecord, open_run
from calprobe.show.tables.comparison import comparison_tables, pair_tables

SCORES = ReportOptions(ace_bins=4, resampling=Resampling(100, 3))
OPTIONS = CompareOptions(scores=SCORES)
MARKERS = ("possibly", "0", "50", "100")


def marked(manifest: Manifest) -> Manifest:
    """Templates 0 and 1 plain, then a verbal marker and three percentages."""
    kinds = ("paraphrase", "paraphrase", "verbal", "numeric", "numeric", "numeric")
    markers = (None, None, *MARKERS)
    templates = (TemplateRecord(at, *made) for at, made in enumerate(zip(kinds, markers, strict=True)))
    return replace(manifest, templates=tuple(templates))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    return run_of(tmp_path_factory.mktemp("runs") / "marked", change=marked, numbers=range(6))


@pytest.fixture(scope="module")
def found(run: str) -> Comparison:
    return compare(run, OPTIONS)


def test_estimators_and_markers_are_paired_differences(run: str, found: Comparison) -> None:
    within = found.within
    assert within is not None
    assert [(pair.first, pair.second) for pair in within.estimators] == [
        ("average_min", "margin"),
        ("average_min", "base"),
        ("margin", "base"),
    ]
    assert [(pair.first, pair.second) for pair in within.markers] == [(f"marker_{m}", "base") for m in MARKERS]
    samples = {name: (own.confidence, own.correct) for name, own in estimate(open_run(run).table()).items()}
    metrics = [metric for metric in standard_metrics(4) if metric.name in ("accuracy", "brier", "ace")]
    for pair in (*within.estimators, *within.markers):
        key = (pair.first, pair.second)
        differences = paired_differences(metrics, samples, [key], Resampling(100, 3))[key]
        assert {c.metric: c.difference for c in pair.contrasts} == differences


def test_the_slope_is_that_of_least_squares(run: str, found: Comparison) -> None:
    assert found.within is not None
    grounding = found.within.grounding
    assert grounding is not None
    assert grounding.percentages == (0, 50, 100)
    own = estimate(open_run(run).table())
    confidence = np.array([own[f"marker_{p}"].confidence for p in grounding.percentages])
    expected = scipy.stats.linregress([0, 0.5, 1], confidence.mean(axis=1)).slope
    assert grounding.slope.value == pytest.approx(expected, abs=1e-12)
    drawn = np.random.default_rng(3).integers(30, size=(100, 30))
    slopes = [scipy.stats.linregress([0, 0.5, 1], confidence[:, chosen].mean(axis=1)).slope for chosen in drawn]
    low, high = np.percentile(slopes, [2.5, 97.5])
    assert (grounding.slope.low, grounding.slope.high) == pytest.approx((low, high), abs=1e-12)


def test_every_p_value_is_corrected(found: Comparison) -> None:
    assert found.correction == "max-t"
    contrasts = list(found.contrasts)
    assert len(contrasts) == 3 * 3 + 4 * 3 + 1
    # average_min - base and average_min - margin have one accuracy, that of the same answers.
    assert [contrast.metric for contrast in contrasts if contrast.repeated] == ["accuracy"]
    assert found.tests == len(contrasts) - 1
    counted = [own for own in contrasts if not own.repeated]
    differences = [own.difference for own in counted]
    assert [own.p_holm for own in counted] == holm([own.p_value for own in differences]).tolist()
    assert all(own.p_max_t >= difference.p_value for own, difference in zip(counted, differences, strict=True))
    assert all(own.draws is None for own in contrasts)


def test_templates_are_compared_as_if_each_were_plain(run: str, tmp_path: Path) -> None:
    within = compare(run, replace(OPTIONS, templates=((0, 1), (3, 0)))).within
    assert within is not None
    assert (within.estimators, within.markers, within.grounding) == ((), (), None)
    alone = [compare_one(tmp_path, number) for number in (0, 1)]
    (pair, marked) = within.templates
    assert (pair.first, pair.second, marked.first) == ("template 0", "template 1", "template 3")
    names = [(contrast.estimator, contrast.metric) for contrast in pair.contrasts]
    assert names == [*(("base", m) for m in ("accuracy", "brier", "ace")), ("margin", "brier"), ("margin", "ace")]
    for contrast in pair.contrasts:
        key = (contrast.estimator, contrast.metric)
        assert (contrast.first, contrast.second) == (alone[0][key], alone[1][key])
    assert pair.agreement is not None
    assert 0 < pair.agreement.mcnemar_p <= 1


def compare_one(folder: Path, number: int) -> dict:
    """The estimates of a run with this template alone."""
    path = run_of(folder / f"only{number}", numbers=(number,))
    within = compare(path, replace(OPTIONS, estimators=("base", "margin"))).within
    assert within is not None
    (pair,) = within.estimators
    sides = {("base", c.metric): c.first for c in pair.contrasts}
    return sides | {("margin", c.metric): c.second for c in pair.contrasts}


def test_pairs_and_baselines_name_estimators(run: str) -> None:
    named = compare(run, replace(OPTIONS, pairs=(("margin", "entropy"),))).within
    assert named is not None
    assert [(pair.first, pair.second) for pair in named.estimators] == [("margin", "entropy")]
    assert named.markers == ()
    based = compare(run, replace(OPTIONS, baseline="base", estimators=("margin", "mixture"))).within
    assert based is not None
    assert [(pair.first, pair.second) for pair in based.estimators] == [("margin", "base"), ("mixture", "base")]
    with pytest.raises(UsageError, match="name two --estimator or more"):
        compare(run, replace(OPTIONS, estimators=("margin",)))
    with pytest.raises(UsageError, match=r"--templates compares estimators of one template: base, margin, .*; not mix"):
        compare(run, replace(OPTIONS, templates=((0, 1),), estimators=("mixture",)))


def test_what_gives_no_answer_is_counted(run: str) -> None:
    failed = estimate(open_run(run).table())["average_vote_2"].failed
    assert failed.any()
    found = compare(run, replace(OPTIONS, pairs=(("average_vote_2", "base"),)))
    assert found.within is not None
    assert found.within.failed == {"average_vote_2": int(failed.sum())}
    (table,) = pair_tables(found)
    assert table.lead[0].startswith(f"No answer from average_vote_2 on {int(failed.sum())} instances: they count as")
    two = compare({"x": run, "y": Path(run)}, replace(OPTIONS, estimators=("average_vote_2", "base")))
    assert two.pairs[0].everything.failed == {"average_vote_2": (int(failed.sum()),) * 2}


def test_a_margin_asks_for_equivalence(run: str) -> None:
    found = compare(run, replace(OPTIONS, margin=1.0, pairs=(("margin", "base"),), metrics=("brier", "auroc")))
    assert found.within is not None
    (pair,) = found.within.estimators
    tests = [contrast.equivalence for contrast in pair.contrasts]
    # No difference is larger than 1, and an order of few right answers is not tested.
    assert [test.p_value for test in tests if test] == pytest.approx([1 / 101, float("nan")], nan_ok=True)
    assert [test.p_holm for test in tests if test] == pytest.approx([1 / 101, float("nan")], nan_ok=True)
    (table,) = pair_tables(found)
    assert [column.title for column in table.columns][3:] == ["p ±1", "p", "max-T p"]
    assert table.rows[0].cells[3] == 1 / 101


def test_tables_and_json(found: Comparison, run: str) -> None:
    (table,) = pair_tables(found)
    assert comparison_tables(found) == (table,)
    assert table.rows[0].group == "A average_min, B margin"
    assert [row.label for row in table.rows[:3]] == ["accuracy", "Brier", "ACE"]
    assert (table.rows[-1].label, table.rows[-1].cells[:2]) == ("slope", (None, None))
    content = found.to_json()
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    within = content["within"]
    assert (content["pairs"], within["run"], within["unit"], within["templates"]) == ([], run, "instance", [])
    assert list(within["estimators"][0]["metrics"]) == ["accuracy", "brier", "ace"]
    assert within["grounding"]["percentages"] == [0, 50, 100]
    assert set(within["grounding"]["slope"]) == {"value", "ci95", "p", "p_holm", "p_max_t"}
    bare = compare(run, replace(OPTIONS, scores=replace(SCORES, resampling=Resampling(0))))
    assert bare.tests == 0
    assert all(math.isnan(own.p_holm) for own in bare.contrasts)


def test_a_pair_of_templates_is_given_once(run: str) -> None:
    with pytest.raises(UsageError, match="paired twice"):
        compare(run, CompareOptions(scores=SCORES, templates=((0, 1), (1, 0))))
