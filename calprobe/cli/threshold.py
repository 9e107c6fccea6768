"""`calprobe threshold`: above which confidence answers may be trusted, at a stated risk."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING

import click

from calprobe.cli.answer_cells import answer_cells, column_options
from calprobe.cli.arguments import output_file, refuse_overwriting, refuse_typed
from calprobe.cli.common import estimators_option, json_option
from calprobe.errors import CalprobeError, ProbeFormatError, UsageError
from calprobe.messages import columns_named

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from calprobe.cells.candidates import GroupedCell

USUAL = ("base", "margin", "average_min")
OF_ANSWERS = ("on", "estimators", "correct", "cluster", "by", "seed", "as_json")
OF_FIXING = ("risk", "level", *OF_ANSWERS)  # not of --apply


@click.command(short_help="Fix a threshold that keeps a stated risk.")
@click.argument("path", metavar="[RUN|FILE]", required=False)
@click.option(
    "--risk", type=float, metavar="SHARE", help="The largest share of wrong ones among the answers given, such as 0.05."
)
@click.option(
    "--level", type=float, default=0.95, show_default=True, metavar="SHARE", help="How certain that is to be."
)
@click.option("--on", metavar="RUN", help="Check the threshold on this run or file; without it, on the other half.")
@estimators_option("Estimators of a run, by their names in `report`.  [default: base,margin,average_min; asked: all]")
@column_options
@click.option("--by", metavar="relation|group", help="Also check each relation, or each group of questions.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, metavar="S", help="Seed of the split.")
@click.option("--out", type=output_file(), metavar="FILE", help="Write the threshold; with --apply the table.")
@click.option("--apply", "applied", metavar="FILE", help="Decide on the rows of a CSV file by a threshold of --out.")
@json_option
def command(
    path: str | None,
    risk: float | None,
    level: float,
    on: str | None,
    estimators: tuple[str, ...] | None,
    by: str | None,
    seed: int,
    out: Path | None,
    applied: str | None,
    as_json: bool,
    **columns: str | None,
) -> None:
    """Fix the least threshold above which at most --risk of the answers are wrong, and check it on others.

    RUN is any run; FILE a .csv, .parquet or .jsonl table with a row for each answer. Without either, say how many
    answers have to be checked.

    \b
        calprobe threshold runs/clm --risk 0.1
        calprobe threshold runs/clm --risk 0.1 --estimator margin --out threshold.json
        calprobe threshold --apply threshold.json new.csv --score margin --out decided.csv
        calprobe threshold answers.csv --score p --correct right --risk 0.05
        calprobe threshold --risk 0.05
    """
    from calprobe.cells.candidates import pair_of
    from calprobe.cli.output import print_result, printed_json, write_text
    from calprobe.studies.threshold.numbers import ThresholdOptions, Thresholds, threshold_of
    from calprobe.studies.threshold.sentences import needed_text, threshold_text

    refuse_overwriting(out, (path, on, applied))
    if applied is not None:
        refuse_typed(click.get_current_context(), OF_FIXING, "changes nothing with --apply; leave it out")
        _apply(applied, path, columns, out)
        return
    if risk is None:
        raise click.UsageError("--risk: give the share of wrong answers that is allowed, such as 0.05")
    for name, value in (("--risk", risk), ("--level", level)):
        if not 0 < value < 1:
            raise click.UsageError(f"{name} must lie between 0 and 1; got {value}")
    if path is None:
        of_answers = (*OF_ANSWERS, "score", "uncertainty", "out")
        refuse_typed(click.get_current_context(), of_answers, "is of answers; name a RUN or a FILE")
        print_result(needed_text(risk, level))
        return
    options = ThresholdOptions(risk, level, seed)
    others = None if on is None else answer_cells(on, **columns)
    found = []
    for cell in answer_cells(path, **columns):
        other = None if others is None else pair_of(cell, others)
        groups = None if by is None else _groups(other or cell, by, on or path)
        names = estimators or [name for name in USUAL if name in cell.cell.estimators] or list(cell.cell.estimators)
        on_cell = None if other is None else other.cell
        held_out = other is None or not cell.shares_facts(other)
        found += [threshold_of(cell.cell, name, options, on_cell, groups, held_out=held_out) for name in names]
    if not found:
        raise UsageError(f"{path}: no answers with a confidence")
    result = Thresholds(options, tuple(found))
    if out is not None and len(found) > 1:
        raise UsageError(f"--out holds one threshold, here are {len(found)}; name one --estimator and one variant")
    print_result(printed_json(result) if as_json else threshold_text(result))
    if out is None:
        return
    if not found[0].fixed.found:
        earlier = "; the file that is there is of an earlier call" if out.exists() else ""
        raise CalprobeError(f"{out} is not written: there is no threshold; allow a larger --risk{earlier}")
    write_text(found[0].file().text(), out, "--out")


def _groups(cell: GroupedCell, by: str, where: str) -> dict[str, npt.NDArray[np.bool_]]:
    """The units of each relation of a run of scores, or of each group of questions."""
    names = sorted(set(cell.groups.tolist()))
    if by != cell.by or len(names) < 2:
        raise UsageError(f"--by {by}: {where} has none; runs of scores have relation, runs of replies group")
    return {name: cell.groups == name for name in names}


def _apply(applied: str, path: str | None, columns: dict[str, str | None], out: Path | None) -> None:
    """Print the table, or write it, with a column that says answer or abstain."""
    from calprobe.cli.output import print_data, write_text
    from calprobe.probes.csv_files import read_csv
    from calprobe.studies.threshold.threshold_file import Threshold

    if path is None:
        raise click.UsageError("--apply: name the CSV file with new scores")
    threshold, table = Threshold.load(applied), read_csv(Path(path))
    option, other, surer = (
        ("score", "uncertainty", "larger") if threshold.at_least else ("uncertainty", "score", "smaller")
    )
    if columns[other] is not None:
        raise UsageError(
            f"--{other} {columns[other]}: {applied} was fixed on {threshold.score}, {surer} for surer answers; "
            f"name such a column with --{option}"
        )
    name = columns[option] or threshold.score
    if name not in table.header:
        raise UsageError(f"{path}: no column {name!r} (it has {columns_named(table.header)}); name one with --{option}")
    if "decision" in table.header:
        raise UsageError(f"{path}: has a column 'decision' already; rename it or take it out")
    place, values = table.header.index(name), []
    for line, row in zip(table.lines, table.rows, strict=True):
        try:
            values.append(float(row[place] or "nan"))
        except ValueError:
            raise ProbeFormatError(f"{path}:{line}: {name} {row[place]!r:.40} is no number; give one") from None
    for line, row, is_off in zip(table.lines, table.rows, threshold.off_scale(values), strict=True):
        if is_off:
            raise ProbeFormatError(
                f"{path}:{line}: {name} is {row[place]:.40}, {applied} was fixed on scores from 0 to 1; give such ones"
            )
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*table.header, "decision"])
    for row, answers in zip(table.rows, threshold.answers(values), strict=True):
        writer.writerow([*row, "answer" if answers else "abstain"])
    if out is None:
        print_data(text.getvalue().removesuffix("\n"))
    else:
        write_text(text.getvalue(), out, "--out")
