"""Progress of long work: a bar on a terminal or in a notebook, else a line in the log every half minute.

What is counted is its stage's own matter, see `calprobe.scoring.score_progress` and `calprobe.asking.ask_progress`.
"""

from __future__ import annotations

import logging
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol, TextIO, TypeVar

log = logging.getLogger(__name__)

_SECONDS_BETWEEN_LINES = 30.0
_SECONDS_TO_THE_FIRST = 5.0
_WIDE = 110  # columns of a terminal that has room for a long bar


class Progress(Protocol):
    """How far work is."""

    @property
    def done(self) -> int:
        """Units that are done since this session began."""

    @property
    def total(self) -> int:
        """Units that were missing when it began."""

    @property
    def seconds_left(self) -> float | None:
        """Seconds to the end; None before enough units are done to tell."""

    @property
    def rates(self) -> str:
        """How many of what a second, and what else is worth a word; the most important first, with commas between."""

    @property
    def part(self) -> str:
        """What is being worked on; empty before the first."""


P = TypeVar("P", bound=Progress)
Show = Callable[[Progress], None]


@contextmanager
def watchers(
    total: int, label: str, unit: str, *, quiet: bool = False, hook: Callable[[P], None] | None = None
) -> Iterator[Sequence[Callable[[P], None]]]:
    """What is to be called with the progress after every change: what shows it in the way that stderr allows, the hook.

    Args:
        total: units that are missing; with 0, nothing is shown.
        label: what is done, beside the bar.
        unit: what is counted, in the plural: statements, replies.
        quiet: call the hook alone.
        hook: the caller's own.
    """
    hooks = [] if hook is None else [hook]
    with _shown(total, label, unit, quiet) as show:
        yield hooks if show is None else [show, *hooks]


@dataclass(slots=True)
class Steps:
    """Work of so many steps, as `Progress`; `step` is called after each."""

    total: int
    unit: str
    shown: Sequence[Callable[[Steps], None]]
    begun: float  # by the clock of `time.monotonic`
    part: str = ""
    done: int = 0

    @property
    def seconds_left(self) -> float | None:
        """Seconds to the end; None before the first step is done."""
        return seconds_left(self.done, self.total, time.monotonic() - self.begun)

    @property
    def rates(self) -> str:
        """Steps a second."""
        return f"{rate(self.done, time.monotonic() - self.begun)} {self.unit}/s"

    def step(self, part: str) -> None:
        """One more is done, which was of this."""
        self.done, self.part = self.done + 1, part
        is_quick = self.done == self.total and time.monotonic() - self.begun < _SECONDS_TO_THE_FIRST
        if not is_quick or is_terminal(sys.stderr):  # in a log, quick work is not worth a line
            for show in self.shown:
                show(self)


@contextmanager
def steps(total: int, label: str, unit: str, *, quiet: bool = False) -> Iterator[Steps]:
    """So many steps, shown as `watchers` shows them; with the same arguments."""
    hook: Callable[[Steps], None] | None = None
    with watchers(total, label, unit, quiet=quiet, hook=hook) as shown:
        yield Steps(total, unit, shown, time.monotonic())


def _shown(total: int, label: str, unit: str, quiet: bool) -> AbstractContextManager[Show | None]:
    if quiet or not total:
        return nullcontext()
    if is_terminal(sys.stderr):
        return _bar(total, label)
    if _in_notebook():
        return _notebook_bar(total, label, unit)
    return nullcontext(_lines(unit))


def seconds_left(done: int, total: int, seconds: float) -> float | None:
    """Seconds to the end at the average speed so far; None before the first unit is done.

    >>> seconds_left(100, 300, 2.0)
    4.0
    """
    return (total - done) * seconds / done if done > 0 else None


def rate(count: float, seconds: float) -> str:
    """So many a second, with a decimal where they are few, and never 0 where there are any.

    >>> rate(3, 2.0), rate(3000, 2.0), rate(1, 40.0)
    ('1.5', '1,500', '0.025')
    """
    value = count / max(seconds, 1e-9)
    if value >= 0.1 or not count:
        return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"
    return f"{value:.2g}"


def _lines(unit: str) -> Show:
    """Progress for a log: a line after some seconds, then one every half minute, and one at the end."""
    last_line = time.monotonic() + _SECONDS_TO_THE_FIRST - _SECONDS_BETWEEN_LINES
    last_done = 0

    def show(now: Progress) -> None:
        nonlocal last_line, last_done
        at_end = now.done == now.total != last_done
        if now.done and (time.monotonic() - last_line >= _SECONDS_BETWEEN_LINES or at_end):
            last_line = time.monotonic()
            left = "" if now.seconds_left is None else f", {now.seconds_left:,.0f} s left"
            log.info(f"{now.done:,} of {now.total:,} {unit}, {now.rates}{left}")
        last_done = now.done

    return show


@contextmanager
def _bar(total: int, label: str) -> Iterator[Show]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    bar_width = 20 if console.width >= _WIDE else 10
    columns = (TextColumn("{task.fields[count]}"), BarColumn(bar_width), TextColumn("{task.description}", markup=False))
    bar = Bar(*columns, console=console)
    task = bar.add_task(label, total=total, count=f"0 of {total:,}")

    def show(now: Progress) -> None:
        count = f"{now.done:,} of {now.total:,}"
        text = _fitted(
            (_time_left(now), *now.rates.split(", "), label, now.part), console.width - bar_width - len(count) - 2
        )
        bar.update(task, completed=now.done, description=text, count=count)

    bar.start()
    try:
        yield show
    finally:
        with suppress(OSError):  # the terminal was closed; the signal that says so ends the run
            bar.stop()


def _fitted(texts: Sequence[str], width: int) -> str:
    """As many of the texts, from the first on, as have room beside each other.

    >>> _fitted(["0:01:40 left", "3 failed", "51 tokens/s"], 25)
    '0:01:40 left, 3 failed'
    """
    fitted = ""
    for text in filter(None, texts):
        longer = f"{fitted}, {text}" if fitted else text
        if len(longer) > width:
            break
        fitted = longer
    return fitted


def _time_left(now: Progress) -> str:
    """0:01:40 left, or -:--:-- before anything is done."""
    left = now.seconds_left
    return "-:--:-- left" if left is None else f"{timedelta(seconds=round(left))} left"


def _in_notebook() -> bool:
    """Whether this process is the kernel of a notebook, which shows stderr below a cell."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and "IPKernelApp" in shell.config


@contextmanager
def _notebook_bar(total: int, label: str, unit: str) -> Iterator[Show]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # without ipywidgets tqdm warns, and draws its bar as text
        from tqdm.auto import tqdm  # comes with transformers

        bar = tqdm(total=total, desc=label, unit=f" {unit}", unit_scale=True)

    def show(now: Progress) -> None:
        bar.set_postfix_str(now.part, refresh=False)
        bar.update(now.done - bar.n)

    try:
        yield show
    finally:
        bar.close()


def is_terminal(stream: TextIO | None) -> bool:
    """Whether somebody looks at what is written to a stream; None: it was closed before the command began."""
    return stream is not None and stream.isatty()
