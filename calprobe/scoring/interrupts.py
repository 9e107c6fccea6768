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

# What is held, and the handler that it has as long as nobody has asked for another. A launcher of several processes
# ends them by SIGTERM when one dies; so does Slurm at the end of a job's time.
_HELD: dict[signal.Signals, Any] = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}


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
            why = () if signal.SIGINT in asked else ("ended by SIGTERM",)
            asked.clear()
            raise KeyboardInterrupt(*why)

    def hold(number: int, frame: FrameType | None) -> None:
        if number == signal.SIGINT and signal.SIGINT in asked:
            stop_if_asked()
        if say and not asked:
            log.warning("stopping when %s; Ctrl-C again stops at once", until)
        asked.append(number)

    in_main = threading.current_thread() is threading.main_thread()
    held = [number for number, handler in _HELD.items() if in_main and signal.getsignal(number) is handler]
    for number in held:
        signal.signal(number, hold)
    try:
        yield stop_if_asked
        stop_if_asked()
    finally:
        for number in held:
            signal.signal(number, _HELD[number])
