"""Writing behind: in order, beside the work, never lost, and an error ends the work."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import pytest
from scored_samples import PROBE
from tiny_models import save_tiny_model
from torch.distributed import HashStore

from calprobe.errors import CalprobeError
from calprobe.models import load_model
from calprobe.runs import RunFolder, open_run
from calprobe.runs.lock import read_owner
from calprobe.scoring import Interrupted, ScoreOptions, find_way, score
from calprobe.scoring.back_off import BackOff
from calprobe.scoring.behind import writing_behind
from calprobe.scoring.growth import lacking
from calprobe.scoring.score import _manifest, _requested, _work
from calprobe.scoring.workers import Stopped, Workers
from calprobe.scoring.writing import score_missing, score_share

SOON_S = 120.0  # what another thread does at once, on a machine that is busy with other things


def press_ctrl_c() -> None:
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def all_written(writes: Iterable[Callable[[], None]]) -> None:
    with writing_behind() as behind:
        for write in writes:
            behind(write)


def test_writes_are_done_in_order_by_one_other_thread() -> None:
    done: list[int] = []
    threads = set()

    def write(number: int) -> None:
        threads.add(threading.current_thread().name)
        done.append(number)

    all_written(partial(write, number) for number in range(20))
    assert done == list(range(20))
    assert threads == {"write_0"}


def test_the_work_goes_on_while_one_write_is_under_way_and_waits_before_the_next() -> None:
    begun, may_end, done = threading.Event(), threading.Event(), []

    def slow() -> None:
        begun.set()
        assert may_end.wait(SOON_S)
        done.append("slow")

    with writing_behind() as behind:
        behind(slow)
        assert begun.wait(SOON_S)  # the caller is back here while it is written
        assert not done
        threading.Timer(0.05, may_end.set).start()
        behind(lambda: done.append("next"))
        assert done[0] == "slow"
    assert done == ["slow", "next"]


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_an_error_is_raised_by_the_next_write_which_is_not_done_or_at_the_end(error: BaseException) -> None:
    def fail() -> NoReturn:
        raise error

    done: list[int] = []
    for writes in ([fail], [fail, lambda: done.append(1)]):
        with pytest.raises(type(error)):
            all_written(writes)
    assert not done


def test_what_was_begun_is_done_when_the_block_raises() -> None:
    may_end, done = threading.Event(), []

    def slow() -> None:
        assert may_end.wait(SOON_S)
        done.append(1)

    def writes() -> Iterator[Callable[[], None]]:
        yield slow
        threading.Timer(0.05, may_end.set).start()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        all_written(writes())
    assert done == [1]


def test_no_ctrl_c_ends_the_wait_for_a_write() -> None:
    began, done = threading.Event(), []

    def slow() -> None:
        began.set()
        for _ in range(2):  # while the end of the block waits for it
            time.sleep(0.05)
            press_ctrl_c()
        time.sleep(0.05)
        done.append(1)

    def writes() -> Iterator[Callable[[], None]]:
        yield slow
        assert began.wait(SOON_S)

    with pytest.raises(KeyboardInterrupt):
        all_written(writes())
    assert done == [1]


def test_the_lock_is_kept_until_the_last_write_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in a write, and again while the write is waited for: the run must not end before the write."""
    model = load_model(str(save_tiny_model(tmp_path / "tiny")))
    write, owners = RunFolder.write_piece, []

    def write_late(self: RunFolder, piece: Any) -> None:
        for _ in range(3 if not owners else 0):
            time.sleep(0.05)
            press_ctrl_c()
        time.sleep(0.1)
        owners.append(read_owner(tmp_path / "run"))
        write(self, piece)

    monkeypatch.setattr(RunFolder, "write_piece", write_late)
    with pytest.raises(Interrupted):
        score(model, PROBE, tmp_path / "run", ScoreOptions(templates="0,1", batch_tokens=64, quiet=True))
    assert owners
    assert None not in owners
    assert len(open_run(tmp_path / "run").pieces) == len(owners)


def test_ctrl_c_in_a_slow_write_loses_no_piece_of_two_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes as threads: the first writes its first piece while the other goes on, and Ctrl-C is pressed."""
    saved, out, store = save_tiny_model(tmp_path / "tiny"), tmp_path / "run", HashStore()
    models = [load_model(str(saved)) for _ in range(2)]
    model = models[0]
    request = _requested(model, PROBE, out, ScoreOptions(templates="0,1", batch_tokens=16, quiet=True))
    way = find_way(model, request.selection, request.options)
    folders = [RunFolder.open(out, _manifest(request, model, way))]
    folders.append(RunFolder.join(out, folders[0].manifest))
    missing = lacking(folders[0], request.asked)
    works = [_work(request, folder, own, way, missing) for folder, own in zip(folders, models, strict=True)]
    write, written, ended = RunFolder.write_piece, threading.Event(), []

    def write_late(self: RunFolder, piece: Any) -> None:
        if self is folders[0]:
            assert written.wait(SOON_S)
            for _ in range(2):
                press_ctrl_c()
                time.sleep(0.05)
        write(self, piece)
        written.set()

    def take_part() -> None:
        workers = Workers(1, 2, store)
        with suppress(Stopped), workers.stopping_together():
            score_share(works[1], workers, 0.0)
        ended.append(1)

    # Every other group is each process's: where one took all before the other began, its write would wait in vain.
    monkeypatch.setattr(Workers, "queue", lambda self, n: iter(range(self.rank, n, self.size)))
    monkeypatch.setattr(RunFolder, "write_piece", write_late)
    other = threading.Thread(target=take_part)
    other.start()
    with pytest.raises(Interrupted, match="of 4 pieces are left"):
        score_missing(works[0], Workers(0, 2, store))
    run = open_run(out)  # before the thread is waited for: the first process has waited for what is written
    other.join(SOON_S)
    assert ended
    assert run.progress.pieces == len(run.pieces) > 1  # one of each process at least
    assert json.loads((out / "progress" / "0.json").read_text())["pieces"] > 0


def test_a_group_is_scored_while_the_one_before_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = load_model(str(save_tiny_model(tmp_path / "tiny")))
    second_group, score_group, write = threading.Event(), BackOff.score, RunFolder.write_piece
    groups = []

    def scored(self: BackOff, *given: Any) -> Any:
        groups.append(1)
        if len(groups) == 2:
            second_group.set()
        return score_group(self, *given)

    def write_late(self: RunFolder, piece: Any) -> None:
        assert second_group.wait(SOON_S)  # the first piece is not written before the second group is begun
        write(self, piece)

    monkeypatch.setattr(BackOff, "score", scored)
    monkeypatch.setattr(RunFolder, "write_piece", write_late)
    run = score(model, PROBE, tmp_path / "run", ScoreOptions(templates="0,1", batch_tokens=64, quiet=True))
    assert len(groups) > 1
    assert not run.partial


def test_a_disk_that_takes_no_more_ends_the_run_at_the_next_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load_model(str(save_tiny_model(tmp_path / "tiny")))
    write, written = RunFolder.write_piece, []

    def fail_second(self: RunFolder, piece: Any) -> None:
        written.append(piece)
        if len(written) == 2:
            raise CalprobeError("no space left")
        write(self, piece)

    monkeypatch.setattr(RunFolder, "write_piece", fail_second)
    options = ScoreOptions(templates="0,1", batch_tokens=64, path="padded", quiet=True)
    with pytest.raises(CalprobeError, match="no space left"):
        score(model, PROBE, tmp_path / "run", options)
    assert len(written) == 2
    assert len(open_run(tmp_path / "run").pieces) == 1
    monkeypatch.undo()
    assert not score(model, PROBE, tmp_path / "run", options).partial
