"""Progress of a run: a bar on a terminal or in a notebook, else a line in the log every half minute, and the caller's
own function."""

from __future__ import annotations

import logging
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta

log = logging.getLogger(__name__)

_SECONDS_BETWEEN_LINES = 30.0

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
    def seconds_left(self) -> float | None:
        """Seconds to the end at the present average speed; None before the first statement is scored."""
        return (self.total - self.statements) * self.seconds / self.statements if self.statements > 0 else None


ProgressHook = Callable[[ScoreProgress], None]


def no_progress(statements: int, tokens: int) -> None:
    """An Advance that shows nothing."""


class Meter:
    """Counts what is scored, and tells each of its watchers after every change."""

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
    hooks = [] if hook is None else [hook]
    if quiet or not total:
        yield Meter(total, hooks)
    elif sys.stderr.isatty():
        with _bar(total, label) as show:
            yield Meter(total, [show, *hooks])
    elif _in_notebook():
        with _notebook_bar(total, label) as show:
            yield Meter(total, [show, *hooks])
    else:
        yield Meter(total, [_lines(), *hooks])


def _lines() -> ProgressHook:
    """Progress for a log: one line every half minute, and one at the end."""
    last_line = time.monotonic()
    last_done = 0

    def show(now: ScoreProgress) -> None:
        nonlocal last_line, last_done
        at_end = now.statements == now.total != last_done
        if now.statements and (time.monotonic() - last_line >= _SECONDS_BETWEEN_LINES or at_end):
            last_line = time.monotonic()
            log.info(
                f"{now.statements:,} of {now.total:,} statements, {now.statements / now.seconds:,.0f} statements/s, "
                f"{now.tokens / now.seconds:,.0f} tokens/s, {now.seconds_left or 0:,.0f} s left"
            )
        last_done = now.statements

    return show


@contextmanager
def _bar(total: int, label: str) -> Iterator[ProgressHook]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %  {task.fields[rate]}  {task.fields[left]}"),
        TextColumn("{task.fields[relations]}", markup=False),
    )
    bar = Progress(*columns, console=Console(stderr=True))
    task = bar.add_task(label, total=total, rate="", left="", relations="")

    def show(now: ScoreProgress) -> None:
        rate = f"{now.tokens / now.seconds:,.0f} tokens/s"
        bar.update(task, completed=now.statements, rate=rate, left=_time_left(now), relations=now.relations)

    bar.start()
    try:
        yield show
    finally:
        with suppress(OSError):  # the terminal was closed; the signal that says so ends the run
            bar.stop()


def _time_left(now: ScoreProgress) -> str:
    """0:01:40 left, or -:--:-- before anything is scored."""
    left = now.seconds_left
    return "-:--:-- left" if left is None else f"{timedelta(seconds=round(left))} left"


def _in_notebook() -> bool:
    """Whether this process is the kernel of a notebook, which shows stderr below a cell."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and "IPKernelApp" in shell.config


@contextmanager
def _notebook_bar(total: int, label: str) -> Iterator[ProgressHook]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # without ipywidgets tqdm warns, and draws its bar as text
        from tqdm.auto import tqdm  # comes with transformers

        bar = tqdm(total=total, desc=label, unit=" statements", unit_scale=True)

    def show(now: ScoreProgress) -> None:
        bar.set_postfix_str(now.relations, refresh=False)
        bar.update(now.statements - bar.n)

    try:
        yield show
    finally:
        bar.close()
