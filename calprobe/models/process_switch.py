"""A setting of the process that has one value while any thread is inside a block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")


class ProcessSwitch(Generic[T]):
    """Sets a value at the first block that begins, and what was there before at the end of the last one.

    Blocks of several threads may overlap in any order; each thread that restored what it found would leave the value
    of another.

    >>> seen = ["high"]
    >>> switch = ProcessSwitch(lambda: seen[-1], seen.append, "low")
    >>> with switch.held(), switch.held():
    ...     seen[-1]
    'low'
    >>> seen
    ['high', 'low', 'high']
    """

    def __init__(self, read: Callable[[], T], write: Callable[[T], object], value: T) -> None:
        """`read` and `write` are those of the setting, `value` what it is inside."""
        self._read, self._write, self._value = read, write, value
        self._lock = Lock()
        self._inside = 0
        self._before: T = value

    @contextmanager
    def held(self) -> Iterator[None]:
        """Inside, the setting has the value, also after an error of another block."""
        with self._lock:
            if self._inside == 0:
                self._before = self._read()
                self._write(self._value)
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if self._inside == 0:
                    self._write(self._before)
