"""`--shard I/N`: shares of a run that make the same run, scored apart."""

from __future__ import annotations

from pathlib import Path

import pytest
from tiny_models import save_tiny_model

from calprobe.cli import main
from calprobe.errors import UsageError
from calprobe.runs import open_run
from calprobe.runs.merge import merge_runs
from calprobe.scoring import ScoreOptions, score


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_tiny_model(tmp_path_factory.mktemp("model") / "tiny"))


def options(**changes: object) -> ScoreOptions:
    return ScoreOptions(**{"limit": 2, "templates": "0,1", "batch_tokens": 64, "quiet": True} | changes)  # type: ignore[arg-type]


def exported(run: Path) -> bytes:
    file = run.with_name(f"{run.name}.csv")
    main(["export", str(run), "--what", "candidates", "--out", str(file)])
    return file.read_bytes()


def test_shards_merged_are_the_bytes_of_one_run(model: str, tmp_path: Path) -> None:
    score(model, "mini", tmp_path / "whole", options())
    parts = [tmp_path / f"part-{number}" for number in (1, 2, 3)]
    runs = [score(model, "mini", part, options(shard=f"{n}/3")) for n, part in enumerate(parts, start=1)]
    assert all(run.partial and run.pieces for run in runs)
    assert sum(len(run.pieces) for run in runs) == len(runs[0].manifest.pieces)
    merge_runs(parts, tmp_path / "merged")
    assert exported(tmp_path / "merged") == exported(tmp_path / "whole")
    # Which folder is which is known, and they are not mixed.
    assert runs[1].manifest.shard == "2/3"
    with pytest.raises(UsageError, match=r"holds shard 2/3, asked shard 1/3"):
        score(model, "mini", parts[1], options(shard="1/3"))
    with pytest.raises(UsageError, match=r"holds shard 2/3, asked the whole run"):
        score(model, "mini", parts[1], options())
    # Nothing is left to do in it.
    assert score(model, "mini", parts[1], options(shard="2/3")).manifest.timings.pieces == len(runs[1].pieces)


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
