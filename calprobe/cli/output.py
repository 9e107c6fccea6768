"""Output of results: stdout and pages, and errors when they cannot be written."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click

from calprobe.cli.arguments import output_file
from calprobe.cli.kinds import Group, option
from calprobe.cli.terminal_text import say
from calprobe.errors import CalprobeError, UsageError
from calprobe.messages import cleaned, printable, printable_json, reason

if TYPE_CHECKING:
    from calprobe.analysis.tables import Table

html_option = option(
    "--html",
    "page",
    group=Group.LOOKS,
    metavar="FILE",
    type=output_file(),
    help="Also write one HTML page with figures and definitions; an existing file is replaced.",
)


class _Result(Protocol):
    def to_json(self) -> dict[str, Any]: ...


Found = TypeVar("Found", bound=_Result)
Tables = Callable[[Found], "Sequence[Table]"]


def in_format(form: str, found: Found, on_terminal: Tables[Found], in_files: Tables[Found]) -> str:
    """A result in one of `calprobe.cli.common.FORMATS`: its tables as text, its JSON, or its tables for a file."""
    if form == "text":
        return tables_text(on_terminal(found))
    if form == "json":
        return printed_json(found)
    from calprobe.analysis.tables import WRITERS

    text = WRITERS[form](in_files(found))
    # A data file keeps labels unchanged; a terminal gets no escape sequences.
    return text if form == "csv" and not sys.stdout.isatty() else printable(text)


def tables_text(tables: Sequence[Table]) -> str:
    """Tables as text, with the width and colours of stdout."""
    import io

    from rich.console import Console
    from rich.text import Text

    from calprobe.analysis.tables.text import print_tables

    class CleanConsole(Console):
        """A console that prints its own escape sequences, but none from labels."""

        def print(self, *objects: Any, **how: Any) -> None:
            for thing in objects:
                if isinstance(thing, Text):
                    thing.plain = cleaned(thing.plain)
            super().print(*(cleaned(thing) if isinstance(thing, str) else thing for thing in objects), **how)

    text = io.StringIO()
    print_tables(tables, CleanConsole(file=text, force_terminal=True if sys.stdout.isatty() else None))
    return text.getvalue().removesuffix("\n")


def printed_json(found: _Result) -> str:
    """A result's JSON, indented; NaN is an error, since JSON has no NaN."""
    import json

    return printable_json(json.dumps(found.to_json(), indent=2, allow_nan=False, ensure_ascii=False))


def print_result(text: str) -> None:
    """Print a command's result and a line end.

    If the reader closes the pipe (`calprobe report RUN | head`), ends the process quietly with exit code 128 + SIGPIPE,
    as other filters do (click would exit with 1). Raises CalprobeError if the disk is full.
    """
    try:
        click.echo(text, color=True)  # the caller uses colours only on a terminal
    except BrokenPipeError:
        _drop_stdout()
        sys.exit(128 + signal.SIGPIPE)
    except OSError as error:
        _drop_stdout()
        raise CalprobeError(f"cannot write to stdout: {reason(error)}; free disk space or write elsewhere") from error


def write_page(html: str, path: Path) -> None:
    """Write the page atomically, and print its path on stderr.

    Raises UsageError for a path that is no file name, CalprobeError if the file cannot be written.
    """
    from calprobe.runs import atomic

    if not path.name:
        raise UsageError(f"--html {str(path)!r}: not a file name; give one such as report.html")
    with atomic.named_file(path, "name another --html") as temporary:
        temporary.write_text(html, encoding="utf-8")
    say(f"wrote {path}")


def _drop_stdout() -> None:
    # Python flushes stdout again at exit, which would fail with unwritten text.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
