import signal
import threading
from collections.abc import Iterator

import pytest

from calprobe.interrupts import held_interrupts, saying_how_to_resume


@pytest.fixture(autouse=True)
def pythons_own_handler() -> Iterator[None]:
    """A shell starts what it puts in the background with Ctrl-C ignored, this test run too."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt() -> None:
    signal.raise_signal(signal.SIGINT)


def test_the_first_waits_for_a_good_place() -> None:
    with held_interrupts("the piece is scored") as stop_if_asked:
        stop_if_asked()
        interrupt()
        with pytest.raises(KeyboardInterrupt):
            stop_if_asked()


def test_the_second_does_not_wait() -> None:
    with held_interrupts("the piece is scored"):
        interrupt()
        with pytest.raises(KeyboardInterrupt):
            interrupt()


def test_one_that_nobody_asked_for_comes_at_the_end() -> None:
    with pytest.raises(KeyboardInterrupt), held_interrupts("the last piece is scored"):
        interrupt()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_is_as_before_afterwards() -> None:
    with held_interrupts("the piece is scored"):
        pass
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.raises(KeyboardInterrupt):
        interrupt()


def test_a_handler_of_the_callers_stays() -> None:
    seen = []
    before = signal.signal(signal.SIGINT, lambda *_: seen.append(1))
    try:
        with held_interrupts("the piece is scored") as stop_if_asked:
            interrupt()
            stop_if_asked()
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [1]


def test_another_thread_has_no_signals_to_hold() -> None:
    def run() -> None:
        with held_interrupts("the piece is scored") as stop_if_asked:
            stop_if_asked()
            done.append(1)

    done: list[int] = []
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert done


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_the_process_waits_too(number: signal.Signals) -> None:
    before = signal.signal(number, signal.SIG_DFL)
    try:
        with saying_how_to_resume(), held_interrupts("the group is scored") as stop_if_asked:
            signal.raise_signal(number)
            with pytest.raises(KeyboardInterrupt, match=f"ended by {number.name}"):
                stop_if_asked()
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, before)


def test_nohup_is_respected() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with saying_how_to_resume(), held_interrupts("the group is scored") as stop_if_asked:
            signal.raise_signal(signal.SIGHUP)
            stop_if_asked()
    finally:
        signal.signal(signal.SIGHUP, before)
