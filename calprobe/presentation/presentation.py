"""A result with all that is shown of it, whatever kind of runs it is of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from calprobe.errors import UsageError
from calprobe.show.tables.types import Table

if TYPE_CHECKING:
    from calprobe.show.plots import Look
    from calprobe.show.plots.look import Draw

Tables = Callable[[], Sequence[Table]]


class Result(Protocol):
    """What a command computes."""

    def to_json(self) -> dict[str, Any]:
        """What `--json` prints."""


@dataclass(frozen=True, slots=True)
class NamedFigure:
    """A figure, drawn when it is written."""

    name: str  # in the names of its files; empty where there is one figure alone
    draw: Draw


def no_figures() -> Iterable[NamedFigure | str]:
    """Of a result that has none."""
    return ()


@dataclass(frozen=True, slots=True)
class Presentation:
    """A result and what is shown of it; each part is made when it is called for."""

    result: Result
    tables: Tables  # on a terminal
    tables_in_files: Tables  # as Markdown, LaTeX and CSV
    figures: Callable[[], Iterable[NamedFigure | str]] = no_figures  # a str says which figure there is not, and why
    page: Callable[[], str] | None = None  # as HTML
    files: Mapping[str, Callable[[str], str]] = field(default_factory=dict)  # by what they hold: file name -> text
    linked: Mapping[str, Callable[[], str]] = field(default_factory=dict)  # pages beside `page`, by their file names


FORMATS_IN_FOLDER = (".png", ".svg")  # to look at and to print; `calprobe curve --out F.pdf` writes a single PDF
FigurePaths = Callable[[str], Sequence[Path]]  # a figure's name -> its files


def in_folder(folder: Path) -> FigurePaths:
    """Figures in a folder, in every format."""
    return lambda name: [folder / f"{name}{suffix}" for suffix in FORMATS_IN_FOLDER]


def write_figures(presentation: Presentation, paths: FigurePaths, look: Look) -> Iterator[Path | str]:
    """Write each figure, and give the file; a str says which figure there is not, and why.

    Raises UsageError for a figure or a style that cannot be drawn, CalprobeError for a file that cannot be written.
    """
    from calprobe.show.plots import drawing, save

    for figure in presentation.figures():
        if isinstance(figure, str):
            yield figure
            continue
        with drawing(look.style):
            drawn = figure.draw(look)
        for path in paths(figure.name):
            save(drawn, path, look.style)
            yield path


@dataclass(frozen=True, slots=True)
class ReportChoice:
    """What of a report is shown."""

    estimators: tuple[str, ...] | None = None  # None: all
    metrics: tuple[str, ...] | None = None
    tables: tuple[str, ...] | None = None  # kinds
    beside: str | None = None  # published numbers
    labels: Mapping[str, str] = field(default_factory=dict)  # names that runs were given, by what they are called
    figures: bool = False  # whether figures will be called for
    page: bool = False  # likewise
    replies: str = ""  # of runs of replies: what files of all replies beside the page are called first; empty: none is
    at_a_glance: bool = False  # the verdict and two tables on a terminal, in place of all
    wanted: tuple[str, ...] = ()  # kinds of tables that other options ask for, which a first look has too


WHOLE = ReportChoice()


def named_tables(tables: Sequence[Table], kinds: Sequence[str] | None) -> Sequence[Table]:
    """Tables of a comparison, each named by its label, as many as are wanted. Raises as `tables_of_kinds`."""
    named = [replace(table, kind=table.kind or table.label.removeprefix("asked-")) for table in tables]
    return tables_of_kinds(named, kinds, f"it has {', '.join(dict.fromkeys(table.kind for table in named))}")


def tables_of_kinds(tables: Sequence[Table], kinds: Sequence[str] | None, needs: str) -> Sequence[Table]:
    """The tables of the kinds; None: all. Raises UsageError for none."""
    chosen = [table for table in tables if kinds is None or table.kind in kinds]
    if not chosen:
        raise UsageError(f"--tables {','.join(kinds or ())}: the report has no such table; {needs}")
    # A file of numbers leaves out a table of numbers that others have; alone it has them.
    return chosen if any(table.tidy for table in chosen) else [replace(table, tidy=True) for table in chosen]
