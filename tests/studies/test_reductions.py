"""Reductions side by side: by hand, against `report` one at a time, the paper's figures, and what an import lacks."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from printed_tables import printed
from run_samples import make_manifest, make_piece, write_run

from calprobe.analysis import ReductionNumbers, ReportOptions, compare_reductions, report
from calprobe.errors import CalprobeError, UsageError
from calprobe.interop.lm_pub_quiz_import import import_lm_pub_quiz
from calprobe.metrics import Estimate, Resampling
from calprobe.runs import PieceScores, RunFolder, open_run
from calprobe.studies.scored.reductions import REDUCTIONS, harmonic_mean
from calprobe.studies.scored.reductions_table import reductions_tables

QUICK = ReportOptions(resampling=Resampling(6))
SHAPE = ("P30", 4, 3)


@pytest.fixture(scope="module")
def run_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("runs") / "complete")


def imported(path: Path, template: int = 0, kind: str = "paraphrase", **columns: None) -> Path:
    """A run of one relation with pieces that lack some columns."""
    manifest = make_manifest([SHAPE], [template])
    templates = tuple(replace(record, kind=kind) for record in manifest.templates)
    piece: PieceScores = replace(make_piece(SHAPE, template), tokens=None, **columns)
    RunFolder.open(path, replace(manifest, templates=templates)).write_piece(piece)
    return path


@pytest.mark.parametrize(
    ("accuracy", "ace", "expected"),
    [(0.4, 0.2, 0.64 / 1.2), (1.0, 0.0, 1.0), (0.0, 0.3, 0.0), (0.7, 1.0, 0.0), (0.0, 1.0, 0.0)],
)
def test_harmonic_mean_by_hand(accuracy: float, ace: float, expected: float) -> None:
    assert harmonic_mean(accuracy, ace) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize(("accuracy", "ace"), [(math.nan, 0.2), (0.5, math.nan), (math.nan, math.nan)])
def test_harmonic_mean_of_what_is_undefined(accuracy: float, ace: float) -> None:
    assert math.isnan(harmonic_mean(accuracy, ace))


@pytest.mark.parametrize(("compat", "cluster"), [(None, None), ("kissling2026", None), (None, "relation")])
def test_numbers_are_those_of_one_report_each(run_path: Path, compat: str | None, cluster: str | None) -> None:
    options = replace(QUICK, compat=compat, ace_bins=3, cluster=cluster)
    (found,) = compare_reductions(run_path, options).runs
    assert (found.facts.instances, found.template, found.unknown) == (9, 0, ())
    assert tuple(numbers.reduction for numbers in found.reductions) == REDUCTIONS
    for numbers in found.reductions:
        (one,) = report(run_path, replace(options, reduction=numbers.reduction)).runs
        base = one.estimators[0].metrics
        assert (numbers.accuracy, numbers.ace) == (base["accuracy"], base["ace"])
        assert numbers.harmonic_mean == harmonic_mean(base["accuracy"].value, base["ace"].value)
    assert len({numbers.ace.value for numbers in found.reductions}) == 4


def test_the_paper_chose_the_best(shared: Path) -> None:
    # Appendix B: full-sequence summation has the highest harmonic mean, averaged over causal and over masked models.
    lines = (shared / "paper" / "reduction_strategies.json").read_text("utf-8").splitlines()
    means: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for entry in map(json.loads, lines):
        found = harmonic_mean(entry["accuracy"], entry["ace"])
        means[entry["model_type"]][entry["reduction"]].append(found)
    assert {kind: sum(map(len, by.values())) for kind, by in means.items()} == {"CLM": 40, "MLM": 24}
    for by_reduction in means.values():
        assert max(by_reduction, key=lambda name: np.mean(by_reduction[name])) == "pll_scores_sum"


def numbers_of(reduction: str, accuracy: float, ace: float = 0.5) -> ReductionNumbers:
    return ReductionNumbers(reduction, Estimate(accuracy), Estimate(ace))


def test_the_best_is_the_highest_harmonic_mean(run_path: Path) -> None:
    (run,) = compare_reductions(run_path, QUICK).runs
    a, b, c = (numbers_of(*pair) for pair in (("sum", math.nan), ("mean", 0.3), ("sum_answer", 0.3)))
    assert replace(run, reductions=(a, b, c)).best == "mean"
    assert replace(run, reductions=(a,)).best is None
    assert replace(run, reductions=()).best is None


def test_an_import_leaves_out_what_it_does_not_know(tmp_path: Path) -> None:
    path = imported(tmp_path / "run", mean=None, mean_answer=None, n_tokens=None, n_answer=None)
    found = compare_reductions(path, QUICK)
    (run,) = found.runs
    assert [numbers.reduction for numbers in run.reductions] == ["sum", "sum_answer"]
    assert run.unknown == ("mean", "mean_answer")
    with pytest.raises(CalprobeError, match="an import that lacks what --compat kissling2026 needs; leave that out"):
        compare_reductions(path, replace(QUICK, compat="kissling2026"))


def test_compat_can_know_more_than_the_columns(tmp_path: Path) -> None:
    path = imported(tmp_path / "run", mean=None)  # sum, counts and first token give the mean without the first
    assert open_run(path).reductions() == ("sum", "sum_answer", "mean_answer")
    assert open_run(path).reductions("kissling2026") == REDUCTIONS
    with pytest.raises(ValueError, match="compat must be None or 'kissling2026', got 'paper'"):
        open_run(path).reductions("paper")


def test_published_scores_know_their_sum(shared: Path, tmp_path: Path) -> None:
    import_lm_pub_quiz(shared / "lm_pub_quiz_gpt2", tmp_path / "gpt2")
    (run,) = compare_reductions(tmp_path / "gpt2", QUICK).runs
    assert [numbers.reduction for numbers in run.reductions] == ["sum"]
    assert run.unknown == REDUCTIONS[1:]


def test_a_run_of_markers_has_no_numbers(tmp_path: Path) -> None:
    found = compare_reductions(imported(tmp_path / "run", template=5, kind="verbal"), QUICK)
    (run,) = found.runs
    assert (run.template, run.reductions, run.unknown, run.best) == (None, (), (), None)


def test_without_instances_all_is_undefined(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run")
    for shard in (path / "shards").iterdir():
        shard.unlink()
    (content,) = compare_reductions(path, QUICK).to_json().values()
    assert content["best"] is None
    assert content["reductions"]["mean"]["harmonic_mean"] == {"value": None, "ci95": None}


def test_json(run_path: Path) -> None:
    found = compare_reductions([run_path], QUICK)
    ((label, content),) = found.to_json().items()
    assert label == str(run_path)
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    one = report(run_path, QUICK).to_json()[label]
    shared_keys = ["model", "kind", "probe", "instances", "partial", "limited", "same_tokens", "candidates", "cost"]
    assert {key: content[key] for key in shared_keys} == {key: one[key] for key in shared_keys}
    assert list(content) == [*shared_keys, "reductions", "best", "unknown"]
    assert list(content["reductions"]) == list(REDUCTIONS)
    assert content["reductions"]["sum"]["ace"] == one["estimators"]["base"]["ace"]
    assert content["reductions"]["sum"]["harmonic_mean"]["ci95"] is None
    assert content["unknown"] == []


def test_table(run_path: Path) -> None:
    found = compare_reductions(run_path, QUICK)
    first = ReductionNumbers("sum", Estimate(0.5, 0.4, 0.6), Estimate(0.25, 0.1, 0.3))
    second = replace(first, reduction="mean", ace=Estimate(0.5))
    tables = reductions_tables(replace(found, runs=(replace(found.runs[0], reductions=(first, second)),)))
    lines = printed(tables).splitlines()
    head = lines.index("reduction  accuracy       ACE harmonic mean")
    assert lines[head - 2 : head + 5] == [
        "Base: template 0.",
        "",
        lines[head],
        "sum          0.5000   *0.2500       *0.6000",
        "          .400-.600 .100-.300",
        "mean         0.5000    0.5000        0.5000",
        "          .400-.600",
    ]
    assert any("reduction all" in line for line in lines)


def test_runs_are_named_each_once(run_path: Path) -> None:
    with pytest.raises(UsageError, match="name one run or more, each once"):
        compare_reductions([run_path, run_path])
