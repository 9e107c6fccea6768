"""Machines that do not share the run's folder are distinguished from those that see it late."""

from __future__ import annotations

import json
import socket
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from calprobe.errors import CalprobeError
from calprobe.runs.lock import OWNER_NAME, Owner
from calprobe.scoring import launch
from calprobe.scoring.launch import wait_until_seen
from calprobe.scoring.workers import Stopped

FIRST = Owner("node0", 7, "boot 1", "calprobe score --model x", "2026-01-01T00:00:00+00:00")


def test_a_folder_that_is_seen_late_is_waited_for(tmp_path: Path) -> None:
    run, looks = tmp_path / "run", []

    def look() -> None:
        looks.append(1)
        if len(looks) == 2:  # the folder is there, with what a killed run has left in it
            run.mkdir()
            (run / OWNER_NAME).write_text(json.dumps(asdict(replace(FIRST, birth="boot 0"))))
        if len(looks) == 3:
            (run / OWNER_NAME).write_text(json.dumps(asdict(FIRST)))

    wait_until_seen(run, FIRST, look)
    assert len(looks) == 3


def test_another_folder_of_that_name_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "_SEEN_WITHIN_S", 0.3)
    with pytest.raises(CalprobeError) as raised:
        wait_until_seen(tmp_path / "run", FIRST, lambda: None)
    said = f"{tmp_path / 'run'} on {socket.gethostname()} is not the folder of that name on node0"
    assert str(raised.value).startswith(said)
    assert str(raised.value).endswith("give a folder with --out that all machines share")
    assert not (tmp_path / "run").exists()


def test_nobody_waits_for_a_run_that_was_stopped(tmp_path: Path) -> None:
    def stopped() -> None:
        raise Stopped(0, 1)

    with pytest.raises(Stopped):
        wait_until_seen(tmp_path / "run", FIRST, stopped)
