"""Several processes that score one run: their queue, summed progress, heartbeats and common stop.

They communicate through the key-value store that torch.distributed opens at the start, and through the run folder. They
exchange no tensors and use no collective operation, which could hang. The first process (rank 0) makes the folder, has
its lock and writes its manifest; each process writes the shards of its groups, and its own progress.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Protocol, TypeVar

from calprobe.errors import CalprobeError
from calprobe.interrupts import INTERRUPTED
from calprobe.scoring.score_progress import Advance

T = TypeVar("T")

_POLL_S = 0.1
_HEARTBEAT_S = 2.0
# A process without a heartbeat for so long is lost. Planning millions of statements blocks Python for seconds.
LOST_S = 60.0
# The same for the first heartbeat: importing torch from a shared disk may take minutes longer on one machine.
_STARTED_WITHIN_S = 300.0


class Stopped(CalprobeError):
    """Another process has stopped the run and printed the reason; `exit_code` is that of the other process."""

    def __init__(self, rank: int, exit_code: int) -> None:
        super().__init__(f"process {rank} stopped the run")
        self.rank = rank
        self.exit_code = exit_code


class Store(Protocol):
    """The methods of torch.distributed's stores that are used here."""

    def add(self, key: str, amount: int) -> int:
        """Add to the number under a key and return the sum."""

    def set(self, key: str, value: str) -> None:
        """Write the value of a key."""

    def get(self, key: str) -> bytes:
        """The value of a key; waits until there is one."""

    def check(self, keys: list[str]) -> bool:
        """Whether all keys have values."""


class _OwnStore:
    """The store of a single process."""

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


class Workers:
    """The processes of a run, as seen by the one with this `rank` of `size`. A single process is `Workers()`."""

    def __init__(self, rank: int = 0, size: int = 1, store: Store | None = None) -> None:
        self.rank = rank
        self.size = size
        self._stopped_first: bool | None = None  # None: this process has not stopped the run
        self._store: Store = store if store is not None else _OwnStore()

    @property
    def _others(self) -> list[int]:
        return [rank for rank in range(self.size) if rank != self.rank]

    @property
    def is_first(self) -> bool:
        """Whether this is the process that makes the folder and prints messages for all."""
        return self.rank == 0

    @contextmanager
    def stopping_together(self) -> Iterator[None]:
        """An error that ends this process in the block also stops the others, at their next check.

        If several processes fail, the first process and the one that failed first raise their own errors; the others
        raise Stopped. An interrupt is raised by the first process; the others raise Stopped.
        """
        with self._sending_heartbeats():
            try:
                yield
            except Stopped:
                raise
            except KeyboardInterrupt as interrupt:
                self.stop(interrupt)
                if self.is_first:
                    raise
                raise Stopped(self.rank, INTERRUPTED) from None
            except Exception as error:
                is_first_stop = self.stop(error)
                if self.is_first:
                    raise
                if not is_first_stop:
                    raise Stopped(0, 1) from error
                error.args = (f"process {self.rank}: {error}", *error.args[1:])
                raise
            finally:
                self._say_left()

    def after_first(self, step: Callable[[], T]) -> T:
        """Do the step in the first process, then in this one, so that its error is printed once."""
        if not self.is_first:
            self.receive("step")
        result = step()
        if self.is_first:
            self.send("step", "")
        return result

    def send(self, key: str, text: str) -> None:
        """Send a text under the key to all processes."""
        with self._connected():
            self._store.set(key, text)

    def receive(self, key: str) -> str:
        """Wait for the text of the key. Raises Stopped, or CalprobeError if the first process is lost."""
        first = _Heartbeat(self, 0)
        while not self._was_sent(key):
            self.check()
            if first.lost:
                raise CalprobeError("no heartbeat from the first process; run the same command again to resume")
            time.sleep(_POLL_S)
        return self._text(key)

    def check(self) -> None:
        """Raise Stopped if another process has stopped the run."""
        if self._was_sent("stop"):
            rank, code = map(int, self._text("stop").split())
            raise Stopped(rank, code)

    def queue(self, count: int) -> Iterator[int]:
        """Numbers below `count`, ascending; each process takes the next one, so all end at nearly the same time.

        Ends early in all processes when one of them has stopped.
        """
        while True:
            with self._connected():
                turn = self._store.add("turns", 1) - 1
            if turn >= count or self._was_sent("stop"):
                return
            yield turn

    def summed(self, show: Advance) -> Advance:
        """An Advance that shows the sum over all processes."""
        shown = [0, 0]

        def advance(statements: int, tokens: int) -> None:
            with self._connected():
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
        """Wait until each other process has left or is lost; `meanwhile` is called repeatedly.

        Waits no longer than `at_most_s`, if given. A process is lost without a heartbeat for `silent_s`; the default is
        a minute, or five minutes before its first heartbeat.
        """
        waiting = {rank: _Heartbeat(self, rank, silent_s) for rank in self._others}
        began = time.monotonic()
        while waiting and (at_most_s is None or time.monotonic() - began < at_most_s):
            waiting = {r: pulse for r, pulse in waiting.items() if not (self._was_sent(f"left {r}") or pulse.lost)}
            meanwhile()
            if waiting:
                time.sleep(_POLL_S)

    def heartbeats(self, rank: int) -> int:
        """The number of heartbeats of that process."""
        with self._connected():
            return self._store.add(f"beats {rank}", 0)

    def stop(self, error: BaseException) -> bool:
        """Stop the others because of this error; returns whether this process is the first to stop the run."""
        code = error.exit_code if isinstance(error, CalprobeError) else 1
        code = INTERRUPTED if isinstance(error, KeyboardInterrupt) else code
        with suppress(CalprobeError), self._connected():
            if self._stopped_first is None:
                self._stopped_first = self._store.add("stops", 1) == 1
                if self._stopped_first:
                    self._store.set("stop", f"{self.rank} {code}")
        return self._stopped_first is not False

    def leave(self, error: BaseException) -> None:
        """Stop the others because of this error, before this process has begun: they do not wait for it."""
        self.stop(error)
        self._say_left()

    def _say_left(self) -> None:
        with suppress(CalprobeError):
            self.send(f"left {self.rank}", "")

    def _was_sent(self, key: str) -> bool:
        with self._connected():
            return self._store.check([key])

    def _text(self, key: str) -> str:
        with self._connected():
            return self._store.get(key).decode()

    @contextmanager
    def _connected(self) -> Iterator[None]:
        """Turn the loss of the store, which belongs to the launcher or the first process, into a CalprobeError."""
        try:
            yield
        except RuntimeError as error:  # all errors of torch's stores derive from it
            what = "the process with the shared store cannot be reached (it has ended, or the network failed)"
            raise CalprobeError(f"{what}\nwritten scores are safe: run the same command again to resume") from error

    @contextmanager
    def _sending_heartbeats(self) -> Iterator[None]:
        """Send heartbeats from another thread during the block."""
        if self.size == 1:
            yield
            return
        ended = threading.Event()

        def beat() -> None:
            with suppress(CalprobeError):
                while True:
                    with self._connected():
                        self._store.add(f"beats {self.rank}", 1)
                    if ended.wait(_HEARTBEAT_S):
                        return

        thread = threading.Thread(target=beat, name="heartbeat", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


class _Heartbeat:
    """Watches the heartbeats of another process."""

    def __init__(self, workers: Workers, rank: int, silent_s: float | None = None) -> None:
        self._workers = workers
        self._rank = rank
        self._silent_s = silent_s
        self._beats, self._since = -1, time.monotonic()

    @property
    def lost(self) -> bool:
        """Whether the process has sent no heartbeat for too long."""
        heartbeats, now = self._workers.heartbeats(self._rank), time.monotonic()
        if heartbeats != self._beats:
            self._beats, self._since = heartbeats, now
        if self._silent_s is not None:
            return now - self._since > self._silent_s
        return now - self._since > (LOST_S if heartbeats else _STARTED_WITHIN_S)
