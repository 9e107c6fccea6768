"""Means over runs by kind and family, the table of models, and what each estimator has cost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from compared_runs import NUMBERS, SHAPES, run_of, with_model

from calprobe.analysis import Report, ReportOptions, averages, compare_reductions, reduction_averages, report
from calprobe.metrics import Resampling
from calprobe.runs import PieceScores, RunFolder, open_scores
from calprobe.runs.manifest_records import ModelSize
from calprobe.show.tables import tidy_csv
from calprobe.studies.scored.reductions_table import reductions_tables
from calprobe.studies.scored.report_tables import report_tables

QUICK = ReportOptions(resampling=Resampling(0), ace_bins=4)
MODELS = {"opt-125m": "causal", "opt-350m": "causal", "gpt2": "causal", "bert-base": "masked", "roberta-base": "masked"}


def counted(piece: PieceScores) -> PieceScores:
    """With token counts that say which template they are of."""
    return replace(piece, n_tokens=np.full(len(piece.sum), 10 + piece.template, np.int32))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("models")
    size = ModelSize(331_000_000, "weights", None)
    return [
        run_of(folder / name, seed, with_model(name=name, kind=kind, size=size if seed else None), edit=counted)
        for seed, (name, kind) in enumerate(MODELS.items())
    ]


@pytest.fixture(scope="module")
def found(runs: list[str]) -> Report:
    return report(runs, QUICK)


def test_means_over_all_runs_over_kinds_and_over_families(found: Report) -> None:
    own = {(mean.group, mean.name): mean for mean in averages(found)}
    assert list(own) == [("all", "all"), ("kind", "causal"), ("kind", "masked"), ("family", "opt")]
    places = {"all": range(5), "causal": range(3), "masked": (3, 4), "opt": (0, 1)}
    for (_, name), mean in own.items():
        members = [found.runs[place] for place in places[name]]
        assert mean.runs == tuple(run.label for run in members)
        accuracies = [run.accuracy.value for run in members if run.accuracy is not None]
        assert mean.numbers["accuracy"] == pytest.approx(np.mean(accuracies))
        aces = [e.metrics["ace"].value for run in members for e in run.estimators if e.name == "average_min"]
        assert mean.estimators["average_min"]["ace"] == pytest.approx(np.mean(aces))


def test_no_means_of_two_runs_or_of_runs_with_other_questions(found: Report, tmp_path: Path) -> None:
    assert averages(replace(found, runs=found.runs[:2])) == ()
    other = report([*(run.label for run in found.runs[:2]), run_of(tmp_path / "other", shapes=SHAPES[:2])], QUICK)
    assert averages(other) == ()


def test_tables_of_models_and_means(found: Report) -> None:
    summary, models, means, *_ = report_tables(found)
    assert [table.kind for table in (summary, models, means)] == ["summary", "models", "averages"]
    assert models.rows[1].cells[:4] == ("opt-350m", "causal", "opt", 331_000_000)
    assert models.rows[0].cells[3] is None
    assert [row.label for row in means.rows] == ["all (5 runs)", "causal (3 runs)", "masked (2 runs)", "opt (2 runs)"]
    assert "averages" not in [table.kind for table in report_tables(replace(found, runs=found.runs[:2]))]
    (line,) = [
        line for line in tidy_csv([means]).splitlines() if line.startswith("kind,masked,2,ace,base,")
    ]  # group, mean_over, runs, metric, estimator
    assert float(line.split(",")[5]) == pytest.approx(averages(found)[2].estimators["base"]["ace"])


def test_means_of_reductions(runs: list[str]) -> None:
    compared = compare_reductions(runs, QUICK)
    masked = next(mean for mean in reduction_averages(compared) if mean.name == "masked")
    own = [numbers for run in compared.runs[3:] for numbers in run.reductions if numbers.reduction == "mean"]
    assert masked.estimators["mean"]["harmonic_mean"] == pytest.approx(np.mean([n.harmonic_mean for n in own]))
    assert masked.estimators["mean"]["ace"] == pytest.approx(np.mean([n.ace.value for n in own]))
    last = reductions_tables(compared)[-1]
    assert [row.group for row in last.rows[::4]] == [
        *("mean over all (5 runs)", "mean over causal (3 runs)", "mean over masked (2 runs)", "mean over opt (2 runs)")
    ]


def test_each_estimator_says_what_its_templates_have_cost(found: Report, runs: list[str]) -> None:
    statements = len(open_scores(runs[0]).table().scores[0])
    cost = found.runs[0].to_json()["estimator_cost"]
    assert cost["base"] == {"statements": statements, "tokens": 10 * statements}
    every = sum(10 + number for number in NUMBERS)
    assert cost["average_min"] == {"statements": 3 * statements, "tokens": every * statements}
    said = f"scored tokens: {10 * statements:,} for template 0, {every * statements:,} for 3 paraphrases"
    assert said in report_tables(replace(found, runs=found.runs[:1]))[0].heading


def test_an_import_does_not_know_its_cost(tmp_path: Path) -> None:
    bare = run_of(tmp_path / "bare", edit=lambda piece: replace(piece, n_tokens=None, n_answer=None))
    (run,) = report(bare, QUICK).runs
    assert set(run.to_json()["estimator_cost"].values()) == {None}
    opened = open_scores(bare)
    whole = RunFolder.write_whole(tmp_path / "whole", opened.manifest, opened.pieces)  # as every import does
    assert whole.progress().statements
    (imported,) = report(whole.path, QUICK).runs
    assert set(imported.to_json()["cost"].values()) == {None}
