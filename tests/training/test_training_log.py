"""The figures of a training in trackers: joined with its run, or in one of their own, and never told twice."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from trainings import FEW, new_trainer

from calprobe.errors import UsageError
from calprobe.trackers import TrackedRun, registry
from calprobe.training import ProbeCallback


class Kept:
    """A tracker in memory."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def begin(self, run: TrackedRun) -> None:
        self.told.append((run.name, run.configuration["probe"], run.configuration["model"]))

    def log(self, figures: Mapping[str, float], step: int) -> None:
        self.told.append((step, figures["eval/calprobe/mini/accuracy"]))

    def end(self) -> None:
        self.told.append("end")


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Kept:
    """A tracker that stands for wandb."""
    found = Kept()
    monkeypatch.setitem(registry.ENTRIES, "wandb", registry.Entry(lambda place: found, "mend it"))  # type: ignore[arg-type]
    return found


def test_each_evaluation_is_logged_under_the_trainers_step(tmp_path: Path, kept: Kept) -> None:
    trainer = new_trainer(tmp_path / "out")
    trainer.add_callback(ProbeCallback("mini", FEW, log="wandb"))
    trainer.train()
    accuracy = {logs["step"]: logs["eval_calprobe/mini/accuracy"] for logs in history(trainer)}
    assert kept.told == [("gpt2/mini", "mini", "gpt2"), (2, accuracy[2]), (4, accuracy[4]), "end"]
    trainer.evaluate()  # not of a training
    assert len(kept.told) == 4


def history(trainer: Any) -> list[dict[str, Any]]:
    return [logs for logs in trainer.state.log_history if "eval_calprobe/mini/runtime" in logs]


def test_what_the_trainer_tells_is_not_told_twice(tmp_path: Path, kept: Kept) -> None:
    trainer = new_trainer(tmp_path / "out")
    callback = ProbeCallback("mini", FEW, log=["wandb"]).attach(trainer)
    trainer.args.report_to = ["wandb"]
    trainer.train()
    assert kept.told == []
    assert callback is not None
    assert len(history(trainer)) == 2


def test_only_what_is_told_by_none_is_missed(tmp_path: Path, kept: Kept, caplog: pytest.LogCaptureFixture) -> None:
    trainer = new_trainer(tmp_path / "out")
    trainer.add_callback(ProbeCallback("mini", FEW, log="wandb"))
    trainer.args.report_to = ["wandb"]
    trainer.train()
    assert "attach" not in caplog.text
    trainer.args.report_to = ["wandb", "tensorboard"]
    trainer.train()
    assert "history and to wandb; attach(trainer) sends them to tensorboard too" in caplog.text


def test_a_tracker_that_fails_stops_no_training(
    tmp_path: Path, kept: Kept, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(run: TrackedRun) -> None:
        raise OSError("no network")

    monkeypatch.setattr(kept, "begin", fails)
    trainer = new_trainer(tmp_path / "out")
    ProbeCallback("mini", FEW, log="wandb", stop_on_error=True).attach(trainer)
    with caplog.at_level(logging.WARNING, "calprobe"):
        trainer.train()
    assert [message for message in caplog.messages if "wandb" in message] == [
        "wandb failed: no network; mend it. Training goes on without it"
    ]
    assert len(history(trainer)) == 2


def test_an_unknown_tracker_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match="did you mean wandb"):
        ProbeCallback("mini", FEW, log="wandbb")


def test_tensorboard_has_the_steps(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    trainer = new_trainer(tmp_path / "out")
    ProbeCallback("mini", FEW, tmp_path / "runs", log="tensorboard").attach(trainer)
    trainer.train()
    found = EventAccumulator(str(tmp_path / "runs" / "tensorboard" / "calprobe" / "gpt2" / "mini")).Reload()
    scalars = found.Scalars("eval/calprobe/mini/brier_base")
    assert [event.step for event in scalars] == [2, 4]
    assert scalars[1].value == pytest.approx(history(trainer)[1]["eval_calprobe/mini/brier_base"])


def test_wandb_figures_go_into_the_run_that_the_trainer_has_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wandb = pytest.importorskip("wandb")
    for name, value in (("WANDB_MODE", "offline"), ("WANDB_DIR", str(tmp_path)), ("WANDB_SILENT", "true")):
        monkeypatch.setenv(name, value)
    wandb.teardown()  # it reads its variables once
    trainer = new_trainer(tmp_path / "out", report_to="wandb")
    trainer.add_callback(ProbeCallback("mini", FEW, log="wandb"))
    trainer.train()
    summary = dict(wandb.run.summary)
    accuracy = history(trainer)[1]["eval_calprobe/mini/accuracy"]
    assert (summary["eval/calprobe/mini/accuracy"], summary["train/global_step"]) == (accuracy, 4)
    assert wandb.run.config["gpt2/mini/probe"] == "mini"
    wandb.finish()
    wandb.teardown()
    assert len(list((tmp_path / "wandb").glob("offline-run-*"))) == 1
