"""Each tracker by its own library without a network: what is logged is read back from where it keeps it."""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from calprobe.errors import CalprobeError
from calprobe.trackers import Place, TrackedRun, Tracker

FIRST = TrackedRun("0123456789abcdef", "tiny/mini", {"model": "tiny", "probe": "mini", "instances": 583, "share": 0.5})
SECOND = TrackedRun("fedcba9876543210", "tiny/other", {"model": "tiny", "probe": "other"})
FIGURES = {"accuracy": 0.25, "average_vote_2/ace": 0.125}


def log_two(tracker: Tracker) -> None:
    """Two runs, the first with two steps."""
    tracker.begin(FIRST)
    tracker.log({"accuracy": 0.0}, 1)
    tracker.log(FIGURES, 2)
    tracker.end()
    tracker.begin(SECOND)
    tracker.log(FIGURES, 0)
    tracker.end()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place("paper", tmp_path / "events")


def test_tensorboard_has_scalars_and_hyperparameters(place: Place) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    from calprobe.trackers.tensorboard import TensorBoard

    log_two(TensorBoard(place))
    log_two(TensorBoard(place))  # other runs of these names keep their files
    runs = place.folder / "paper" / "tiny"
    assert {path.name for path in runs.iterdir()} == {"mini", "other", "mini-01234567", "other-fedcba98"}
    found = EventAccumulator(str(runs / "mini")).Reload()
    assert [(event.step, event.value) for event in found.Scalars("accuracy")] == [(1, 0.0), (2, 0.25)]
    assert [(event.step, event.value) for event in found.Scalars("average_vote_2/ace")] == [(2, 0.125)]
    assert b"| probe | mini |" in found.Tensors("configuration/text_summary")[0].tensor_proto.string_val[0]
    content = found.SummaryMetadata("_hparams_/session_start_info").plugin_data.content
    started = HParamsPluginData.FromString(content).session_start_info.hparams
    assert (started["model"].string_value, started["instances"].number_value) == ("tiny", 583)


@pytest.fixture
def mlflow_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    monkeypatch.chdir(tmp_path)
    yield mlflow
    if mlflow.active_run():
        mlflow.end_run()


def test_mlflow_has_runs_in_an_experiment(mlflow_store: Any, place: Place) -> None:
    from calprobe.trackers.mlflow import Mlflow

    tracker = Mlflow(place)
    log_two(tracker)
    client = mlflow_store.MlflowClient()
    experiment = client.get_experiment_by_name("paper")
    runs = {run.info.run_name: run for run in client.search_runs([experiment.experiment_id])}
    assert runs.keys() == {"tiny/mini", "tiny/other"}
    first = runs["tiny/mini"]
    assert first.info.status == "FINISHED"
    assert first.data.params == {"model": "tiny", "probe": "mini", "instances": "583", "share": "0.5"}
    assert first.data.metrics == FIGURES
    assert [(each.step, each.value) for each in client.get_metric_history(first.info.run_id, "accuracy")] == [
        (1, 0.0),
        (2, 0.25),
    ]
    # Names that MLflow refuses, and more figures than one request may have.
    tracker.begin(FIRST)
    tracker.log({f"set/a+b/{number}": 0.5 for number in range(1001)}, 0)
    tracker.end()
    newest, *_ = client.search_runs([experiment.experiment_id], order_by=["attributes.start_time DESC"])
    assert len(newest.data.metrics) == 1001
    assert "set/a_b/1000" in newest.data.metrics


def test_mlflow_joins_the_open_run(mlflow_store: Any, place: Place) -> None:
    from calprobe.trackers.mlflow import Mlflow

    mlflow_store.set_experiment("training")
    with mlflow_store.start_run() as run:
        log_two(Mlflow(Place("paper", place.folder, join=True)))
        assert mlflow_store.active_run().info.run_id == run.info.run_id
    stored = mlflow_store.MlflowClient().get_run(run.info.run_id)
    assert stored.data.metrics["average_vote_2/ace"] == 0.125
    assert (stored.data.params["tiny/mini/probe"], stored.data.params["tiny/other/probe"]) == ("mini", "other")
    assert mlflow_store.MlflowClient().get_experiment_by_name("paper") is None


@pytest.fixture
def trackio_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    pytest.importorskip("trackio")
    from trackio import sqlite_storage, utils

    for module in (utils, sqlite_storage):  # they read TRACKIO_DIR when they are imported
        monkeypatch.setattr(module, "TRACKIO_DIR", tmp_path / "trackio")
    for name in ("TRACKIO_SPACE_ID", "TRACKIO_SERVER_URL"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "trackio"


def rows_of(folder: Path, table: str) -> list[dict[str, Any]]:
    with sqlite3.connect(next(folder.glob("*.db"))) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(f"SELECT * FROM {table}")]


def test_trackio_has_rows_in_its_database(
    trackio_folder: Path, place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    from calprobe.trackers.trackio import Trackio

    log_two(Trackio(place))
    metrics = rows_of(trackio_folder, "metrics")
    steps = [(row["run_name"], row["step"]) for row in metrics]
    assert steps == [("tiny/mini", 1), ("tiny/mini", 2), ("tiny/other", 0)]
    assert '"average_vote_2/ace":0.125' in str(metrics[1]["metrics"]).replace(" ", "")
    configurations = {row["run_name"]: str(row["config"]) for row in rows_of(trackio_folder, "configs")}
    assert '"calprobe_run"' in configurations["tiny/mini"]
    assert capsys.readouterr().out == ""


@pytest.fixture
def wandb_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    wandb = pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    wandb.teardown()  # it reads its variables once
    yield tmp_path / "wandb"
    wandb.teardown()


def records(path: Path) -> list[Any]:
    """What stands in the file that `wandb sync` sends: a log of LevelDB's format behind seven bytes."""
    from wandb.proto.wandb_internal_pb2 import Record

    content, place, found, parts = path.read_bytes(), 7, [], b""
    assert content[:4] == b":W&B"
    while place + 7 <= len(content):
        if 32768 - place % 32768 < 7:  # no header fits into the rest of the block
            place += 32768 - place % 32768
            continue
        length, kind = struct.unpack_from("<HB", content, place + 4)
        parts += content[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):  # complete, or the last part
            found.append(Record.FromString(parts))
            parts = b""
    return found


def test_wandb_writes_what_is_sent_later(wandb_folder: Path, place: Place, capfd: pytest.CaptureFixture[str]) -> None:
    from calprobe.trackers.wandb import Wandb

    log_two(Wandb(place))
    first = records(next(wandb_folder.glob(f"offline-run-*-{FIRST.id}/*.wandb")))
    (run,) = [record.run for record in first if record.WhichOneof("record_type") == "run"]
    assert (run.project, run.display_name, run.run_id) == ("paper", "tiny/mini", FIRST.id)
    configuration = {item.key: item.value_json for item in run.config.update if not item.key.startswith("_")}
    assert configuration == {"model": '"tiny"', "probe": '"mini"', "instances": "583", "share": "0.5"}
    steps = [
        {"/".join(item.nested_key) or item.key: item.value_json for item in record.history.item}
        for record in first
        if record.WhichOneof("record_type") == "history"
    ]
    assert [(step["_step"], step["accuracy"]) for step in steps] == [("1", "0"), ("2", "0.25")]
    assert next(wandb_folder.glob(f"offline-run-*-{SECOND.id}/*.wandb"))
    assert capfd.readouterr() == ("", "")


def test_wandb_joins_the_open_run(wandb_folder: Path, place: Place) -> None:
    import wandb

    from calprobe.trackers.wandb import Wandb

    with wandb.init(project="training", settings=wandb.Settings(silent=True)) as run:
        log_two(Wandb(Place("paper", place.folder, join=True)))
        assert wandb.run is run
        assert run.summary["average_vote_2/ace"] == 0.125
        assert run.config["tiny/other/probe"] == "other"
    assert len(list(wandb_folder.glob("offline-run-*"))) == 1


def test_wandb_without_a_login_does_not_ask_for_one(
    tmp_path: Path, wandb_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import wandb

    from calprobe.trackers.wandb import Wandb

    monkeypatch.setenv("WANDB_MODE", "online")
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))  # without .netrc
    wandb.teardown()
    with pytest.raises(CalprobeError, match="there is no login"):
        Wandb(Place("paper", tmp_path)).begin(FIRST)
