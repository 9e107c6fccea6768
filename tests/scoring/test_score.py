"""A run from start to end with a tiny random model: what is scored, and what survives stops and changes of mind."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scored_samples import PROBE
from tiny_models import save_tiny_model
from tolerances import TINY_SCORE, TINY_SUM

from calprobe.errors import CalprobeError, UsageError
from calprobe.models import LoadedModel, LoadOptions, load_model
from calprobe.probes.relation_sample import sampled_instances
from calprobe.runs import RunFolder, open_run
from calprobe.runs.manifest_file import read_manifest, write_manifest
from calprobe.scoring import Interrupted, ScoreOptions, default_out, score


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_model(tmp_path_factory.mktemp("model") / "tiny")


@pytest.fixture(scope="module")
def model(folder: Path) -> LoadedModel:
    return load_model(str(folder))


@torch.inference_mode()
def log_likelihood(model: LoadedModel, text: str) -> list[float]:
    """The definition, written out: start token, then log p of each token given all before it."""
    ids = model.tokenizer(text)["input_ids"]  # with its start token
    logprobs = model.network(torch.tensor([ids])).logits[0].log_softmax(-1)
    return [float(logprobs[place, token]) for place, token in enumerate(ids[1:])]


def test_scores_are_sums_of_token_log_probabilities(model: LoadedModel, tmp_path: Path) -> None:
    run = score(model, PROBE, tmp_path / "run", ScoreOptions(templates="0,1"))
    scores = {(p.relation, p.template): p for p in run.pieces}
    assert not run.partial
    piece = scores["capital", 1]
    for row, (instance, candidate) in enumerate((i, c) for i in range(3) for c in range(3)):
        subject, answer = PROBE.relations[0].instances[instance].subject, PROBE.relations[0].candidates[candidate]
        tokens = log_likelihood(model, f"{answer} is the capital of {subject}.")
        assert piece.sum[row] == pytest.approx(sum(tokens), abs=TINY_SUM)
        assert piece.mean[row] == pytest.approx(np.mean(tokens), abs=TINY_SCORE)
        assert piece.sum_answer[row] == pytest.approx(sum(tokens[: len(answer)]), abs=TINY_SUM)  # a token a letter
        assert piece.first[row] == pytest.approx(tokens[0], abs=TINY_SCORE)
        assert piece.first_role[row] == 2
        assert (piece.instance[row], piece.candidate[row], piece.answer_idx[row]) == (instance, candidate, instance)


def test_the_manifest_says_what_ran(model: LoadedModel, tmp_path: Path) -> None:
    run = score(model, PROBE, tmp_path / "run", ScoreOptions(limit=1, batch_tokens=64))
    manifest = run.manifest
    assert (manifest.settings.path, manifest.settings.dtype, manifest.settings.batch_tokens) == ("tree", "float32", 64)
    assert manifest.settings.batch_tokens_from == "typed"
    assert manifest.settings.start_token is not None
    assert (manifest.settings.start_token.text, manifest.settings.start_token.id) == ("<s>", 1)
    assert [relation.n_instances for relation in manifest.relations] == [1, 1]
    # The one instance that is left has an answer of its own, the relation does not.
    assert [relation.cardinality for relation in manifest.relations] == ["1:1", "N:1"]
    assert run.progress.statements == 5


def test_a_complete_run_is_not_scored_again(model: LoadedModel, tmp_path: Path) -> None:
    first = score(model, PROBE, tmp_path / "run")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "run" / "shards").iterdir()}
    again = score(model, PROBE, tmp_path / "run")
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "run" / "shards").iterdir()} == before
    assert again.progress.statements == first.progress.statements


def test_an_interrupted_run_goes_on(model: LoadedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    complete = score(model, PROBE, tmp_path / "complete", ScoreOptions(templates="0,1")).table()
    write, written = RunFolder.write_piece, []

    def stop_after_three(self: RunFolder, piece: object) -> None:
        if len(written) == 3:
            raise KeyboardInterrupt
        written.append(piece)
        write(self, piece)  # type: ignore[arg-type]

    monkeypatch.setattr(RunFolder, "write_piece", stop_after_three)
    with pytest.raises(Interrupted, match="1 of 4 pieces are left"):
        score(model, PROBE, tmp_path / "run", ScoreOptions(templates="0,1"))
    monkeypatch.undo()
    partial = open_run(tmp_path / "run")
    assert partial.partial
    assert partial.complete_relations == ("capital",)
    resumed = score(model, PROBE, tmp_path / "run", ScoreOptions(templates="0,1"))
    np.testing.assert_array_equal(resumed.table().scores, complete.scores)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"first": None, "limit": 2}, r"limit: the run has the first 2 \(--first 2\), requested a sample of 2"),
        ({"templates": "1", "relations": ("continent",)}, r"cannot become the requested run: the run has .*requested "),
        ({"batch_tokens": 33}, "the run has --batch-tokens"),
        ({"save_tokens": True}, "save tokens: the run has False, requested True"),
    ],
)
def test_another_request_in_the_same_folder_is_refused(
    model: LoadedModel, tmp_path: Path, change: dict[str, object], named: str
) -> None:
    options = ScoreOptions(templates="0", first=2, relations=("capital",))
    score(model, PROBE, tmp_path / "run", options)
    with pytest.raises(UsageError, match=named):
        score(model, PROBE, tmp_path / "run", replace(options, **change))  # type: ignore[arg-type]
    if "batch_tokens" not in change:
        started_over = score(model, PROBE, tmp_path / "run", replace(options, resume=False, **change))  # type: ignore[arg-type]
        assert not started_over.partial


def test_relations_in_another_order_and_subset(model: LoadedModel, tmp_path: Path) -> None:
    run = score(model, PROBE, tmp_path / "run", ScoreOptions(relations=("continent",)))
    assert run.complete_relations == ("continent",)
    with pytest.raises(UsageError, match="--relations: probe two has no P30; it has capital, continent"):
        score(model, PROBE, tmp_path / "other", ScoreOptions(relations=("P30",)))


@pytest.mark.parametrize("field", ["limit", "first", "batch_tokens"])
def test_numbers_below_one_are_refused(field: str) -> None:
    with pytest.raises(UsageError, match="must be at least 1, got 0"):
        ScoreOptions(**{field: 0})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"limit": True}, "--limit must be an int, got True"),
        ({"batch_tokens": 1.5}, r"--batch-tokens must be an int, got 1\.5"),
        ({"templates": [0, 1]}, r"--templates must be a text such as '0,1', got \[0, 1\]"),
        ({"seed": -1, "limit": 2}, "--seed must be at least 0, got -1"),
        ({"limit": 2, "first": 2}, "--limit takes a sample, --first the first instances"),
        ({"first": 2, "seed": 1}, "--seed is that of the sample of --limit"),
        ({"relations": "month"}, "--relations must be a tuple of names, got the text 'month'"),
    ],
)
def test_other_types_are_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        ScoreOptions(**options)


def test_default_out_keeps_organisations_apart(tmp_path: Path) -> None:
    assert default_out("google/gemma-7b", "bear") == Path("runs/google--gemma-7b-bear")
    assert default_out(str(tmp_path), "mini") == Path("runs") / f"{tmp_path.name}-mini"


def test_a_resumed_run_takes_its_path_and_threads_and_gives_the_threads_back(
    model: LoadedModel, tmp_path: Path
) -> None:
    threads = torch.get_num_threads()
    score(model, PROBE, tmp_path / "run", ScoreOptions(path="plain"))
    begun = read_manifest(tmp_path / "run")
    write_manifest(replace(begun, settings=replace(begun.settings, threads=threads + 1)), tmp_path / "run")
    seen = set()
    hook = model.network.register_forward_pre_hook(lambda network, args: seen.add(torch.get_num_threads()))
    try:
        assert score(model, PROBE, tmp_path / "run").manifest.settings.path == "plain"
        assert seen == {threads + 1}
        assert torch.get_num_threads() == threads
        with pytest.raises(UsageError, match="save tokens"):
            score(model, PROBE, tmp_path / "run", ScoreOptions(save_tokens=True))
        assert torch.get_num_threads() == threads
    finally:
        hook.remove()
        torch.set_num_threads(threads)


def test_a_resumed_run_takes_its_precision_unless_one_is_typed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def products(options: LoadOptions, *_: object) -> str:  # as on a card
        return "ieee" if options.precision == "ieee" else "tf32x3"

    monkeypatch.setattr("calprobe.models.load._products", products)
    monkeypatch.setattr("calprobe.scoring.record._precision", lambda model, path: model.precision)
    options, ieee = ScoreOptions(limit=1, batch_tokens=64), LoadOptions(precision="ieee")
    for load_options in (ieee, LoadOptions()):
        run = score(str(folder), PROBE, tmp_path / "ieee", options, load_options)
        assert run.manifest.settings.precision == "ieee"
    run = score(str(folder), PROBE, tmp_path / "fast", options)
    assert score(str(folder), PROBE, tmp_path / "fast", options).manifest.settings.precision == "tf32x3"
    with pytest.raises(UsageError, match=r"precision: the run has tf32x3, requested ieee \(--precision\)"):
        score(str(folder), PROBE, tmp_path / "fast", options, ieee)


def test_a_resumed_run_keeps_its_layers(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("calprobe.models.load.forwards_of", lambda network: ["as on a card"])
    options = ScoreOptions(limit=1, batch_tokens=64)
    for load_options in (LoadOptions(fused=False), LoadOptions()):
        assert score(str(folder), PROBE, tmp_path / "own", options, load_options).manifest.settings.layers is None
    fused = score(str(folder), PROBE, tmp_path / "fused", options)
    assert fused.manifest.settings.layers == "fused"
    assert score(str(folder), PROBE, tmp_path / "fused", options).manifest.settings.layers == "fused"
    plain = score(str(folder), PROBE, tmp_path / "plain", replace(options, path="plain"))
    assert plain.manifest.settings.layers is None  # the model's own forward
    monkeypatch.setattr("calprobe.models.load.forwards_of", lambda network: [])
    with pytest.raises(UsageError, match="layers: the run has fused, requested the model's own"):
        score(str(folder), PROBE, tmp_path / "fused", options)


def test_another_request_is_refused_before_the_model_is_loaded(
    model: LoadedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    score(model, PROBE, tmp_path / "run", ScoreOptions(first=1))
    said = r"different run\. limit: the run has the first 1 \(--first 1\), requested a sample of 1"
    with pytest.raises(UsageError, match=said):
        score("no-such-model", PROBE, tmp_path / "run", ScoreOptions(limit=1))


def test_a_run_of_before_there_were_samples_is_resumed_with_first(model: LoadedModel, tmp_path: Path) -> None:
    scores = score(model, PROBE, tmp_path / "run", ScoreOptions(first=1)).table().scores
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    for key in ("sample_seed", "n_probe_relations", "checksums"):
        del manifest[key]
    for relation in manifest["relations"]:
        del relation["n_in_probe"]
    (tmp_path / "run" / "manifest.json").write_text(json.dumps(manifest))
    next((tmp_path / "run" / "shards").glob("capital*")).unlink()
    with pytest.raises(UsageError, match=r"the run has the first 1 \(--first 1\), requested a sample of 1"):
        score(model, PROBE, tmp_path / "run", ScoreOptions(limit=1))
    resumed = score(model, PROBE, tmp_path / "run", ScoreOptions(first=1))
    np.testing.assert_array_equal(resumed.table().scores, scores)


def test_a_sample_keeps_line_numbers_and_the_files_order(model: LoadedModel, tmp_path: Path) -> None:
    complete = score(model, PROBE, tmp_path / "complete").table()
    sampled = score(model, PROBE, tmp_path / "run", ScoreOptions(limit=2))
    assert (sampled.manifest.limit, sampled.manifest.sample_seed, sampled.manifest.n_probe_relations) == (2, 0, 2)
    table = sampled.table()
    drawn = [(r.name, i.index) for r in PROBE.relations for i in sampled_instances(r, 2).instances]
    assert list(zip(table.relation.tolist(), table.instance.tolist(), strict=True)) == sorted(drawn)
    places = [i for i, fact in enumerate(zip(complete.relation, complete.instance, strict=True)) if fact in drawn]
    assert table.answer_idx.tolist() == complete.answer_idx[places].tolist()
    scores = np.concatenate([complete.scores[0, complete.offsets[i] : complete.offsets[i + 1]] for i in places])
    np.testing.assert_allclose(table.scores[0], scores, atol=TINY_SUM)


def test_an_error_names_the_candidate(model: LoadedModel, tmp_path: Path) -> None:
    capital, continent = PROBE.relations
    long = replace(capital, candidates=("Paris", "Rome", "Oslo " * 200))
    with pytest.raises(CalprobeError, match=r"capital, template 0, instance \d, candidate 'Oslo .*\.\.\.': statement "):
        score(model, replace(PROBE, relations=(long, continent)), tmp_path / "run")


def test_a_lost_piece_of_a_group_comes_back_as_it_was(model: LoadedModel, tmp_path: Path) -> None:
    options = ScoreOptions(templates="0,1", batch_tokens=1000)  # four small pieces: one group
    score(model, PROBE, tmp_path / "run", options)
    shards = {path: path.read_bytes() for path in (tmp_path / "run" / "shards").iterdir()}
    lost, *_ = shards
    lost.unlink()
    times = {path: path.stat().st_mtime_ns for path in shards if path != lost}
    score(model, PROBE, tmp_path / "run", options)
    assert {path: path.read_bytes() for path in shards} == shards
    assert {path: path.stat().st_mtime_ns for path in times} == times
