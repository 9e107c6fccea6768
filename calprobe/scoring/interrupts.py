"""Ctrl-C that waits for what is in flight, so that nothing scored is lost."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

log = logging.getLogger(__name__)


class Interrupted(KeyboardInterrupt):
    """The user stopped the run; what is scored is safe, and the message says how to go on."""

    exit_code = 130


def _terminated(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt(_BY_SIGTERM)


_BY_SIGTERM = "ended by SIGTERM"
# What is held, and the handlers that it has as long as nobody has asked for another. A launcher of several processes
# ends them by SIGTERM when one dies; so does Slurm at the end of a job's time.
_HELD: dict[signal.Signals, tuple[Any, ...]] = {
    signal.SIGINT: (signal.default_int_handler,),
    signal.SIGTERM: (signal.SIG_DFL, _terminated),
}


@contextmanager
def saying_how_to_resume() -> Iterator[None]:
    """In the block SIGTERM interrupts as Ctrl-C does, and either is raised as Interrupted, with what to do next.

    Nothing changes for SIGTERM outside the main thread, or where the caller has a handler of its own.
    """
    in_main = threading.current_thread() is threading.main_thread()
    ours = in_main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if ours:
        signal.signal(signal.SIGTERM, _terminated)
    try:
        yield
    except Interrupted:
        raise
    except KeyboardInterrupt as error:
        why = f"{str(error) or 'interrupted'} while no piece was being scored"
        raise Interrupted(f"{why}; nothing is lost.\nRun the same command again to go on") from None
    finally:
        if ours:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextmanager
def held_interrupts(until: str, say: bool = True) -> Iterator[Callable[[], None]]:
    """Hold back the first Ctrl-C in the block, and SIGTERM; a second Ctrl-C interrupts at once.

    The value is a function to be called wherever it is good to stop: it raises KeyboardInterrupt if a signal came. The
    end of the block is such a place too, so that a loop over models stops after the last piece of one. Nothing changes
    outside the main thread, where Python delivers no signals, and where the caller has a handler of its own or ignores
    the signal (nohup).

    Args:
        until: what the wait is for, for the log: "what is in flight is scored".
        say: whether the log is told of the first signal.
    """
    asked: list[int] = []

    def stop_if_asked() -> None:
        if asked:
            why = () if signal.SIGINT in asked else (_BY_SIGTERM,)
            asked.clear()
            raise KeyboardInterrupt(*why)

    def hold(number: int, frame: FrameType | None) -> None:
        if number == signal.SIGINT and signal.SIGINT in asked:
            stop_if_asked()
        if say and not asked:
            log.warning("stopping when %s; Ctrl-C again stops at once", until)
        asked.append(number)

    in_main = threading.current_thread() is threading.main_thread()
    before = {number: signal.getsignal(number) for number in _HELD} if in_main else {}
    held = {number: handler for number, handler in before.items() if handler in _HELD[number]}
    for number in held:
        signal.signal(number, hold)
    try:
        yield stop_if_asked
        stop_if_asked()
    finally:
        for number, handler in held.items():
            signal.signal(number, handler)
