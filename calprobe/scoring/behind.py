"""Writing behind: a thread stores what is scored while the next group is computed: no device waits for a disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import partial


class WriteBehind:
    """Does writes in order in one other thread, one at a time. None waits there, so that a killed process loses few."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="write")
        self._under_way: Future[None] | None = None

    def __call__(self, write: Callable[[], None]) -> None:
        """Begin that write when the one before it is done. Raises that one's error instead, if it failed."""
        self.finish()
        self._under_way = self._pool.submit(write)

    def finish(self) -> None:
        """Wait for the write that was begun. Raises its error, once."""
        under_way, self._under_way = self._under_way, None
        if under_way is not None:
            _to_the_end(partial(wait, [under_way]))
            under_way.result()

    def close(self) -> None:
        """End the thread, and wait for its write: after this the run's lock may be given away."""
        _to_the_end(partial(self._pool.shutdown, wait=True))


@contextmanager
def writing_behind() -> Iterator[WriteBehind]:
    """At the end of the block all writes are done, also where the block raises (Ctrl-C, SIGTERM, an error).

    The error of a write that failed is raised by the next write, or at the end of the block.
    """
    behind = WriteBehind()
    try:
        try:
            yield behind
        finally:
            behind.finish()
    finally:
        behind.close()


def _to_the_end(waiting: Callable[[], object]) -> None:
    """Wait; a Ctrl-C meanwhile does not end that, and is raised afterwards."""
    interrupt: KeyboardInterrupt | None = None
    while True:
        try:
            waiting()
            break
        except KeyboardInterrupt as error:
            interrupt = error
    if interrupt is not None:
        raise interrupt
