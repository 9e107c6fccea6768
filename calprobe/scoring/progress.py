"""Progress of a run: a bar on a terminal's stderr, else a line in the log every half minute."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

log = logging.getLogger(__name__)

_SECONDS_BETWEEN_LINES = 30.0

Advance = Callable[[int, int], None]  # (statements, tokens) scored since the last call


def no_progress(statements: int, tokens: int) -> None:
    """An Advance that shows nothing."""


@dataclass(slots=True)
class _Lines:
    """Progress for a log: one line every half minute, and one at the end."""

    total: int  # statements
    done: int = 0
    tokens: int = 0
    started: float = field(default_factory=lambda: time.monotonic())
    said: float = field(default_factory=lambda: time.monotonic())

    def advance(self, statements: int, tokens: int) -> None:
        self.done += statements
        self.tokens += tokens
        now = time.monotonic()
        if now - self.said >= _SECONDS_BETWEEN_LINES or self.done == self.total:
            self.said = now
            seconds = max(now - self.started, 1e-9)
            left = (self.total - self.done) * seconds / max(self.done, 1)
            log.info(
                f"{self.done:,} of {self.total:,} statements, {self.done / seconds:,.0f} statements/s, "
                f"{self.tokens / seconds:,.0f} tokens/s, {left:,.0f} s left"
            )


@contextmanager
def progress(total: int, label: str, quiet: bool = False) -> Iterator[Advance]:
    """Show progress over `total` statements; the value is called with (statements, tokens) as they are scored."""
    if quiet or not total:
        yield no_progress
    elif not sys.stderr.isatty():
        yield _Lines(total).advance
    else:
        with _bar(total, label) as advance:
            yield advance


@contextmanager
def _bar(total: int, label: str) -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %  {task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    started, scored = time.monotonic(), 0
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(label, total=total, rate="")

        def advance(statements: int, tokens: int) -> None:
            nonlocal scored
            scored += tokens
            rate = f"{scored / max(time.monotonic() - started, 1e-9):,.0f} tokens/s"
            bar.update(task, advance=statements, rate=rate)

        yield advance
