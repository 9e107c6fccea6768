"""The table of token counts: how long replies and thoughts are, and how many were cut."""

from __future__ import annotations

from collections.abc import Callable

from calprobe.show.tables.layout import Cells, Layout, below, cells, each, where
from calprobe.show.tables.types import Table
from calprobe.studies.asked.lengths import Lengths, StageLengths
from calprobe.studies.asked.results import SetReport

COLUMNS = {"mean": "mean", "quartile_1": "25 %", "median": "median", "quartile_3": "75 %", "most": "most"}


def _tokens(of: str, lengths: Callable[[StageLengths], Lengths | None]) -> tuple[Cells[StageLengths], ...]:
    return each(
        COLUMNS,
        lambda stage, name: None if (stage_lengths := lengths(stage)) is None else getattr(stage_lengths, name),
        lambda name: {"metric": name, "of": of},
        heading=f"tokens of the {'reply' if of == 'tokens' else 'thought'}",
    )


def _has_thoughts(stage: StageLengths) -> bool:
    return stage.thoughts is not None


LENGTHS = Layout[StageLengths].given(
    "Tokens of replies",
    "lengths",
    "stage",
    cells("replies", "replies", lambda stage: stage.replies),
    *_tokens("tokens", lambda stage: stage.tokens),
    *where(_has_thoughts, *_tokens("thoughts", lambda stage: stage.thoughts)),
    cells("cut", "cut", lambda stage: stage.cut, "smaller"),
    *where(
        _has_thoughts,
        cells("no end", "open_thoughts", lambda stage: stage.open_thoughts, "smaller", heading="thoughts"),
        cells("ended", "ended_thoughts", lambda stage: stage.ended_thoughts, heading="thoughts"),
    ),
    kind="lengths",
)


def lengths_table(report: SetReport) -> Table:
    """A row a stage, grouped by variant."""
    stages = {variant: {stage.stage: stage for stage in cell.lengths} for variant, cell in report.cells.items()}
    thoughts = any(_has_thoughts(stage) for of_variant in stages.values() for stage in of_variant.values())
    ends = " No end: thoughts that were; ended: thoughts that --think-tokens ended." * thoughts
    return LENGTHS.of_rows(
        below(stages, "stage"),
        f"Cut: share of the replies that were cut at their budget of tokens.{ends}",
        caption=LENGTHS.caption + " and thoughts" * thoughts,
    )
