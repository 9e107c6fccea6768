"""Text on its way to a terminal: labels of strangers' files must not move its cursor, nor secrets of the user show."""

from __future__ import annotations

import re

import click

from calprobe.messages import without_secrets

# Control characters but tab and line feed (escape sequences begin with one), what turns the direction of writing
# around, and halves of surrogate pairs, which no terminal can be sent.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_LONGEST = 1000  # characters of a line of a message; paths are a few hundred


def printable(text: str) -> str:
    r"""The text with each character that a terminal would obey, or could not print, as its escape in Python.

    >>> print(printable("\x1b[31mRome\u202e"))
    \x1b[31mRome\u202e
    """
    return _UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def cleaned(text: str) -> str:
    r"""The text with a `\ufffd` for each such character: as long as it was, for tables.

    >>> cleaned("\x1b[31mRome") == "\ufffd[31mRome"
    True
    """
    return _UNPRINTABLE.sub("\ufffd", text)


def printable_json(text: str) -> str:
    r"""JSON with such characters as JSON escapes them: it reads back the same.

    >>> print(printable_json('"a\u202e"'))
    "a\u202e"
    """
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def say(text: str) -> None:
    """Print a `message` on stderr."""
    click.echo(message(text), err=True)


def message(text: str) -> str:
    """A message for stderr: printable, without secrets, the middle of each very long line left out.

    >>> len(message("x" * 10_000)) < 1100
    True
    """
    return "\n".join(map(_shortened, printable(without_secrets(text)).split("\n")))


def _shortened(line: str) -> str:
    half = _LONGEST // 2
    return line if len(line) <= _LONGEST else f"{line[:half]} .. {line[-half:]}"
