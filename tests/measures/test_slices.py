"""Slices of a run: each has the numbers of a run of its relations alone, and those of a plain group-by."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from compared_runs import DOMAINS, SHAPES, run_of
from printed_tables import printed
from run_samples import write_run

from calprobe.analysis import ReportOptions, RunReport, RunSlices, Slice, SliceOptions, report
from calprobe.confidence import confidences
from calprobe.errors import UsageError
from calprobe.measures.covariates import natural_order
from calprobe.measures.slices import METRICS
from calprobe.metrics import Resampling, bins_for
from calprobe.runs import Manifest, open_run
from calprobe.studies.scored.report_tables import report_sections
from calprobe.words import SliceKind

CARDINALITY = {"P30": "N:1", "P36": "1:1", "P1376": "1:1"}
QUICK = Resampling(8)


def some_1_to_1(manifest: Manifest) -> Manifest:
    relations = [replace(record, cardinality=CARDINALITY[record.name]) for record in manifest.relations]
    return replace(manifest, relations=tuple(relations))


def without_domain(manifest: Manifest) -> Manifest:
    changed = [replace(r, domains=() if r.name == "P30" else r.domains) for r in manifest.relations]
    return replace(manifest, relations=tuple(changed))


@pytest.fixture(scope="module")
def run_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    return run_of(tmp_path_factory.mktemp("runs") / "complete", change=some_1_to_1)


def sliced(path: str | Path, by: SliceKind, *estimators: str, **options: object) -> RunSlices:
    asked = SliceOptions(by, estimators or None)
    (run,) = report(path, ReportOptions(slices=asked, resampling=QUICK, **options)).runs  # type: ignore[arg-type]
    assert run.slices is not None
    return run.slices


def by_name(found: RunSlices) -> dict[str, Slice]:
    return {part.name: part for part in found.slices}


def ace(rows: pd.DataFrame, n_bins: int = 20) -> float:
    edges = np.percentile(rows["confidence"], np.linspace(0, 100, n_bins + 1))
    bins = np.searchsorted(edges[1:-1], rows["confidence"])
    means = rows.groupby(bins)[["confidence", "correct"]].mean()
    return float((means["confidence"] - means["correct"]).abs().mean())


MEMBERS: dict[SliceKind, dict[str, list[str]]] = {
    "relation": {"P30": ["P30"], "P36": ["P36"], "P1376": ["P1376"]},
    "domain": {"Arts": ["P30", "P36"], "Politics": ["P36", "P1376"]},
    "cardinality": {"1:1": ["P36", "P1376"], "N:1": ["P30"]},
}


@pytest.mark.parametrize("by", MEMBERS)
def test_slices_are_those_of_a_group_by(run_path: str, by: SliceKind) -> None:
    rows = confidences(open_run(run_path)).astype({"correct": float})
    widths = {name: k for name, _, k in SHAPES}
    found = sliced(run_path, by)
    assert found.estimators == ("base", "margin", "average_min")
    assert [(part.name, list(part.relations)) for part in found.slices] == list(MEMBERS[by].items())
    for part in found.slices:
        own = rows[rows["relation"].isin(MEMBERS[by][part.name])]
        base = own[own["estimator"] == "base"]
        k = base["relation"].map(widths)
        assert part.instances == len(base)
        assert part.mean_candidates == pytest.approx(k.mean(), abs=1e-12)
        assert part.chance_accuracy == pytest.approx((1 / k).mean(), abs=1e-12)
        assert part.accuracy is not None
        assert part.accuracy.value == pytest.approx(base["correct"].mean(), abs=1e-12)
        for name, metrics in part.estimators.items():
            mine = own[own["estimator"] == name]
            brier = ((mine["confidence"] - mine["correct"]) ** 2).mean()
            expected = {"accuracy": mine["correct"].mean(), "ace": ace(mine, bins_for(len(mine))), "brier": brier}
            values = {metric: metrics[metric].value for metric in expected}
            assert values == pytest.approx(expected, abs=1e-12)
            assert set(metrics) == {*METRICS, "smooth_ece"}


@pytest.mark.usefixtures("two_clusters_enough")
@pytest.mark.parametrize("cluster", [None, "relation", "within-relation"])
def test_a_slice_has_the_numbers_and_intervals_of_a_run_limited_to_it(
    tmp_path: Path, run_path: str, cluster: str | None
) -> None:
    limited = run_of(tmp_path / "limited", shapes=[shape for shape in SHAPES if "Politics" in DOMAINS[shape[0]]])
    options = ReportOptions(ace_bins=None, resampling=QUICK, cluster=cluster)  # type: ignore[arg-type]
    (alone,) = report(limited, options).runs
    part = by_name(sliced(run_path, "domain", cluster=cluster))["Politics"]
    assert part.accuracy == alone.accuracy
    assert part.bear_score == alone.bear_score
    assert (part.instances, part.chance_accuracy) == (alone.facts.instances, alone.facts.chance_accuracy)
    complete = {estimator.name: estimator.metrics for estimator in alone.estimators}
    for name, metrics in part.estimators.items():
        assert {metric: metrics[metric] for metric in METRICS} == {metric: complete[name][metric] for metric in METRICS}
        assert metrics["smooth_ece"].value == complete[name]["smooth_ece"].value


def test_bins_asked_for_hold_in_slices_too(run_path: str) -> None:
    found = by_name(sliced(run_path, "relation", slice_bins=20))["P30"]
    rows = confidences(open_run(run_path)).astype({"correct": float})
    own = rows[(rows["relation"] == "P30") & (rows["estimator"] == "base")]
    assert found.estimators["base"]["ace"].value == pytest.approx(ace(own), abs=1e-12)


def test_one_relation_drawn_completely_has_no_interval(run_path: str) -> None:
    found = by_name(sliced(run_path, "relation", cluster="relation"))["P30"]
    assert found.accuracy is not None
    assert np.isnan(found.accuracy.low)
    assert not np.isnan(found.accuracy.value)


def test_relations_without_a_domain_are_the_last_slice(tmp_path: Path) -> None:
    found = sliced(run_of(tmp_path / "run", change=without_domain), "domain")
    assert [(part.name, part.relations) for part in found.slices] == [
        ("Arts", ("P36",)),
        ("Politics", ("P36", "P1376")),
        ("no domain", ("P30",)),
    ]


def test_every_number_of_one_instance_is_defined(tmp_path: Path) -> None:
    path = run_of(tmp_path / "run", shapes=[("P30", 1, 3), ("P36", 10, 4)])
    part = by_name(sliced(path, "relation"))["P30"]
    row = confidences(open_run(path)).query("relation == 'P30' and estimator == 'base'").iloc[0]
    gap = abs(row["confidence"] - row["correct"])
    assert part.estimators["base"]["ace"].value == pytest.approx(gap, abs=1e-12)  # one bin filled, nineteen empty
    assert part.estimators["base"]["brier"].value == pytest.approx(gap**2, abs=1e-12)


def test_estimators_are_those_asked_for(run_path: str) -> None:
    found = sliced(run_path, "relation", "entropy", "base", "entropy")
    assert found.estimators == ("entropy", "base")
    assert all(list(part.estimators) == ["entropy", "base"] for part in found.slices)
    assert found.slices[0].accuracy == by_name(sliced(run_path, "relation"))["P30"].accuracy
    with pytest.raises(UsageError, match=r"has no estimator marker_25, best .*; give some of base, margin"):
        sliced(run_path, "relation", "base", "marker_25", "best")


def test_one_template_has_neither_bear_score_nor_average(tmp_path: Path) -> None:
    found = sliced(write_run(tmp_path / "run", SHAPES, [0]), "cardinality")
    assert found.estimators == ("base", "margin")
    assert [part.bear_score for part in found.slices] == [None]


def test_json_has_slices_only_if_asked(run_path: str) -> None:
    (plain,) = report(run_path, ReportOptions(resampling=QUICK)).runs
    (run,) = report(run_path, ReportOptions(resampling=QUICK, slices=SliceOptions("domain", ("margin",)))).runs
    assert "slices" not in plain.to_json()
    written = run.to_json()
    arts = written.pop("slices")["domain"]["Arts"]
    assert list(written.pop("slice_gaps")["margin"]["slices"]) == list(run.to_json()["slices"]["domain"])
    assert written == plain.to_json()
    assert arts["relations"] == ["P30", "P36"]
    assert arts["instances"] == 22
    assert list(arts["estimators"]) == ["margin"]
    assert set(arts["estimators"]["margin"]["ace"]) == {"value", "ci95"}


def drawn(path: str, width: int, options: ReportOptions) -> str:
    return printed(report_sections(report(path, options)), width)


def test_the_table_shows_what_fits(run_path: str) -> None:
    options = ReportOptions(slices=SliceOptions("relation"), resampling=QUICK)
    narrow, wide = drawn(run_path, 80, options), drawn(run_path, 160, options)
    (run,) = report(run_path, options).runs
    assert isinstance(run, RunReport)
    assert run.slices is not None
    for part in run.slices.slices:
        line = next(line for line in wide.splitlines() if line.startswith(f"{part.name} "))
        estimates = [
            own[name].value for own in part.estimators.values() for name in ("ace", "ace_if_calibrated", "brier")
        ]
        assert part.accuracy is not None
        assert line.split()[1:] == [f"{v:.4f}" for v in (part.accuracy.value, part.chance_accuracy, *estimates)]
    assert "\n12, K 3 " in wide
    assert "average_min." in " ".join(narrow.split())
    assert max(map(len, narrow.splitlines()[1:])) <= 80


def test_natural_order() -> None:
    assert sorted(["b", "P100", "P9", "a2", "a10", "P36", "a", "P9a"], key=natural_order) == [
        *("P9", "P9a", "P36", "P100", "a", "a2", "a10", "b"),
    ]
