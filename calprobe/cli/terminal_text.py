"""Messages on stderr: without control characters of labels, and without secrets."""

from __future__ import annotations

import click

from calprobe.messages import printable, without_secrets

_LONGEST = 1000  # most characters in a line of a message; paths have a few hundred


def say(text: str) -> None:
    """Print a `message` on stderr."""
    click.echo(message(text), err=True)


def message(text: str) -> str:
    """A message for stderr: printable, without secrets, very long lines without their middle.

    >>> len(message("x" * 10_000)) < 1100
    True
    """
    return "\n".join(map(_shortened, printable(without_secrets(text)).split("\n")))


def _shortened(line: str) -> str:
    half = _LONGEST // 2
    return line if len(line) <= _LONGEST else f"{line[:half]} .. {line[-half:]}"
