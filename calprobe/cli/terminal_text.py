"""Text for a terminal: removes control characters from labels of files, and hides secrets."""

from __future__ import annotations

import re

import click

from calprobe.messages import without_secrets

# Control characters other than tab and line feed (escape sequences begin with one), characters that change the
# writing direction, and surrogates, which cannot be encoded.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_LONGEST = 1000  # most characters in a line of a message; paths have a few hundred


def printable(text: str) -> str:
    r"""The text with each character that would control a terminal, or cannot be printed, as a Python escape.

    >>> print(printable("\x1b[31mRome\u202e"))
    \x1b[31mRome\u202e
    """
    return _UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def cleaned(text: str) -> str:
    r"""The text with `\ufffd` for each such character: its length stays the same, for tables.

    >>> cleaned("\x1b[31mRome") == "\ufffd[31mRome"
    True
    """
    return _UNPRINTABLE.sub("\ufffd", text)


def printable_json(text: str) -> str:
    r"""JSON with such characters as JSON escapes: it parses to the same value.

    >>> print(printable_json('"a\u202e"'))
    "a\u202e"
    """
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


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
