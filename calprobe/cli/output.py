"""Output of results: tables on stdout, figures, pages and other files, and errors when they cannot be written."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from calprobe.cli.arguments import output_file
from calprobe.cli.option_kinds import Group, option
from calprobe.cli.terminal_text import say
from calprobe.errors import CalprobeError
from calprobe.messages import cleaned, printable, printable_json, reason
from calprobe.progress import is_terminal

if TYPE_CHECKING:
    from calprobe.presentation.presentation import FigurePaths, Presentation, Result, Tables
    from calprobe.show.plots import Look
    from calprobe.show.tables import Table

html_option = option(
    "--html",
    "page",
    group=Group.LOOKS,
    metavar="FILE",
    type=output_file(),
    help="Also write one HTML page with figures and definitions; an existing file is replaced.",
)


def print_presentation(presentation: Presentation, form: str) -> None:
    """Print what a command shows of runs. Raises as `print_tables`."""
    print_tables(presentation.result, presentation.tables, form, presentation.tables_in_files)


def print_tables(result: Result, tables: Tables, form: str, in_files: Tables | None = None) -> None:
    """Print a result in one of `calprobe.cli.common.FORMATS`: its tables as text, its JSON, or its tables for a file.

    Args:
        result: for the JSON.
        tables: on a terminal.
        form: the format.
        in_files: the tables as Markdown, LaTeX and CSV; None: the same.
    Raises:
        CalprobeError: as `print_result`.
    """
    if form == "text":
        print_result(tables_text(tables()), as_is=True)
    elif form == "json":
        print_result(printed_json(result))
    else:
        from calprobe.show.tables import WRITERS

        text = WRITERS[form]((in_files or tables)())
        print_data(text) if form == "csv" else print_result(text)


def write_presentation(
    presentation: Presentation, figure_paths: FigurePaths | None, look: Look, page: Path | None
) -> None:
    """Write figures and page where they are wanted, and list the files on stderr.

    Args:
        presentation: with what is written.
        figure_paths: where each figure is written, see `in_folder` and `at_path`; None: none is.
        look: of the figures.
        page: the file; None: none.
    Raises:
        UsageError: a figure or its style cannot be drawn. CalprobeError: a file cannot be written.
    """
    if figure_paths is not None:
        from calprobe.presentation.presentation import write_figures

        for written in write_figures(presentation, figure_paths, look):
            say(f"wrote {written}" if isinstance(written, Path) else written)
    if page is not None and presentation.page is not None:
        for name, linked in presentation.linked.items():
            write_text(linked(), page.with_name(name), "--html")
        write_text(presentation.page(), page, "--html")


def at_path(path: Path) -> FigurePaths:
    """A figure at the path; several beside it: ways.pdf becomes ways-reliability.pdf, ways-two-by-two.pdf, .."""
    return lambda name: [path.with_name(f"{path.stem}-{name}{path.suffix}") if name else path]


def write_text(text: str, path: Path, option: str) -> None:
    """Write the file that an option names, complete or not at all, and say so. Raises CalprobeError if it cannot be."""
    from calprobe.runs import atomic

    with atomic.named_file(path, f"name another {option}") as temporary:
        temporary.write_text(text, encoding="utf-8")
    say(f"wrote {path}")


def tables_text(tables: Sequence[Table]) -> str:
    """Tables as text, with the width and colours of stdout."""
    import io

    from rich.console import Console
    from rich.text import Text

    from calprobe.show.tables.text import print_tables

    class CleanConsole(Console):
        """A console that prints its own escape sequences, but none from labels."""

        def print(self, *objects: Any, **how: Any) -> None:
            for thing in objects:
                if isinstance(thing, Text):
                    thing.plain = cleaned(thing.plain)
            super().print(*(cleaned(thing) if isinstance(thing, str) else thing for thing in objects), **how)

    text = io.StringIO()
    print_tables(tables, CleanConsole(file=text, force_terminal=True if is_terminal(sys.stdout) else None))
    return text.getvalue().removesuffix("\n")


def printed_json(result: Result) -> str:
    """A result's JSON, indented; NaN is an error, since JSON has no NaN."""
    import json

    return printable_json(json.dumps(result.to_json(), indent=2, allow_nan=False, ensure_ascii=False))


def print_data(text: str) -> None:
    """`print_result` of what is read by programs: labels are unchanged, except on a terminal."""
    print_result(text, as_is=not is_terminal(sys.stdout))


def print_result(text: str, *, as_is: bool = False, end: str = "\n") -> None:
    """Print a command's result and `end`, with no escape sequence of a label in it.

    `as_is`: the text is free of these already, and may have colours of its own.

    If the reader closes the pipe (`calprobe report RUN | head`), ends the process quietly with exit code 128 + SIGPIPE,
    as other filters do (click would exit with 1). Raises CalprobeError if the disk is full.
    """
    try:
        shown = text if as_is else printable(text)
        click.echo(f"{shown}{end}", nl=False, color=True)  # the caller uses colours only on a terminal
    except BrokenPipeError:
        _drop_stdout()
        sys.exit(128 + signal.SIGPIPE)
    except OSError as error:
        _drop_stdout()
        raise CalprobeError(f"cannot write to stdout: {reason(error)}; free disk space or write elsewhere") from error


def _drop_stdout() -> None:
    # Python flushes stdout again at exit, which would fail with unwritten text.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
