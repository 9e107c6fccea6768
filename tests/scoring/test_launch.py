"""How a process knows that it is one of several, and what several cannot share."""

from __future__ import annotations

from pathlib import Path

import pytest
from tiny_models import save_tiny_model

import calprobe
from calprobe.errors import CalprobeError, UsageError
from calprobe.models import LoadOptions
from calprobe.scoring.launch import launched, workers_of_launch
from calprobe.scoring.workers import Stopped


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, (0, 1)),
        ({"RANK": "0", "WORLD_SIZE": "1"}, (0, 1)),
        ({"RANK": "3", "WORLD_SIZE": "8"}, (3, 8)),
        ({"WORLD_SIZE": "8"}, (0, 1)),  # a batch system's, without a launcher
    ],
)
def test_what_launchers_say(
    environment: dict[str, str], expected: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert launched() == expected


@pytest.mark.parametrize(
    ("options", "said"),
    [(LoadOptions(device_map="auto"), "start a single process"), (LoadOptions(device="cuda:1"), "would share it")],
)
def test_a_placement_that_all_would_share_is_refused_once(
    options: LoadOptions, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "0")
    with pytest.raises(UsageError, match=said):
        workers_of_launch(options)
    monkeypatch.setenv("RANK", "1")
    with pytest.raises(Stopped) as stopped:
        workers_of_launch(options)
    assert stopped.value.exit_code == 2


def test_a_gpu_that_was_asked_for_and_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "0")
    with pytest.raises(UsageError, match=r"torch sees 0 GPU\(s\) here"):
        workers_of_launch(LoadOptions(device="cuda"))


def test_a_rank_that_no_launcher_gave_is_said_with_the_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("RANK", "0"), ("WORLD_SIZE", "2")):
        monkeypatch.setenv(name, value)
    for name in ("MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(CalprobeError, match=r"cannot connect: .*MASTER_ADDR.*\nstart them with torchrun") as refused:
        workers_of_launch(LoadOptions(device="cpu"))
    assert len(str(refused.value).splitlines()) == 2


def test_a_model_in_memory_is_scored_by_the_process_that_holds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first process of a training scores while the others wait for it: it must not wait for them."""
    model = calprobe.load_model(str(save_tiny_model(tmp_path / "model")))
    options = calprobe.ScoreOptions(relations=("month",), first=2, quiet=True)
    alone = calprobe.score(model, "mini", tmp_path / "alone", options)
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "0")  # there is no process group: to ask for one would be an error
    launched_with_others = calprobe.score(model, "mini", tmp_path / "launched", options)
    assert (launched_with_others.table().scores == alone.table().scores).all()
    assert launched_with_others.progress.processes == 1
