"""What processes of one run say to each other, with threads in their place: no launcher, no model."""

from __future__ import annotations

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from torch.distributed import HashStore

from calprobe.errors import CalprobeError, DataMissingError, UsageError
from calprobe.scoring import workers as module
from calprobe.scoring.workers import Stopped, Workers


def of_size(size: int) -> list[Workers]:
    store = HashStore()
    return [Workers(rank, size, store) for rank in range(size)]


def test_each_turn_goes_to_one_process() -> None:
    with ThreadPoolExecutor(3) as pool:
        taken = list(pool.map(lambda process: list(process.queue(500)), of_size(3)))
    assert Counter(turn for turns in taken for turn in turns) == dict.fromkeys(range(500), 1)
    assert all(turns == sorted(turns) for turns in taken)


def test_one_process_takes_all_turns() -> None:
    alone = Workers()
    assert alone.is_first
    assert list(alone.queue(4)) == [0, 1, 2, 3]
    alone.wait_for_others()


def test_turns_end_when_somebody_stops() -> None:
    first, second = of_size(2)
    turns = first.queue(10)
    assert next(turns) == 0
    second.stop(CalprobeError("no"))
    assert list(turns) == []
    with pytest.raises(Stopped, match="process 1 stopped the run"):
        first.check()


def test_progress_sums_over_processes() -> None:
    first, second = of_size(2)
    shown = []
    show = first.summed(lambda statements, tokens: shown.append((statements, tokens)))
    second.summed(lambda statements, tokens: None)(5, 50)
    show(1, 10)
    show(0, 0)  # nothing new: nothing shown
    assert shown == [(6, 60)]


def test_the_first_goes_ahead_and_its_error_is_said_once() -> None:
    def run(process: Workers) -> Exception | None:
        def step() -> None:
            raise DataMissingError("no probe")

        try:
            with process.stopping_together():
                process.after_first(step)
        except CalprobeError as error:
            return error
        return None

    with ThreadPoolExecutor(3) as pool:
        errors = list(pool.map(run, of_size(3)))
    assert [type(error) for error in errors] == [DataMissingError, Stopped, Stopped]
    assert [error.exit_code for error in errors if isinstance(error, CalprobeError)] == [3, 3, 3]


def test_an_error_names_its_process_and_stops_the_others() -> None:
    first, second = of_size(2)
    with pytest.raises(UsageError, match=r"^process 1: too small$"), second.stopping_together():
        raise UsageError("too small")
    with pytest.raises(Stopped) as stopped, first.stopping_together():
        first.check()
    assert stopped.value.exit_code == 2


def test_an_interrupt_is_the_first_processs_to_raise() -> None:
    first, second = of_size(2)
    with pytest.raises(Stopped) as stopped, second.stopping_together():
        raise KeyboardInterrupt
    assert stopped.value.exit_code == 130
    with pytest.raises(KeyboardInterrupt), first.stopping_together():
        raise KeyboardInterrupt


def test_a_process_that_is_lost_is_waited_for_no_longer_than_its_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOST_S", 0.3)
    first, second, third = of_size(3)
    with third.stopping_together():
        pass
    with second._sending_heartbeats():
        pass  # and then it is killed
    began = time.monotonic()
    first.wait_for_others()
    assert 0.2 < time.monotonic() - began < 60


def test_a_stop_waits_less_for_whoever_is_silent() -> None:
    first, _ = of_size(2)
    began = time.monotonic()
    first.wait_for_others(at_most_s=60.0, silent_s=0.3)
    assert 0.2 < time.monotonic() - began < 30


@pytest.mark.proof
def test_whoever_lives_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOST_S", 2.0)  # a busy machine may keep a beat back for a second
    monkeypatch.setattr(module, "_HEARTBEAT_S", 0.05)
    first, second = of_size(2)
    goes_on, ended = threading.Event(), list[int]()

    def work() -> None:
        with second.stopping_together():
            goes_on.wait(3.0)  # longer than what would be silence
            ended.append(second.rank)

    thread = threading.Thread(target=work)
    thread.start()
    first.wait_for_others()
    assert ended == [1]
    thread.join()


@pytest.mark.parametrize(("patience", "has_begun"), [("LOST_S", True), ("_STARTED_WITHIN_S", False)])
def test_waiting_for_a_first_process_that_is_lost_ends(
    monkeypatch: pytest.MonkeyPatch, patience: str, has_begun: bool
) -> None:
    """It is waited for longer as long as it has not begun: whoever is first to import torch may be minutes ahead."""
    monkeypatch.setattr(module, "LOST_S", 1e9)
    monkeypatch.setattr(module, "_STARTED_WITHIN_S", 1e9)
    monkeypatch.setattr(module, patience, 0.2)
    first, second = of_size(2)
    if has_begun:
        with first._sending_heartbeats():
            pass
    assert second.heartbeats(0) == has_begun
    with pytest.raises(CalprobeError, match="no heartbeat from the first process; run the same command again"):
        second.receive("missing")


def test_a_store_that_is_gone_is_said_for_people() -> None:
    class Gone(HashStore):  # type: ignore[misc]
        def add(self, key: str, amount: int) -> int:
            raise RuntimeError("Broken pipe")

    with pytest.raises(CalprobeError, match="cannot be reached"):
        next(Workers(1, 2, Gone()).queue(1))
