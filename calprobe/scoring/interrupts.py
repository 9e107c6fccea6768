"""Ctrl-C that waits for what is in flight, so that nothing scored is lost."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

log = logging.getLogger(__name__)


@contextmanager
def held_interrupts(until: str) -> Iterator[Callable[[], None]]:
    """Hold back the first Ctrl-C in the block; a second one interrupts at once.

    The value is a function to be called wherever it is good to stop: it raises KeyboardInterrupt if Ctrl-C came. The
    end of the block is such a place too, so that a loop over models stops after the last piece of one. Nothing changes
    outside the main thread, where Python delivers no signals, and where the caller has a handler of its own or ignores
    Ctrl-C (nohup).

    Args:
        until: what the wait is for, for the log: "what is in flight is scored".
    """
    asked = False

    def stop_if_asked() -> None:
        nonlocal asked
        if asked:
            asked = False
            raise KeyboardInterrupt

    def hold(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        stop_if_asked()
        asked = True
        log.warning("stopping when %s; Ctrl-C again stops at once", until)

    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield stop_if_asked
        return
    signal.signal(signal.SIGINT, hold)
    try:
        yield stop_if_asked
        stop_if_asked()
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
