"""The engine: scores in memory are those of a run folder, and nothing is written."""

from __future__ import annotations

import logging
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scored_samples import PROBE, LimitedMemory
from tiny_models import save_tiny_masked_model, save_tiny_model
from tolerances import TINY_SUM

from calprobe.analysis import ReportOptions, report
from calprobe.metrics import Resampling
from calprobe.models import LoadedModel, load_model
from calprobe.runs import Run, open_run
from calprobe.scoring import ScoreOptions, find_way, score, score_in_memory, score_pieces, select

SAVED = {"causal": save_tiny_model, "masked": save_tiny_masked_model}
# A masked model has a row for each token of a statement: some rows in a batch, as there are of statements.
BATCH_TOKENS = {"causal": 64, "masked": 1024}


@pytest.fixture(scope="module", params=SAVED)
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    return load_model(str(SAVED[request.param](tmp_path_factory.mktemp("model") / "model")))


@pytest.fixture
def asked(model: LoadedModel) -> ScoreOptions:
    return ScoreOptions(templates="0,1", batch_tokens=BATCH_TOKENS[model.kind], save_tokens=True, quiet=True)


def test_scores_in_memory_are_those_of_the_folder(
    model: LoadedModel, asked: ScoreOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = score(model, PROBE, tmp_path / "run", asked)
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    run = score_in_memory(model, PROBE, asked)
    assert sorted(tmp_path.rglob("*")) == before
    assert [piece.checksum() for piece in run.pieces] == [piece.checksum() for piece in stored.pieces]
    tokens = [[run.read_tokens(piece).checksum() for piece in run.pieces] for run in (run, stored)]
    assert tokens[0] == tokens[1]
    assert (run.identity, run.partial) == (stored.identity, False)


def test_a_run_in_memory_is_reported_like_an_opened_one(
    model: LoadedModel, asked: ScoreOptions, tmp_path: Path
) -> None:
    stored = score(model, PROBE, tmp_path / "run", asked)
    options = ReportOptions(resampling=Resampling(0))
    found, expected = (report(run, options).runs[0] for run in (score_in_memory(model, PROBE, asked), stored))
    assert found.accuracy == expected.accuracy
    metrics = [[estimator.metrics for estimator in each.estimators] for each in (found, expected)]
    assert repr(metrics[0]) == repr(metrics[1])  # NaN among them


def test_pieces_come_in_order_and_progress_is_reported(model: LoadedModel, asked: ScoreOptions) -> None:
    seen = [0, 0]

    def advance(statements: int, tokens: int) -> None:
        seen[0] += statements
        seen[1] += tokens

    asked = replace(asked, batch_tokens=64)
    selection = select(PROBE, asked)
    pieces = list(score_pieces(model, selection, asked, advance=advance))
    # The groups of a masked model are single pieces here, those of a causal one all relations under a template.
    by_template = model.kind == "causal"
    expected = sorted(selection.pieces, key=lambda piece: piece.template) if by_template else list(selection.pieces)
    assert [(piece.relation, piece.template) for piece in pieces] == expected
    assert seen == [sum(p.n_statements for p in pieces), sum(int(p.column("n_tokens").sum()) for p in pieces)]


def test_shards_are_disjoint_and_complete(model: LoadedModel, asked: ScoreOptions) -> None:
    selection = select(PROBE, asked)
    way = find_way(model, selection, asked)
    parts = [
        [(p.relation, p.template) for p in score_pieces(model, selection, ScoreOptions(shard=f"{n}/2"), way)]
        for n in (1, 2)
    ]
    assert sorted(parts[0] + parts[1]) == sorted(selection.pieces)


def test_memory_that_runs_out_makes_batches_smaller(model: LoadedModel, asked: ScoreOptions, tmp_path: Path) -> None:
    selection = select(PROBE, asked)
    way = find_way(model, selection, asked)
    memory = LimitedMemory(model.network)
    memory.n_tokens = BATCH_TOKENS[model.kind] * 5 // 8
    try:
        pieces = list(score_pieces(model, selection, asked, way))
    finally:
        memory.hook.remove()
    expected = score(model, PROBE, tmp_path / "run", asked)
    for piece, stored in zip(sorted(pieces, key=lambda p: (p.relation, p.template)), expected.pieces, strict=True):
        assert piece.column("sum") == pytest.approx(stored.column("sum"), abs=TINY_SUM)
    assert open_run(tmp_path / "run").manifest.settings.batch_tokens == BATCH_TOKENS[model.kind]


@pytest.mark.parametrize("in_memory", [True, False])
def test_scores_that_are_nan_are_warned_of_once_and_counted(
    in_memory: bool,
    model: LoadedModel,
    asked: ScoreOptions,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    embeddings: Any = model.network.get_input_embeddings()  # type: ignore[operator]
    word = model.tokenizer(" Norway", add_special_tokens=False)["input_ids"][0]
    right = embeddings.weight[word].clone()

    def check_first(*given: Any) -> Any:
        way = find_way(*given)
        with torch.no_grad():
            embeddings.weight[word] = torch.nan
        return way

    monkeypatch.setattr(import_module("calprobe.scoring.score"), "find_way", check_first)
    asked = replace(asked, relations=("capital",))
    try:
        with caplog.at_level(logging.WARNING):
            run: Run = score_in_memory(model, PROBE, asked) if in_memory else score(model, PROBE, tmp_path / "a", asked)
    finally:
        with torch.no_grad():
            embeddings.weight[word] = right
    of_pieces = [np.isnan(piece.sum).sum() for piece in run.pieces if piece.sum is not None]
    first, last = caplog.messages
    assert len(of_pieces) == 2
    assert min(of_pieces) >= 3
    assert "capital, template 0: " in first
    assert f"in float32 gives NaN for {of_pieces[0]} of 9 statements" in first
    assert first.splitlines()[1] == "weights may be damaged: copy or download them again"
    assert last == f"NaN for {sum(of_pieces)} of 18 statements that this process scored"
    found = report(run, ReportOptions(resampling=Resampling(0))).runs[0].estimators[0]
    assert found.metrics["accuracy"].value < 1
