"""What is counted while statements are scored; how it is shown is `calprobe.progress`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from calprobe.progress import rate, seconds_left, watchers

Advance = Callable[[int, int], None]  # (statements, tokens) scored since the last call


@dataclass(frozen=True, slots=True)
class ScoreProgress:
    """How far scoring is, over all processes. `ScoreOptions.progress` is called with it."""

    statements: int  # scored since this session began
    total: int  # that were missing when it began
    tokens: int  # scored since this session began
    seconds: float  # since scoring began, without loading the model
    relations: str = ""  # that are being scored: P30, or P30 to P36; empty before the first

    @property
    def done(self) -> int:
        """The statements."""
        return self.statements

    @property
    def part(self) -> str:
        """The relations."""
        return self.relations

    @property
    def seconds_left(self) -> float | None:
        """Seconds to the end at the present average speed; None before the first statement is scored."""
        return seconds_left(self.statements, self.total, self.seconds)

    @property
    def rates(self) -> str:
        """Statements and tokens a second."""
        return f"{rate(self.statements, self.seconds)} statements/s, {rate(self.tokens, self.seconds)} tokens/s"


ProgressHook = Callable[[ScoreProgress], None]


def no_progress(statements: int, tokens: int) -> None:
    """An Advance that shows nothing."""


class Meter:
    """Counts what is scored, and calls each of its watchers after every change."""

    def __init__(self, total: int, watchers: Sequence[ProgressHook]) -> None:
        self._total = total
        self._watchers = watchers
        self._began = time.monotonic()
        self._statements = self._tokens = 0
        self._relations = ""

    def advance(self, statements: int, tokens: int) -> None:
        """Count statements and tokens that were scored; an `Advance`."""
        self._statements += statements
        self._tokens += tokens
        self._show()

    def begin(self, relations: str) -> None:
        """Name the relations that are scored from now on."""
        self._relations = relations
        self._show()

    def _show(self) -> None:
        seconds = max(time.monotonic() - self._began, 1e-9)
        now = ScoreProgress(self._statements, self._total, self._tokens, seconds, self._relations)
        for watcher in self._watchers:
            watcher(now)


@contextmanager
def progress(total: int, label: str, quiet: bool = False, hook: ProgressHook | None = None) -> Iterator[Meter]:
    """Show progress over `total` statements, in the way that stderr allows; `quiet` leaves only the hook."""
    with watchers(total, label, "statements", quiet=quiet, hook=hook) as found:
        yield Meter(total, found)
