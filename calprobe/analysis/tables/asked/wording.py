"""The table of the share of the wording: how much of the variance of answers the paraphrases make."""

from __future__ import annotations

from calprobe.analysis.asked.results import SetReport
from calprobe.analysis.tables.types import Column, Row, Table

ITSELF = {
    "wording_questions": "questions",
    "wording_samples": "samples",
    "accuracy": "accuracy",
    "wording_agreement": "agreement",
}
COLUMNS = {  # field of WordingShare -> title
    "rho": "rho",
    "rho_unsettled": "rho unsettled",
    "ratio_of_sums": "ratio",
    "by_chance": "by chance",
    "unbiased": "rho*",
    "settled": "settled",
}


def itself_table(own: SetReport) -> Table:
    """Three rows a variant: the question itself, its other wordings, and their difference."""
    found = [(cell.variant, cell.itself) for cell in own.cells.values() if cell.itself is not None]
    return Table(
        "The question itself, apart from its other wordings",
        "itself",
        "asked",
        tuple(Column(title, keys={"metric": name}) for name, title in ITSELF.items()),
        tuple(
            Row(
                name,
                cells,
                group=variant,
                keys={"variant": variant, "asked": name},
                ranked=False,
            )
            for variant, each in found
            for name, cells in (
                ("question", (each.questions, each.itself.samples, each.itself.accuracy, each.itself.agreement)),
                ("other wordings", (each.questions, each.others.samples, each.others.accuracy, each.others.agreement)),
                ("difference", (each.questions, None, each.accuracy, each.agreement)),
            )
        ),
        kind="wording",
        notes=(
            "Agreement: how often two samples of the question itself give the same answer, and one of it and one of "
            "another wording; the two are equal where no wording matters. Differences are question by question.",
        ),
        best_within=None,
    )


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
