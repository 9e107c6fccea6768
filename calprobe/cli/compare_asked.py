"""`calprobe compare` of asked runs: what its options mean, and what is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from calprobe.cli.output import in_format, print_result, write_page
from calprobe.cli.terminal_text import say
from calprobe.errors import UsageError

if TYPE_CHECKING:
    from calprobe.analysis.options import CompareOptions, Pair
    from calprobe.analysis.plots import Look
    from calprobe.cells.opening import AnyRun


@dataclass(frozen=True, slots=True)
class AskedDifferences:
    """How replies are read, which variants are compared, and what is written."""

    readers: tuple[str, ...] | None
    window: int | None
    variants: tuple[Pair, ...] | None
    form: str
    plot: Path | None
    look: Look
    page: Path | None


def compare_runs_of_replies(opened: Mapping[str, AnyRun], options: CompareOptions, wanted: AskedDifferences) -> None:
    """Print the differences, and write figure and page where they are wanted."""
    from calprobe.analysis.asked.compare_asked import compare_asked
    from calprobe.analysis.asked.options import AskedOptions
    from calprobe.analysis.tables.asked.compared import compared_tables
    from calprobe.cells.opening import asked_runs, of_replies

    asked = AskedOptions(
        wanted.readers, window=wanted.window, ace_bins=options.scores.ace_bins, resampling=options.scores.resampling
    )
    found = compare_asked(asked_runs(of_replies(opened)), options, asked, wanted.variants)
    print_result(in_format(wanted.form, found, compared_tables, compared_tables))
    if wanted.plot is not None:
        from calprobe.analysis.asked.compared_figure import compared_forest
        from calprobe.analysis.curves.differences import draw_differences
        from calprobe.analysis.plots import drawing, save

        with drawing(wanted.look.style):
            figure = draw_differences(compared_forest(found), wanted.look)
        save(figure, wanted.plot, wanted.look.style)
        say(f"wrote {wanted.plot}")
    if wanted.page is not None:
        from calprobe.analysis.html import asked_comparison_page

        write_page(asked_comparison_page(found), wanted.page)


def variant_pairs(clauses: tuple[str, ...] | None) -> tuple[Pair, ...] | None:
    """What `--variants A:B,..` says. Raises UsageError for anything else."""
    if clauses is None:
        return None
    found = [tuple(clause.split(":")) for clause in clauses]
    if any(len(pair) != 2 or not all(pair) for pair in found):
        raise UsageError(f"--variants {','.join(clauses)}: give pairs of two variants, such as direct:steps")
    return tuple((first, second) for first, second in found)
