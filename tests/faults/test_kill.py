"""Killed at any moment: lost are at most the group in progress and the one being written; no number is wrong.

Three moments in the suite and ten among the proofs, chosen by their write and seeded; `make test-faults` tries a
hundred, and fifty more on the clock.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from children import Ended, Forge
from commands import exports_of
from proofs import few_of
from unbroken import ASKED, Complete, nth_shard, shards_in

from calprobe.runs import open_run
from calprobe.runs.manifest_file import FILE_NAME

FEW = 1  # kills in the suite
KILLS = int(os.environ.get("CALPROBE_FAULTS", "10"))
TIMED_KILLS = KILLS // 2 if KILLS > 10 else 0
SEED = int(os.environ.get("CALPROBE_FAULTS_SEED", "0"))
Report = Callable[[Path], Any]
Record = Callable[[str, object], None]


def assert_nothing_is_lost(run: Path, complete: Complete, killed: Ended, reported: Report) -> None:
    """What lies there after the kill is a part of the complete run: its first pieces, to the byte."""
    done = shards_in(killed.changes[:-1])  # the last change was begun, the others were done
    assert done == complete.order[: len(done)]
    lying = sorted((run / "shards").glob("*.parquet"))
    assert set(done) <= {path.name for path in lying} <= set(complete.order[: len(done) + 1])
    for path in lying:
        assert path.read_bytes() == (complete.path / "shards" / path.name).read_bytes()
    if not (run / FILE_NAME).exists():
        assert (reported(run), lying) == (3, [])
        return
    missing = open_run(run).missing
    assert len(missing) == len(complete.order) - len(lying)
    found = reported(run)
    assert found == complete.report_of(missing, reported)
    if isinstance(found, dict):
        assert found["partial"] is bool(missing)


def assert_it_goes_on(forge: Forge, run: Path, complete: Complete) -> None:
    resumed = forge.run("score", *ASKED, "--out", run, watch=run)
    assert resumed.code == 0, resumed.stderr
    assert exports_of(run) == complete.exports
    assert sorted(path.name for path in run.iterdir()) == [
        ".lock",
        "labels.json",
        "manifest.json",
        "progress",
        "shards",
    ]
    assert sorted(path.name for path in (run / "shards").iterdir()) == sorted(complete.order)


@pytest.mark.parametrize("number", few_of(range(KILLS), lambda number: number < FEW))
def test_sigkill_before_a_random_write(
    forge: Forge, complete: Complete, tmp_path: Path, reported: Report, record_property: Record, number: int
) -> None:
    run = tmp_path / "run"
    count = len(complete.ended.changes)
    at = 1 + random.Random(f"{SEED} {number}").randrange(count)
    event, _, path = complete.ended.changes[at - 1].partition(" ")
    record_property("fault", f"SIGKILL before change {at} of {count}: {event} {Path(path).name}")
    killed = forge.run("score", *ASKED, "--out", run, watch=run, at=at)
    assert killed.code == -signal.SIGKILL
    assert_nothing_is_lost(run, complete, killed, reported)
    assert_it_goes_on(forge, run, complete)


@pytest.mark.proof
def test_sigkill_again_and_again(forge: Forge, complete: Complete, tmp_path: Path, reported: Report) -> None:
    run, at = tmp_path / "run", nth_shard(complete.ended.changes, 2)
    kills = 0
    while True:  # each life writes a shard more than its predecessor
        ended = forge.run("score", *ASKED, "--out", run, watch=run, at=at)
        if ended.code == 0:
            break
        assert ended.code == -signal.SIGKILL
        kills += 1
        assert kills <= len(complete.order)
    assert kills > 1
    assert_it_goes_on(forge, run, complete)


@pytest.fixture(scope="module")
def seconds(forge: Forge, complete: Complete, tmp_path_factory: pytest.TempPathFactory) -> float:
    """Of a second run that nothing happens to: before the first the forge imports torch."""
    assert complete.ended.code == 0
    run = tmp_path_factory.mktemp("timed") / "run"
    began = time.monotonic()
    forge.run("score", *ASKED, "--out", run, watch=run)
    return time.monotonic() - began


@pytest.mark.skipif(not TIMED_KILLS, reason="kills on the clock are for `make test-faults`")
@pytest.mark.parametrize("number", range(max(TIMED_KILLS, 1)))
def test_sigkill_at_a_random_time(
    forge: Forge,
    complete: Complete,
    seconds: float,
    tmp_path: Path,
    reported: Report,
    record_property: Record,
    number: int,
) -> None:
    run = tmp_path / "run"
    after_s = random.SystemRandom().uniform(0, seconds)
    child = forge.start("score", *ASKED, "--out", run, watch=run)
    time.sleep(after_s)
    with suppress(ProcessLookupError):  # it was done already
        child.send(signal.SIGKILL)
    killed = child.wait()
    what = "SIGKILL" if killed.code else "SIGKILL too late"
    record_property("fault", f"{what} after {after_s:.3f} of {seconds:.3f} s, {len(killed.changes)} changes begun")
    assert killed.code in (-signal.SIGKILL, 0)
    assert_nothing_is_lost(run, complete, killed, reported)
    assert_it_goes_on(forge, run, complete)


SIGNALS = [(number, part) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) for part in (0.5, 0.3)]


@pytest.mark.parametrize(
    ("number", "part"), few_of(SIGNALS, lambda number, part: number == signal.SIGTERM and part == 0.3)
)
def test_a_signal_that_can_be_held_finishes_the_group(
    forge: Forge, complete: Complete, tmp_path: Path, reported: Report, number: int, part: float
) -> None:
    run = tmp_path / "run"
    at = round(part * len(complete.ended.changes))
    stopped = forge.run("score", *ASKED, "--out", run, watch=run, at=at, send=number)
    assert stopped.code == 130
    pieces = len(complete.order)
    done = shards_in(stopped.changes)
    assert 0 < len(done) < pieces
    why = "interrupted" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}"
    said = f"{why}; {pieces - len(done)} of {pieces} pieces are left.\nRun the same command again to resume in {run}\n"
    assert stopped.stderr.endswith(said)
    assert not list(run.rglob("*.tmp"))
    assert open_run(run).progress.pieces == len(done)
    assert_nothing_is_lost(run, complete, stopped, reported)
    assert_it_goes_on(forge, run, complete)


def test_sigterm_before_a_piece_is_scored(forge: Forge, complete: Complete, tmp_path: Path) -> None:
    run = tmp_path / "run"
    stopped = forge.run("score", *ASKED, "--out", run, watch=run, at=2, send=signal.SIGTERM)
    assert stopped.code == 130
    assert (
        "ended by SIGTERM while no piece was being scored; no scores are lost.\nRun the same command" in stopped.stderr
    )
    assert not (run / ".owner").exists()
    assert_it_goes_on(forge, run, complete)
