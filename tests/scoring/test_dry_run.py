"""The preview of a run: what it says of statements, work and an existing folder, and that it writes nothing."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from scored_samples import PROBE
from tiny_models import save_tiny_masked_model, save_tiny_model

from calprobe.errors import UsageError
from calprobe.models import LoadedModel, load_model
from calprobe.planning.token_rows import TokenRows
from calprobe.scoring import ScoreOptions, dry_run, preview, score, select
from calprobe.scoring.path_choice import executor_of
from calprobe.scoring.scored_pieces import tokenise_pieces


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    return load_model(str(save_tiny_model(tmp_path_factory.mktemp("model") / "tiny")))


def test_it_says_what_a_run_would_do_and_writes_nothing(model: LoadedModel, tmp_path: Path) -> None:
    found = preview(model, PROBE, tmp_path / "run", ScoreOptions(templates="0,1", batch_tokens=512))
    assert not (tmp_path / "run").exists()
    assert (found.relations, found.instances, found.templates) == (2, 6, (0, 1))
    assert (found.work.pieces, found.work.pieces_done, found.work.statements) == (4, 0, 30)
    assert (found.batch_tokens, found.batch_tokens_from) == (512, "typed")
    assert found.work.seconds > 0
    assert found.memory.weights == sum(p.numel() * p.element_size() for p in model.network.parameters())
    assert found.same_tokens == {}
    shown = [(example.relation, example.template, example.text) for example in found.examples]
    assert shown == [
        ("capital", 0, "The capital of France is Paris."),
        ("capital", 1, "Paris is the capital of France."),
        ("continent", 0, "France lies in Europe."),
    ]
    roles = [role for _, role in found.examples[1].tokens]
    assert roles[0] == "answer"
    assert roles[-1] == "template"
    assert "subject" in roles
    assert found.to_json()["work"]["statements"] == 30


@pytest.mark.parametrize("path", ["tree", "padded", "plain"])
def test_of_a_small_run_all_is_measured_so_that_nothing_is_scaled(
    model: LoadedModel, tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dry_run, "_SECONDS", math.inf)  # a busy machine takes two seconds for a part
    options = ScoreOptions(path=path, batch_tokens=4096)  # type: ignore[arg-type]
    found = preview(model, PROBE, tmp_path / "run", options).work
    assert (found.timed_statements, found.seconds) == (found.statements, found.timed_seconds) == (15, found.seconds)
    selection = select(PROBE, options)
    pieces = [(r, selection.template_set.template(r.name, 0)) for r in selection.relations]
    rows = TokenRows.joined([piece.rows for piece in tokenise_pieces(pieces, model)])
    plan = executor_of(path, model, 4096).plan(rows)  # type: ignore[arg-type]
    assert found.forwarded == (len(plan.token_ids) if path == "tree" else 15)
    assert found.unit == ("tokens of prefix trees" if path == "tree" else "rows")


def test_masked_models_forward_masked_rows(tmp_path: Path) -> None:
    masked = load_model(str(save_tiny_masked_model(tmp_path / "masked")))
    found = preview(masked, PROBE, tmp_path / "run", ScoreOptions(relations=("continent",)))
    assert found.work.unit == "masked rows"
    assert found.work.forwarded > found.work.statements


def test_what_is_in_the_folder_is_not_work(model: LoadedModel, tmp_path: Path) -> None:
    options = ScoreOptions(templates="0,1")
    score(model, PROBE, tmp_path / "run", options)
    done = preview(model, PROBE, tmp_path / "run", options).work
    assert (done.pieces_done, done.statements, done.seconds) == (4, 0, 0.0)
    next((tmp_path / "run" / "shards").glob("capital*")).unlink()
    files = sorted(path.name for path in (tmp_path / "run").rglob("*"))
    left = preview(model, PROBE, tmp_path / "run", options).work
    assert (left.pieces_done, left.statements) == (3, 9)
    over = preview(model, PROBE, tmp_path / "run", replace(options, resume=False)).work
    assert over.pieces_done == 0
    assert files == sorted(path.name for path in (tmp_path / "run").rglob("*"))
    with pytest.raises(UsageError, match="different run"):
        preview(model, PROBE, tmp_path / "run", replace(options, save_tokens=True))


def test_of_a_run_that_grows_only_what_is_added_is_work(model: LoadedModel, tmp_path: Path) -> None:
    score(model, PROBE, tmp_path / "run", ScoreOptions(limit=1))
    more = preview(model, PROBE, tmp_path / "run", ScoreOptions(limit=2)).work
    assert (more.pieces, more.pieces_done, more.statements) == (2, 0, 5)
    other = preview(model, PROBE, tmp_path / "run", ScoreOptions(limit=1, templates="0,1")).work
    assert (other.pieces, other.pieces_done, other.statements) == (4, 2, 5)


def test_a_shard_is_previewed_alone(model: LoadedModel, tmp_path: Path) -> None:
    shares = [
        preview(model, PROBE, tmp_path / "run", ScoreOptions(templates="0,1", batch_tokens=8, shard=f"{part}/2")).work
        for part in (1, 2)
    ]
    assert sum(share.pieces for share in shares) == 4
    assert sum(share.statements for share in shares) == 30
