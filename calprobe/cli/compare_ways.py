"""`calprobe compare` of runs of scores and of replies over the same facts: what its options mean, what is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from calprobe.cli.arguments import output_file
from calprobe.cli.kinds import Group, option
from calprobe.cli.output import in_format, print_result, write_page
from calprobe.cli.terminal_text import say
from calprobe.errors import UsageError

if TYPE_CHECKING:
    from calprobe.analysis import FourWays
    from calprobe.analysis.options import CompareOptions
    from calprobe.analysis.plots import Look
    from calprobe.cells.opening import AnyRun

facts_option = option(
    "--facts",
    kinds=("facts",),
    group=Group.LOOKS,
    metavar="F.csv",
    type=output_file(),
    help="Runs of scores with runs of replies: write every fact, with all answers and confidences, a row a fact.",
)


@dataclass(frozen=True, slots=True)
class SameFacts:
    """How replies are read, which variants are compared, and what is written."""

    readers: tuple[str, ...] | None
    window: int | None
    variants: tuple[str, ...] | None
    form: str
    plot: Path | None
    look: Look
    page: Path | None
    facts: Path | None


def compare_same_facts(opened: Mapping[str, AnyRun], options: CompareOptions, wanted: SameFacts) -> None:
    """Print what is ranked and what is answered side by side, and write figures, page and facts where wanted."""
    from calprobe.analysis.asked.options import AskedOptions
    from calprobe.analysis.four_ways.compare_ways import compare_ways
    from calprobe.analysis.four_ways.options import FourWaysOptions
    from calprobe.analysis.tables.four_ways import four_ways_tables
    from calprobe.cells.opening import of_replies, of_scores

    if any(":" in name for name in wanted.variants or ()):
        raise UsageError("--variants: with a run of scores give names of variants, such as direct,steps, no pairs A:B")
    reading = AskedOptions(
        wanted.readers, window=wanted.window, ace_bins=options.scores.ace_bins, resampling=options.scores.resampling
    )
    both = FourWaysOptions(options, reading, wanted.variants)
    found = compare_ways(of_scores(opened), of_replies(opened), both)
    print_result(in_format(wanted.form, found, partial(four_ways_tables, narrow=True), four_ways_tables))
    if wanted.plot is not None:
        _draw(found, wanted.plot, wanted.look)
    if wanted.page is not None:
        from calprobe.analysis.html import four_ways_page

        write_page(four_ways_page(found), wanted.page)
    if wanted.facts is not None:
        from calprobe.runs import atomic

        with atomic.named_file(wanted.facts, "name another --facts") as temporary:
            found.frame().to_csv(temporary, index=False)
        say(f"wrote {wanted.facts}")


def _draw(found: FourWays, path: Path, look: Look) -> None:
    """Write each figure beside the path: ways.pdf becomes ways-reliability.pdf, ways-two-by-two.pdf, .."""
    from calprobe.analysis.four_ways.pictures import way_pictures
    from calprobe.analysis.plots import drawing, save

    for kind, draw in way_pictures(found).drawn():
        place = path.with_name(f"{path.stem}-{kind}{path.suffix}")
        with drawing(look.style):
            figure = draw(look)
        save(figure, place, look.style)
        say(f"wrote {place}")
