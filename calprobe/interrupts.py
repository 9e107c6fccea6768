"""Ctrl-C, SIGTERM and SIGHUP that wait for the work in progress, so that no results are lost."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

log = logging.getLogger(__name__)

INTERRUPTED = 130  # the exit code of Ctrl-C: nothing is wrong with what was done


class Interrupted(KeyboardInterrupt):
    """The user stopped the run; scores are safe, and the message says how to resume."""

    exit_code = INTERRUPTED


def _terminated(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt(_ended_by(number))


def _ended_by(number: int) -> str:
    return f"ended by {signal.Signals(number).name}"


# A launcher of several processes ends them by SIGTERM when one dies; so does Slurm at the end of a job's time. SIGHUP
# comes when the terminal or the connection is closed; Windows has none.
_ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
# The signals that are held, and their default handlers.
_HELD: dict[signal.Signals, tuple[Any, ...]] = {
    signal.SIGINT: (signal.default_int_handler,),
    **dict.fromkeys(_ENDING, (signal.SIG_DFL, _terminated)),
}


class Held:
    """The signals that came in while they were held back."""

    def __init__(self) -> None:
        self._signals: list[int] = []
        self.is_open = False  # whether a signal raises as soon as it comes
        self.has_raised = False  # the work has stopped, and waits only for what it must

    def __call__(self) -> None:
        """Raise KeyboardInterrupt if a signal came, and forget it."""
        if self._signals:
            why = () if signal.SIGINT in self._signals else (_ended_by(self._signals[0]),)
            self._signals.clear()
            self.has_raised = True
            raise KeyboardInterrupt(*why)

    @property
    def asked(self) -> bool:
        """Whether a signal came."""
        return bool(self._signals)

    def take(self, number: int) -> None:
        """A signal came; a second Ctrl-C raises KeyboardInterrupt, as does any signal in the block of `opened`."""
        if number == signal.SIGINT and signal.SIGINT in self._signals:
            self()
        self._signals.append(number)
        if self.is_open:
            self()

    @contextmanager
    def opened(self, wanted: bool = True) -> Iterator[None]:
        """In the block a signal raises KeyboardInterrupt at once, also one that came before; not if not `wanted`."""
        self.is_open = wanted
        try:
            if wanted:
                self()
            yield
        finally:
            self.is_open = False


@contextmanager
def saying_how_to_resume(when: str = "while no piece was being scored; no scores are lost") -> Iterator[None]:
    """In the block, SIGTERM and SIGHUP interrupt like Ctrl-C; all are raised as Interrupted, with the next step.

    Signals are unchanged outside the main thread, or if the caller has set a handler or ignores them (nohup). `when`
    says what a signal interrupts that nothing else in the block has taken.
    """
    in_main = threading.current_thread() is threading.main_thread()
    ours = [number for number in _ENDING if in_main and signal.getsignal(number) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, _terminated)
    try:
        yield
    except Interrupted:
        raise
    except KeyboardInterrupt as error:
        why = f"{str(error) or 'interrupted'} {when}"
        raise Interrupted(f"{why}.\nRun the same command again to resume") from None
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


@contextmanager
def held_interrupts(until: str, say: bool = True) -> Iterator[Held]:
    """Hold back the first Ctrl-C in the block, SIGTERM and SIGHUP; a second Ctrl-C interrupts at once.

    Yields a function to call wherever the run may stop: it raises KeyboardInterrupt if a signal came. The end of the
    block is also such a place, so that a loop over models stops after the last piece of one. Signals are unchanged
    outside the main thread, where Python delivers none, and if the caller has set a handler or ignores the signal
    (nohup).

    Args:
        until: what the wait is for, for the log: "the current group is scored".
        say: whether the first signal is logged.
    """
    stop_if_asked = Held()

    def hold(number: int, frame: FrameType | None) -> None:
        if say and not (stop_if_asked.asked or stop_if_asked.is_open or stop_if_asked.has_raised):
            log.warning("stopping when %s; Ctrl-C again stops at once", until)
        stop_if_asked.take(number)

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
