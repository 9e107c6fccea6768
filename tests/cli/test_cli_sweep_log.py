"""`--log` of `calprobe sweep`: runs of this call and of earlier ones; what is wrong is said before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from commands import exit_code
from run_samples import write_run

from calprobe.sweep import Attempt, Local

JOBS = 'models = ["tiny-clm"]\n[probes.months]\nprobe = "mini"\nrelations = ["month"]\n'


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A sweep of one job, which makes a small run at once."""

    def run_here(engine: Any, jobs: Any, out: Path, started: Any, ended: Any) -> None:
        for planned in jobs:
            started(planned.job)
            write_run(planned.job.out)
            ended(planned.job, Attempt(planned.job.arguments, 0, 0.1, "now"))

    monkeypatch.setattr(Local, "run", run_here)
    path = tmp_path / "paper.toml"
    path.write_text(f'out = "{tmp_path}/out"\n{JOBS}')
    return path


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    return exit_code("sweep", *arguments), capsys.readouterr().err


@pytest.mark.proof
def test_runs_are_logged_once_also_those_of_an_earlier_call(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("tensorboard")
    assert said(capsys, file)[0] == 0
    code, words = said(capsys, file, "--log", "tensorboard")
    assert code == 0
    assert "logged 1 run: tensorboard, project paper" in words
    assert "logged 1" not in said(capsys, file, "--log", "tensorboard")[1]
    (events,) = (tmp_path / "out" / "tensorboard" / "paper" / "tiny-clm" / "months").iterdir()
    assert events.name.startswith("events.out.tfevents.")
    words = said(capsys, file, "--log", "tensorboard", "--project", "talk")[1]
    assert "logged 1 run: tensorboard, project talk" in words
    assert (tmp_path / "out" / "tensorboard" / "talk" / "tiny-clm" / "months").is_dir()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--log", "tensorbord"), "--log: no 'tensorbord'; did you mean tensorboard?"),
        (("--project", "talk"), "--project names where --log puts runs; add --log, or leave it out"),
    ],
)
def test_mistakes_are_told_before_anything_runs(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: str
) -> None:
    code, err = said(capsys, file, *arguments)
    assert code == 2
    assert words in err
    assert not (tmp_path / "out").exists()
