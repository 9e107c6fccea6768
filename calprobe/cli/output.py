"""Where results go: stdout and pages, and what to do when they take no more."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click

from calprobe.cli.terminal_text import cleaned, printable, printable_json, say
from calprobe.errors import CalprobeError, UsageError
from calprobe.messages import reason

if TYPE_CHECKING:
    from calprobe.analysis.tables import Table

html_option = click.option(
    "--html",
    "page",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write it all as one page too, with figures and definitions; a file is replaced.",
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
    # A file of data holds what it was given; a terminal, whose tables these are too, is sent no escape sequence.
    return text if form == "csv" and not sys.stdout.isatty() else printable(text)


def tables_text(tables: Sequence[Table]) -> str:
    """Tables as text, as wide and colourful as stdout is."""
    import io

    from rich.console import Console
    from rich.text import Text

    from calprobe.analysis.tables.text import print_tables

    class CleanConsole(Console):
        """Knows its own escape sequences from those in labels, and prints no others."""

        def print(self, *objects: Any, **how: Any) -> None:
            for thing in objects:
                if isinstance(thing, Text):
                    thing.plain = cleaned(thing.plain)
            super().print(*(cleaned(thing) if isinstance(thing, str) else thing for thing in objects), **how)

    text = io.StringIO()
    print_tables(tables, CleanConsole(file=text, force_terminal=True if sys.stdout.isatty() else None))
    return text.getvalue().removesuffix("\n")


def listing(rows: Sequence[Sequence[str]], align: str) -> str:
    """Rows as plain text, in columns two blanks apart, each flush left (`<`) or right (`>`).

    Of a few names and sizes, without what `calprobe.analysis` needs to be imported. Raises ValueError for a row of
    another length than `align`.

    >>> print(listing([("probe", "facts"), ("mini", "583")], "<>"))
    probe  facts
    mini     583
    """
    from rich.cells import cell_len

    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = []
        for side, width, text in zip(align, widths, row, strict=True):
            padding = " " * (width - cell_len(text))
            cells.append(text + padding if side == "<" else padding + text)
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


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


def write_page(html: str, path: Path) -> None:
    """Write the page, whole or not at all, and say on stderr where it is.

    A folder that is not there is made. Raises CalprobeError if the file cannot be written.
    """
    from calprobe.runs import atomic

    if not path.name:
        raise UsageError(f"--html {str(path)!r}: not the name of a file; give one such as report.html")
    with atomic.named_file(path, "name another --html") as temporary:
        temporary.write_text(html, encoding="utf-8")
    say(f"wrote {path}")


def _drop_stdout() -> None:
    # Python flushes stdout once more when it ends, and would complain of what is left in it.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
