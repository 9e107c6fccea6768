"""What commands that decide on answers read: any run, or a table with a row for each answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from calprobe.cli.terminal_text import explained_wait
from calprobe.errors import UsageError

if TYPE_CHECKING:
    from calprobe.cells.candidates import GroupedCell

Command = TypeVar("Command", bound=Callable[..., Any])


def column_options(command: Command) -> Command:
    """Which columns of a FILE are read: the command gets `score`, `uncertainty`, `correct` and `cluster`."""
    declared = (
        click.option("--score", metavar="COLUMN", help="FILE: the column of scores, larger for surer answers."),
        click.option("--uncertainty", metavar="COLUMN", help="FILE: the column of scores, smaller for surer answers."),
        click.option("--correct", metavar="COLUMN", help="FILE: the column that says whether an answer is correct."),
        click.option(
            "--cluster",
            metavar="COLUMN",
            help="Answers that depend on each other and are kept together: those with one value in this column of "
            "FILE, "
            "such as a document; of a run, those of one relation, or group of questions. Without it, of a run, the "
            "samples of a question.",
        ),
    )
    for declaration in reversed(declared):
        command = declaration(command)
    return command


@explained_wait()
def answer_cells(
    path: str, score: str | None, uncertainty: str | None, correct: str | None, cluster: str | None
) -> list[GroupedCell]:
    """The cells of a run or a table. Raises UsageError for columns of a run, none of a table, other groups."""
    from calprobe.cells.candidates import Columns, file_cell, run_cells
    from calprobe.cli.typed_runs import open_typed
    from calprobe.interop.score_tables import is_table
    from calprobe.measures.options import DEFAULT_OPTIONS

    if is_table(path):
        name = score or uncertainty
        if name is None or correct is None or (score and uncertainty):
            raise UsageError(f"{path}: give one column of scores, --score or --uncertainty, and one of --correct")
        return [file_cell(Path(path), Columns(name, uncertainty is not None, correct, cluster))]
    if any((score, uncertainty, correct)):
        raise UsageError(f"--score, --uncertainty and --correct are of tables; {path} is none")
    ((label, run),) = open_typed([path]).runs.items()
    cells = run_cells(label, run, DEFAULT_OPTIONS)
    return cells if cluster is None else [cell.clustered("--cluster", cluster) for cell in cells]
