"""Messages on stderr, those of the library's log among them: without control characters of labels, without secrets."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import click

from calprobe.messages import printable, without_secrets
from calprobe.progress import is_terminal

_LONGEST = 1000  # most characters in a line of a message; paths have a few hundred
_PATIENCE = 3.0  # seconds that somebody waits without asking why
_ROUGH = 100  # resamples, a tenth of the usual ones


def say(text: str) -> None:
    """Print a `message` on stderr."""
    click.echo(message(text), err=True)


def log_to_stderr(quiet: bool = False, prefix: str = "") -> None:
    """Show calprobe's log on stderr, each message after the prefix, without level or time; only warnings if `quiet`."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Formatter(f"{prefix}%(message)s"))
    logger = logging.getLogger("calprobe")
    logger.handlers = [handler]
    logger.setLevel(logging.WARNING if quiet else logging.INFO)
    logger.propagate = False


class _Formatter(logging.Formatter):
    """Formats log messages so that labels and paths are safe for a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        return message(super().format(record))


@contextmanager
def explained_wait(n_resamples: int = 0) -> Iterator[None]:
    """Say on a terminal, after some seconds, what takes so long and what is faster; in a log nobody waits."""
    faster = f"; --bootstrap {_ROUGH} is faster, and rougher" if n_resamples > _ROUGH else ""
    what = f"computing {n_resamples:,} resamples of the numbers" if n_resamples else "reading the files"
    timer = threading.Timer(_PATIENCE, say, (f"{what}{faster}",))
    timer.daemon = True
    if is_terminal(sys.stderr):
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


def message(text: str) -> str:
    """A message for stderr: printable, without secrets, very long lines without their middle.

    >>> len(message("x" * 10_000)) < 1100
    True
    """
    return "\n".join(map(_shortened, printable(without_secrets(text)).split("\n")))


def _shortened(line: str) -> str:
    half = _LONGEST // 2
    return line if len(line) <= _LONGEST else f"{line[:half]} .. {line[-half:]}"
