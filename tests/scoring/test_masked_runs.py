"""A run with a tiny random masked model from start to end: the same surface as a causal one's."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from one_masked_row import METRICS, one_row_at_a_time
from scored_samples import PROBE
from tiny_models import save_tiny_masked_model, save_tiny_model
from tolerances import TINY_SCORE, TINY_SUM

from calprobe.cli import main
from calprobe.errors import CalprobeError, UsageError
from calprobe.models import LoadedModel, LoadOptions, load_model
from calprobe.runs import RunFolder, open_run
from calprobe.scoring import Interrupted, ScoreOptions, score
from calprobe.statements import fill
from calprobe.words import PllMetric


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_masked_model(tmp_path_factory.mktemp("model") / "tiny")


@pytest.fixture(scope="module")
def model(folder: Path) -> LoadedModel:
    return load_model(str(folder))


@pytest.mark.parametrize("metric", METRICS)
def test_scores_are_sums_of_pseudo_log_likelihoods(model: LoadedModel, tmp_path: Path, metric: PllMetric) -> None:
    options = ScoreOptions(templates="1", relations=("capital",), first=1, pll_metric=metric)
    [piece] = score(model, PROBE, tmp_path / "run", options).pieces
    for row, answer in enumerate(PROBE.relations[0].candidates):
        tokens = one_row_at_a_time(model, fill("[Y] is the capital of [X].", "France", answer), metric)
        assert piece.sum is not None and piece.mean is not None and piece.sum_answer is not None  # noqa: PT018
        assert piece.sum[row] == pytest.approx(sum(tokens), abs=TINY_SUM)
        assert piece.mean[row] == pytest.approx(np.mean(tokens), abs=TINY_SCORE)
        assert piece.sum_answer[row] == pytest.approx(sum(tokens[: len(answer)]), abs=TINY_SUM)  # a token a letter


def test_the_manifest_says_what_was_masked(model: LoadedModel, tmp_path: Path) -> None:
    run = score(model, PROBE, tmp_path / "run", ScoreOptions(first=1))
    manifest, settings = run.manifest, run.manifest.settings
    assert (manifest.model.kind, manifest.model.architecture, settings.path) == ("masked", "BertForMaskedLM", "masked")
    assert (settings.pll_metric, settings.word_split) == ("within_word_l2r", "tokenizer")
    assert run.progress.tokens == sum(int(piece.n_tokens.sum()) for piece in run.pieces)  # type: ignore[union-attr]


def test_words_of_the_text_are_others_than_the_tokenizers(model: LoadedModel, tmp_path: Path) -> None:
    relation = replace(PROBE.relations[0], candidates=("d'Or", "Rome", "Oslo"))
    probe = replace(PROBE, relations=(relation,))
    by = {
        split: score(model, probe, tmp_path / split, ScoreOptions(first=1, word_split=split)).table().scores[0]
        for split in ("tokenizer", "unicode")
    }
    assert by["tokenizer"][0] != by["unicode"][0]  # d ' Or, and d'Or
    np.testing.assert_array_equal(by["tokenizer"][1:], by["unicode"][1:])


def test_an_interrupted_run_goes_on(model: LoadedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ScoreOptions(templates="0,1", first=2, pll_metric="original")
    complete = score(model, PROBE, tmp_path / "complete", options).table()
    write, written = RunFolder.write_piece, []

    def stop_after_one(self: RunFolder, piece: object) -> None:
        if written:
            raise KeyboardInterrupt
        written.append(piece)
        write(self, piece)  # type: ignore[arg-type]

    monkeypatch.setattr(RunFolder, "write_piece", stop_after_one)
    with pytest.raises(Interrupted, match="3 of 4 pieces are left"):
        score(model, PROBE, tmp_path / "run", options)
    monkeypatch.undo()
    np.testing.assert_array_equal(score(model, PROBE, tmp_path / "run", options).table().scores, complete.scores)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"pll_metric": "original"}, "pll metric: the run has within_word_l2r, requested original"),
        ({"word_split": "unicode"}, "word split: the run has tokenizer, requested unicode"),
    ],
)
def test_other_masking_in_the_same_folder_is_refused_before_loading(
    model: LoadedModel, tmp_path: Path, change: dict[str, str], named: str
) -> None:
    score(model, PROBE, tmp_path / "run", ScoreOptions(first=1))
    with pytest.raises(UsageError, match=named):
        score("no-such-model", PROBE, tmp_path / "run", ScoreOptions(first=1, **change))  # type: ignore[arg-type]


def test_a_model_of_the_other_kind_does_not_go_on_with_a_run(
    model: LoadedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    score(model, PROBE, tmp_path / "run", ScoreOptions(first=1))
    causal = str(save_tiny_model(tmp_path / "causal"))
    forbid_weights(monkeypatch)
    with pytest.raises(UsageError, match=r"the run has .*tiny .*, requested .*causal"):
        score(causal, PROBE, tmp_path / "run", ScoreOptions(first=1))


def forbid_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("weights were read")

    monkeypatch.setattr("calprobe.models.load.load_network", fail)


@pytest.mark.parametrize(
    ("kind", "change", "said"),
    [
        ("causal", {"pll_metric": "original"}, "--pll-metric original: .* is a causal language model"),
        ("causal", {"word_split": "unicode"}, "--word-split unicode: .* is a causal language model"),
        ("causal", {"path": "masked"}, "--path masked: .*; its paths are flat, tree, padded, plain"),
        ("masked", {"path": "tree"}, "--path tree: .* is a masked language model; its paths are masked, plain"),
        ("masked", {"path": "padded"}, "--path padded: .* is a masked language model"),
    ],
)
def test_options_of_the_other_kind_are_refused_before_weights_are_read(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, change: dict[str, str], said: str
) -> None:
    source = folder if kind == "masked" else save_tiny_model(tmp_path / "causal")
    loaded = load_model(str(source))
    forbid_weights(monkeypatch)
    for model in (str(source), loaded):
        with pytest.raises(UsageError, match=said):
            score(model, PROBE, tmp_path / "run", ScoreOptions(**change))  # type: ignore[arg-type]
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("option", ["pll_metric", "word_split", "path"])
def test_unknown_words_are_refused(option: str) -> None:
    with pytest.raises(UsageError, match=r"must be one of .*, got 'nonsense'"):
        ScoreOptions(**{option: "nonsense"})  # type: ignore[arg-type]


def test_a_head_that_is_not_in_the_checkpoint_is_refused(model: LoadedModel, tmp_path: Path) -> None:
    """As DeBERTa's are saved: the encoder, under the name of the class with the head."""
    state = {key: value for key, value in model.network.state_dict().items() if not key.startswith("cls.")}
    model.network.save_pretrained(tmp_path / "half", state_dict=state)  # type: ignore[operator]
    model.tokenizer.save_pretrained(tmp_path / "half")
    with pytest.raises(CalprobeError, match=r"its checkpoint lacks its head \(cls\.predictions.*random numbers"):
        score(str(tmp_path / "half"), PROBE, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_commands(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Score, report and export, as with a causal model; the metric and the split are in the report's first line."""

    def run_cli(*arguments: str | Path) -> str:
        main([str(argument) for argument in arguments])  # raises SystemExit where it fails
        return capsys.readouterr().out

    run = tmp_path / "run"
    score_it = ["score", "--model", folder, "--probe", "mini", "--relations", "continent", "--limit", "2", "--out", run]
    masking = ["--pll-metric", "sentence_l2r", "--word-split", "unicode"]
    run_cli(*score_it, *masking, "--templates", "0,1", "--save-tokens", "--quiet")
    first = " ".join(run_cli("report", run, "--bootstrap", "0").split())
    assert "path masked, dtype float32, PLL sentence_l2r, word split unicode" in first
    found = json.loads(run_cli("report", run, "--json", "--bootstrap", "0"))[str(run)]
    assert (found["kind"], found["instances"], found["partial"]) == ("masked", 2, False)
    for what in ("candidates", "tokens", "confidences"):
        run_cli("export", run, "--what", what, "--out", tmp_path / f"{what}.jsonl")
    tokens = [json.loads(line) for line in (tmp_path / "tokens.jsonl").read_text().splitlines()]
    assert len(tokens) == sum(int(piece.n_tokens.sum()) for piece in open_run(run).pieces)  # type: ignore[union-attr]
    assert {token["role"] for token in tokens} == {"subject", "answer", "template"}


def test_a_causal_class_of_an_encoder_is_not_scored_as_masked(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="reads a text from both sides"):
        score(str(folder), PROBE, tmp_path / "run", load_options=LoadOptions(kind="causal"))
