"""Where results go: stdout, and what to do when it takes no more."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click

from calprobe.cli.shown import cleaned, printable, printable_json
from calprobe.errors import CalprobeError
from calprobe.wording import reason

if TYPE_CHECKING:
    from rich.console import Console

    from calprobe.analysis.tables import Table


class _Result(Protocol):
    def to_json(self) -> dict[str, Any]: ...


Found = TypeVar("Found")
Reported = TypeVar("Reported", bound=_Result)


def in_format(
    form: str,
    found: Reported,
    draw: Callable[[Reported, Console], None],
    tables: Callable[[Reported], Sequence[Table]],
) -> str:
    """A result in one of `calprobe.cli.common.FORMATS`: as `draw` prints it, as its JSON, or as its tables."""
    if form == "text":
        return drawn(draw, found)
    if form == "json":
        return printed_json(found)
    from calprobe.analysis.tables import WRITERS

    text = WRITERS[form](tables(found))
    # A file of data holds what it was given; a terminal, whose tables these are too, is sent no escape sequence.
    return text if form == "csv" and not sys.stdout.isatty() else printable(text)


def drawn(draw: Callable[[Found, Console], None], found: Found) -> str:
    """A result as `draw` prints it, as wide and colourful as stdout is."""
    import io

    from rich.console import Console
    from rich.text import Text

    class CleanConsole(Console):
        """Knows its own escape sequences from those in labels, and prints no others."""

        def print(self, *objects: Any, **how: Any) -> None:
            for thing in objects:
                if isinstance(thing, Text):
                    thing.plain = cleaned(thing.plain)
            super().print(*(cleaned(thing) if isinstance(thing, str) else thing for thing in objects), **how)

    text = io.StringIO()
    draw(found, CleanConsole(file=text, force_terminal=True if sys.stdout.isatty() else None))
    return text.getvalue().removesuffix("\n")


def printed_json(found: _Result) -> str:
    """A result's JSON, indented; NaN is an error, for JSON has none."""
    import json

    return printable_json(json.dumps(found.to_json(), indent=2, allow_nan=False, ensure_ascii=False))


def print_result(text: str) -> None:
    """Print a command's result and a line end.

    Ends the process as any filter if the reader went away (`calprobe report RUN | head`): quietly, with 128 + SIGPIPE.
    click would end it with 1, and rich, which draws reports, likewise. Raises CalprobeError if the disk is full.
    """
    try:
        click.echo(text, color=True)  # whoever draws in colour has looked whether this is a terminal
    except BrokenPipeError:
        _drop_stdout()
        sys.exit(128 + signal.SIGPIPE)
    except OSError as error:
        _drop_stdout()
        raise CalprobeError(f"stdout cannot be written: {reason(error)}; make room or write elsewhere") from error


def _drop_stdout() -> None:
    # Python flushes stdout once more when it ends, and would complain of what is left in it.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
