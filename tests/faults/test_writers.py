"""Commands that write results, killed before each of their writes: the old result stays, or the new one is complete."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
from pathlib import Path

import pytest
from children import Forge
from commands import exports_of
from lm_eval_rows import choice_row
from proofs import few_of
from unbroken import ASKED, Complete

from calprobe.interop.lm_pub_quiz_export import METADATA
from calprobe.runs import open_run

MANY = int(os.environ.get("CALPROBE_FAULTS", "10")) > 10
SEED = int(os.environ.get("CALPROBE_FAULTS_SEED", "0"))
FEW = 3  # kills of a command where not all are asked for
QUICK = ("--bootstrap", "0")


def moments(count: int) -> list[int]:
    """Numbers of the changes before which to kill: all of them in `make test-faults`, else a few and the last."""
    every = range(1, count + 1)
    return list(every) if MANY or count <= FEW else sorted({*random.Random(SEED).sample(every, FEW - 1), count})


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("scores.parquet", ("export", "--what", "candidates", "--out")),
        pytest.param("scores.csv", ("export", "--what", "candidates", "--out"), marks=pytest.mark.proof),
        pytest.param("tokens.jsonl", ("export", "--what", "tokens", "--out"), marks=pytest.mark.proof),
        pytest.param("confidences.csv", ("export", "--what", "confidences", "--out"), marks=pytest.mark.proof),
        pytest.param("curve.json", ("curve", "--kind", "accuracy-rejection", *QUICK, "--out"), marks=pytest.mark.proof),
        pytest.param("curve.svg", ("curve", "--kind", "accuracy-rejection", *QUICK, "--out"), marks=pytest.mark.proof),
        pytest.param("page.html", ("report", *QUICK, "--html"), marks=pytest.mark.proof),
    ],
)
def test_a_file_is_the_old_one_or_the_new(
    forge: Forge, complete: Complete, tmp_path: Path, name: str, command: tuple[str, ...]
) -> None:
    file = tmp_path / name
    verb, *options = command
    unbroken = forge.run(verb, complete.path, *options, file, watch=tmp_path)
    assert unbroken.code == 0, unbroken.stderr
    new = file.read_bytes()
    for old in (b"old", None):
        for at in moments(len(unbroken.changes)):
            file.unlink(missing_ok=True)
            if old is not None:
                file.write_bytes(old)
            killed = forge.run(verb, complete.path, *options, file, watch=tmp_path, at=at)
            assert killed.code == -signal.SIGKILL
            assert (file.read_bytes() if file.exists() else None) in (old, new)
    assert forge.run(verb, complete.path, *options, file, watch=tmp_path).code == 0
    assert file.read_bytes() == new


def _merge(complete: Complete, place: Path) -> tuple[object, ...]:
    return ("merge", complete.path, "--out", place / "made")


def _import(complete: Complete, place: Path) -> tuple[object, ...]:
    rows = [choice_row(0, [-1.0, -2.0, -3.5], 0), choice_row(1, [-1.0, -2.0], 0)]
    samples = complete.path.with_name("samples_a_2026-01-02T03-04-05.6.jsonl")
    samples.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return ("import", "lm-eval", samples, "--model", "m", "--out", place / "made")


@pytest.mark.parametrize("make", few_of([_merge, _import], lambda make: make is _merge))
def test_a_run_that_is_made_is_there_complete_or_not_at_all(
    forge: Forge, complete: Complete, tmp_path: Path, make: object
) -> None:
    command = make(complete, tmp_path)  # type: ignore[operator]
    made = tmp_path / "made"
    unbroken = forge.run(*command, watch=tmp_path)
    assert (unbroken.code, open_run(made).missing) == (0, ()), unbroken.stderr
    exports = {path.name: path.read_bytes() for path in made.rglob("*.parquet")}
    for at in moments(len(unbroken.changes)):
        shutil.rmtree(made)
        assert forge.run(*command, watch=tmp_path, at=at).code == -signal.SIGKILL
        if not made.exists():
            assert forge.run(*command, watch=tmp_path).code == 0
        assert open_run(made).missing == ()
        assert {path.name: path.read_bytes() for path in made.rglob("*.parquet")} == exports
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


@pytest.mark.proof
def test_a_folder_for_lm_pub_quiz_is_there_complete_or_not_at_all(
    forge: Forge, complete: Complete, tmp_path: Path
) -> None:
    out = tmp_path / "results"
    command = ("export", complete.path, "--what", "lm-pub-quiz", "--out", out)
    unbroken = forge.run(*command, watch=tmp_path)
    assert unbroken.code == 0, unbroken.stderr
    new = {path.name: path.read_bytes() for path in out.iterdir()}
    assert METADATA in new
    for at in moments(len(unbroken.changes)):
        shutil.rmtree(out)
        assert forge.run(*command, watch=tmp_path, at=at).code == -signal.SIGKILL
        if not out.exists():
            assert forge.run(*command, watch=tmp_path).code == 0
        assert {path.name: path.read_bytes() for path in out.iterdir()} == new
    assert [path.name for path in tmp_path.iterdir()] == ["results"]


def test_a_crash_of_the_work_ahead_ends_the_run(forge: Forge, complete: Complete, tmp_path: Path) -> None:
    """The thread that prepares the next group fails: the error is said, what is scored stays, nothing hangs."""
    run = tmp_path / "run"
    ended = forge.run("score", *ASKED, "--out", run, watch=run, crash_ahead=3)
    assert ended.code == 1
    assert "calprobe: RuntimeError: the plan is broken (a defect of calprobe" in ended.stderr
    found = open_run(run)
    assert 0 < len(found.pieces) < len(complete.order)
    assert not (run / ".owner").exists()
    assert forge.run("score", *ASKED, "--out", run, watch=run).code == 0
    assert exports_of(run) == complete.exports
