"""The table of the share of the wording: how much of the variance of answers the paraphrases make."""

from __future__ import annotations

from calprobe.analysis.asked.results import SetReport
from calprobe.analysis.tables.types import Column, Row, Table

COLUMNS = {  # field of WordingShare -> title
    "rho": "rho",
    "rho_unsettled": "rho unsettled",
    "ratio_of_sums": "ratio",
    "by_chance": "by chance",
    "unbiased": "rho*",
    "settled": "settled",
}


def wording_table(own: SetReport) -> Table:
    """A row a variant and way to put answers as points."""
    return Table(
        "Share of the wording in the variance of answers",
        "wording",
        "points",
        (
            Column("questions", keys={"metric": "wording_questions"}),
            *(Column(title, keys={"metric": f"wording_{name}"}) for name, title in COLUMNS.items()),
            Column("p", keys={"metric": "wording_p"}),
        ),
        tuple(
            Row(
                found.points,
                (found.share.questions, *(getattr(found.share, name) for name in COLUMNS), found.p),
                group=cell.variant,
                keys={"variant": cell.variant, "points": found.points},
            )
            for cell in own.cells.values()
            for found in cell.wording
        ),
        kind="wording",
        notes=(
            "rho: mean over questions, 1/2 where all answers agree (settled); ratio: of sums, by chance what it is "
            "where no wording matters; rho*: 0 where none matters; p: permutations of answers over wordings; "
            "exact: label probabilities under each wording, which one_hot converges to at temperature 1.",
        ),
    )
