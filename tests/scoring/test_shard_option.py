"""`--shard I/N`: shares of a run that make the same run, scored apart."""

from __future__ import annotations

from pathlib import Path

import pytest
from proofs import few_of
from tiny_models import save_tiny_model

from calprobe.cli import main
from calprobe.errors import UsageError
from calprobe.runs import open_run
from calprobe.runs.merge import merge_runs
from calprobe.scoring import ScoreOptions, budget, score

RELATIONS = ("month", "continent", "opposite", "instrument-family", "moon-planet", "animal-class", "field", "currency")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_tiny_model(tmp_path_factory.mktemp("model") / "tiny"))


def options(**changes: object) -> ScoreOptions:
    return ScoreOptions(**{"limit": 2, "templates": "0,1", "batch_tokens": 64, "quiet": True} | changes)  # type: ignore[arg-type]


def exported(run: Path) -> bytes:
    file = run.with_name(f"{run.name}.csv")
    main(["export", str(run), "--what", "candidates", "--out", str(file)])
    return file.read_bytes()


# A group has as many statements as a small budget has tokens, of a large one fewer.
@pytest.mark.parametrize("batch_tokens", few_of([64, 4096], lambda tokens: tokens == 64))
def test_shards_merged_are_the_bytes_of_one_run(model: str, tmp_path: Path, batch_tokens: int) -> None:
    # Of several templates with a large budget, so that shares have more than one group each.
    more = {"limit": None, "templates": "0,1,2,3"} if batch_tokens > 1024 else {"limit": 1, "relations": RELATIONS}
    few = {"batch_tokens": batch_tokens, **more}
    score(model, "mini", tmp_path / "complete", options(**few))
    parts = [tmp_path / f"part-{number}" for number in (1, 2, 3)]
    runs = [score(model, "mini", part, options(shard=f"{n}/3", **few)) for n, part in enumerate(parts, start=1)]
    assert all(run.partial and run.pieces for run in runs)
    assert sum(len(run.pieces) for run in runs) == len(runs[0].manifest.pieces)
    merge_runs(parts, tmp_path / "merged")
    assert exported(tmp_path / "merged") == exported(tmp_path / "complete")
    # Which folder is which is known, and they are not mixed.
    assert runs[1].manifest.shard == "2/3"
    with pytest.raises(UsageError, match=r"contains shard 2/3, not shard 1/3"):
        score(model, "mini", parts[1], options(shard="1/3", **few))
    with pytest.raises(UsageError, match=r"contains shard 2/3, not the complete run"):
        score(model, "mini", parts[1], options(**few))
    # Nothing is left to do in it.
    assert score(model, "mini", parts[1], options(shard="2/3", **few)).progress.pieces == len(runs[1].pieces)


def test_a_shard_has_a_folder_of_its_own(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = ["--model", model, "--probe", "mini", "--limit", "1", "--relations", "month,continent", "--quiet"]
    main(["score", *asked, "--shard", "9/9"])  # more shares than groups: this one has none
    assert "runs/tiny-mini-shard-9-of-9: shard 9/9, 0 of 2 pieces; when all are done: calprobe merge" in (
        capsys.readouterr().err
    )
    assert open_run("runs/tiny-mini-shard-9-of-9").partial


def test_a_shard_that_does_not_exist(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["score", "--model", "tiny-clm", "--shard", "0/4"])
    assert stop.value.code == 2
    assert "--shard 0/4: in I/N, I goes from 1 to 4" in capsys.readouterr().err


@pytest.mark.proof
def test_jobs_that_find_different_budgets_deal_alike(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CALPROBE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(budget, "_CPU_TOKENS", 128)  # else a probe this small is one group
    parts = [tmp_path / f"part-{number}" for number in (1, 2)]
    first = score(model, "mini", parts[0], options(shard="1/2", batch_tokens=None, limit=None, first=2))
    assert (first.manifest.settings.batch_tokens, first.manifest.settings.first_batch_tokens) == (128, None)
    # The second job is on a machine with little free memory: room for the longest statement of the two first instances.
    monkeypatch.setattr(budget, "free_bytes", lambda device: 0)
    asked = options(shard="2/2", batch_tokens=None, limit=None, first=2)
    second = score(model, "mini", parts[1], asked)
    assert (second.manifest.settings.batch_tokens, second.manifest.settings.first_batch_tokens) == (101, 128)
    assert first.pieces
    assert second.pieces
    merged = merge_runs(parts, tmp_path / "merged")  # raises if a piece is in none
    assert len(first.pieces) + len(second.pieces) == len(merged.manifest.pieces)
    # It goes on in the same way.
    (parts[1] / "shards" / sorted(path.name for path in (parts[1] / "shards").iterdir())[0]).unlink()
    again = score(model, "mini", parts[1], asked)
    assert again.manifest.settings == second.manifest.settings
    assert [(p.relation, p.template) for p in again.pieces] == [(p.relation, p.template) for p in second.pieces]
