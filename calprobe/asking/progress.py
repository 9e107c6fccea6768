"""Progress of asking: a bar on a terminal, else a line in the log every half minute, and the caller's own function."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta

from calprobe.runs.replies import Reply

log = logging.getLogger(__name__)

_SECONDS_BETWEEN_LINES = 30.0


@dataclass(frozen=True, slots=True)
class AskProgress:
    """How far asking is. `AskOptions.progress` is called with it."""

    replies: int  # since this session began, failed ones too
    total: int  # that were missing when it began
    tokens: int  # generated since this session began
    failures: int  # requests that failed for good
    seconds: float  # since asking began, without loading the model
    piece: str = ""  # that is asked: mmlu.direct; empty before the first

    @property
    def seconds_left(self) -> float | None:
        """Seconds to the end at the present average speed; None before the first reply."""
        return (self.total - self.replies) * self.seconds / self.replies if self.replies > 0 else None

    @property
    def rates(self) -> str:
        """Replies and generated tokens a second, and how many requests failed, if any did."""
        replies, tokens = self.replies / self.seconds, self.tokens / self.seconds
        failed = f", {self.failures:,} failed" if self.failures else ""
        return f"{_rate(replies)} replies/s, {_rate(tokens)} tokens/s{failed}"


ProgressHook = Callable[[AskProgress], None]


class Meter:
    """Counts replies, and calls each of its watchers after every one."""

    def __init__(self, total: int, watchers: Sequence[ProgressHook]) -> None:
        self._total = total
        self._watchers = watchers
        self._began = time.monotonic()
        self._replies = self._tokens = self._failures = 0

    def count(self, reply: Reply, piece: str) -> None:
        """Count a reply that has arrived, or a request that failed."""
        self._replies += 1
        self._tokens += reply.tokens_out
        self._failures += reply.finish == "error"
        seconds = max(time.monotonic() - self._began, 1e-9)
        now = AskProgress(self._replies, self._total, self._tokens, self._failures, seconds, piece)
        for watcher in self._watchers:
            watcher(now)


@contextmanager
def progress(total: int, label: str, quiet: bool = False, hook: ProgressHook | None = None) -> Iterator[Meter]:
    """Show progress over `total` replies, in the way that stderr allows; `quiet` leaves only the hook."""
    hooks = [] if hook is None else [hook]
    if quiet or not total:
        yield Meter(total, hooks)
    elif sys.stderr.isatty():
        with _bar(total, label) as show:
            yield Meter(total, [show, *hooks])
    else:
        yield Meter(total, [_lines(), *hooks])


def _lines() -> ProgressHook:
    """Progress for a log: one line every half minute, and one at the end."""
    last_line = time.monotonic()

    def show(now: AskProgress) -> None:
        nonlocal last_line
        if time.monotonic() - last_line >= _SECONDS_BETWEEN_LINES or now.replies == now.total:
            last_line = time.monotonic()
            left = f"{now.seconds_left or 0:,.0f} s left"
            log.info(f"{now.replies:,} of {now.total:,} replies, {now.rates}, {left}")

    return show


@contextmanager
def _bar(total: int, label: str) -> Iterator[ProgressHook]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %  {task.fields[rates]}  {task.fields[left]}"),
        TextColumn("{task.fields[piece]}", markup=False),
    )
    bar = Progress(*columns, console=Console(stderr=True))
    task = bar.add_task(label, total=total, rates="", left="", piece="")

    def show(now: AskProgress) -> None:
        left = "-:--:-- left" if now.seconds_left is None else f"{timedelta(seconds=round(now.seconds_left))} left"
        bar.update(task, completed=now.replies, rates=now.rates, left=left, piece=now.piece)

    bar.start()
    try:
        yield show
    finally:
        with suppress(OSError):  # the terminal was closed; the signal that says so ends the run
            bar.stop()


def _rate(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"
