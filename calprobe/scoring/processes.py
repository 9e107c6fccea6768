"""Several processes that score one run: who takes what, how far all of them are, and how they end together.

They speak through the key-value store that torch.distributed opens at the start, and through the run folder; no tensor
passes between them, and no collective operation can hang. The first process (rank 0) makes the folder, holds its lock
and writes its manifest; each process writes the shards of what it has scored, and its own progress.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Protocol, TypeVar

from calprobe.errors import CalprobeError
from calprobe.scoring.progress import Advance

T = TypeVar("T")

_POLL_S = 0.1
_BEAT_S = 2.0
# Without a sign of life for so long a process counts as lost. Planning millions of statements holds Python for seconds.
LOST_S = 60.0
# Without a first one: a machine may take minutes longer than another to import torch from a disk that they share.
_STARTED_WITHIN_S = 300.0
_INTERRUPTED = 130


class Stopped(CalprobeError):
    """Another process of the run has stopped it, and has said why; `exit_code` is the other's."""

    def __init__(self, rank: int, exit_code: int) -> None:
        super().__init__(f"process {rank} stopped the run")
        self.rank = rank
        self.exit_code = exit_code


class Store(Protocol):
    """What is asked of torch.distributed's stores."""

    def add(self, key: str, amount: int) -> int: ...
    def set(self, key: str, value: str) -> None: ...
    def get(self, key: str) -> bytes: ...
    def check(self, keys: list[str]) -> bool: ...


class _OwnStore:
    """The store of a process that is alone."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def add(self, key: str, amount: int) -> int:
        self._texts[key] = str(int(self._texts.get(key, "0")) + amount)
        return int(self._texts[key])

    def set(self, key: str, value: str) -> None:
        self._texts[key] = value

    def get(self, key: str) -> bytes:
        return self._texts[key].encode()

    def check(self, keys: list[str]) -> bool:
        return all(key in self._texts for key in keys)


class Processes:
    """The processes of a run as one of them sees them: it is `rank` of `size`. One process alone is `Processes()`."""

    def __init__(self, rank: int = 0, size: int = 1, store: Store | None = None) -> None:
        self.rank = rank
        self.size = size
        self._first_to_stop: bool | None = None  # None: it has not stopped
        self._store: Store = store if store is not None else _OwnStore()

    @property
    def _others(self) -> list[int]:
        return [rank for rank in range(self.size) if rank != self.rank]

    @property
    def is_first(self) -> bool:
        """Whether this is the process that makes the folder and speaks for all."""
        return self.rank == 0

    @contextmanager
    def ending_together(self) -> Iterator[None]:
        """What ends this process with an error in the block ends the others too, at the next place that is good.

        Of what goes wrong in several at once, the first process, which speaks for all, and whoever failed first raise
        their errors, the others Stopped. An interrupt is raised by the first process, and is Stopped in the others.
        """
        with self._beating():
            try:
                yield
            except Stopped:
                raise
            except KeyboardInterrupt as interrupt:
                self.stop(interrupt)
                if self.is_first:
                    raise
                raise Stopped(self.rank, _INTERRUPTED) from None
            except Exception as error:
                is_news = self.stop(error)
                if self.is_first:
                    raise
                if not is_news:
                    raise Stopped(0, 1) from error
                error.args = (f"process {self.rank}: {error}", *error.args[1:])
                raise
            finally:
                with suppress(CalprobeError):
                    self.tell(f"left {self.rank}", "")

    def after_first(self, step: Callable[[], T]) -> T:
        """Do the step here once the first process has done it: its error is then said once."""
        if not self.is_first:
            self.hear("step")
        result = step()
        if self.is_first:
            self.tell("step", "")
        return result

    def tell(self, key: str, text: str) -> None:
        """Say something to whoever hears the key."""
        with self._reached():
            self._store.set(key, text)

    def hear(self, key: str) -> str:
        """Wait until somebody has told the key. Raises Stopped, or CalprobeError if the first process is lost."""
        first = _Pulse(self, 0)
        while not self._told(key):
            self.check()
            if first.lost:
                raise CalprobeError("the first process gives no sign of life; run the same command again to go on")
            time.sleep(_POLL_S)
        return self._text(key)

    def check(self) -> None:
        """Raise Stopped if another process has stopped the run."""
        if self._told("stop"):
            rank, code = map(int, self._text("stop").split())
            raise Stopped(rank, code)

    def turns(self, count: int) -> Iterator[int]:
        """Numbers below `count`, ascending; each goes to the one process that asks next, so all end at nearly one time.

        Ends early, in all processes, when one of them has stopped.
        """
        while True:
            with self._reached():
                turn = self._store.add("turns", 1) - 1
            if turn >= count or self._told("stop"):
                return
            yield turn

    def adding(self, show: Advance) -> Advance:
        """An Advance that counts for all processes, and shows what has come in from all of them."""
        shown = [0, 0]

        def advance(statements: int, tokens: int) -> None:
            with self._reached():
                done = [self._store.add("statements", statements), self._store.add("tokens", tokens)]
            if done != shown:
                show(done[0] - shown[0], done[1] - shown[1])
                shown[:] = done

        return advance

    def wait_for_others(
        self,
        meanwhile: Callable[[], None] = lambda: None,
        at_most_s: float | None = None,
        silent_s: float | None = None,
    ) -> None:
        """Wait until each other process has left or is lost; `meanwhile` is called now and then.

        With `at_most_s`, no longer than that. A process counts as lost that gives no sign of life for `silent_s`, which
        is a minute if it is not given, or five where it has given none at all.
        """
        waiting = {rank: _Pulse(self, rank, silent_s) for rank in self._others}
        began = time.monotonic()
        while waiting and (at_most_s is None or time.monotonic() - began < at_most_s):
            waiting = {r: pulse for r, pulse in waiting.items() if not (self._told(f"left {r}") or pulse.lost)}
            meanwhile()
            if waiting:
                time.sleep(_POLL_S)

    def beats(self, rank: int) -> int:
        """How often that process has given a sign of life."""
        with self._reached():
            return self._store.add(f"beats {rank}", 0)

    def stop(self, error: BaseException) -> bool:
        """Stop the others because of this error; whether this process is the first to stop the run."""
        code = error.exit_code if isinstance(error, CalprobeError) else 1
        code = _INTERRUPTED if isinstance(error, KeyboardInterrupt) else code
        with suppress(CalprobeError), self._reached():
            if self._first_to_stop is None:
                self._first_to_stop = self._store.add("stops", 1) == 1
                if self._first_to_stop:
                    self._store.set("stop", f"{self.rank} {code}")
        return self._first_to_stop is not False

    def _told(self, key: str) -> bool:
        with self._reached():
            return self._store.check([key])

    def _text(self, key: str) -> str:
        with self._reached():
            return self._store.get(key).decode()

    @contextmanager
    def _reached(self) -> Iterator[None]:
        """Turn the loss of the store, which lives with the launcher or the first process, into an error for people."""
        try:
            yield
        except RuntimeError as error:  # all that torch raises there derives from it
            what = "the process that holds the run together cannot be reached (it ended, or the network did)"
            raise CalprobeError(f"{what}\nwhat is scored is safe: run the same command again to go on") from error

    @contextmanager
    def _beating(self) -> Iterator[None]:
        """Give signs of life from another thread for as long as the block lasts."""
        if self.size == 1:
            yield
            return
        ended = threading.Event()

        def beat() -> None:
            with suppress(CalprobeError):
                while True:
                    with self._reached():
                        self._store.add(f"beats {self.rank}", 1)
                    if ended.wait(_BEAT_S):
                        return

        thread = threading.Thread(target=beat, name="sign of life", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


class _Pulse:
    """Watches another process's signs of life."""

    def __init__(self, processes: Processes, rank: int, silent_s: float | None = None) -> None:
        self._processes = processes
        self._rank = rank
        self._silent_s = silent_s
        self._beats, self._since = -1, time.monotonic()

    @property
    def lost(self) -> bool:
        """Whether the process has given no sign for so long, as seen from here."""
        beats, now = self._processes.beats(self._rank), time.monotonic()
        if beats != self._beats:
            self._beats, self._since = beats, now
        if self._silent_s is not None:
            return now - self._since > self._silent_s
        return now - self._since > (LOST_S if beats else _STARTED_WITHIN_S)
