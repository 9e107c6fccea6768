"""The table of the share of the wording: how much of the variance of answers the paraphrases make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from calprobe.metrics import Difference, Estimate
from calprobe.show.tables.layout import Layout, below, cells, each
from calprobe.show.tables.types import Table
from calprobe.studies.wording.results import CellWording, QuestionItself

COLUMNS = {  # field of WordingShare -> title
    "rho": "rho",
    "rho_unsettled": "rho unsettled",
    "ratio_of_sums": "ratio",
    "by_chance": "by chance",
    "unbiased": "rho*",
    "settled": "settled",
}


@dataclass(frozen=True, slots=True)
class AskedAs:
    """The question itself, its other wordings, or their difference."""

    questions: int
    samples: float | None
    accuracy: Estimate | Difference
    agreement: Estimate | Difference


ITSELF = Layout[AskedAs].given(
    "The question itself, apart from its other wordings",
    "itself",
    "asked",
    cells("questions", "wording_questions", lambda record: record.questions),
    cells("samples", "wording_samples", lambda record: record.samples),
    cells("accuracy", "accuracy", lambda record: record.accuracy),
    cells("agreement", "wording_agreement", lambda record: record.agreement),
    notes=(
        "Agreement: how often two samples of the question itself give the same answer, and one of it and one of "
        "another wording; the two are equal where no wording matters. Differences are question by question.",
    ),
    kind="wording",
)


def itself_table(questions: Mapping[str, QuestionItself]) -> Table:
    """Three rows a variant, of those by its name: the question itself, its other wordings, and their difference."""
    records = {variant: _asked(question) for variant, question in questions.items()}
    return ITSELF.of_rows((replace(row, ranked=False), record) for row, record in below(records, "asked"))


def _asked(question: QuestionItself) -> dict[str, AskedAs]:
    wordings = {"question": question.itself, "other wordings": question.others}
    return {
        name: AskedAs(question.questions, wording.samples, wording.accuracy, wording.agreement)
        for name, wording in wordings.items()
    } | {"difference": AskedAs(question.questions, None, question.accuracy, question.agreement)}


WORDING = Layout[CellWording].given(
    "Share of the wording in the variance of answers",
    "wording",
    "points",
    cells("questions", "wording_questions", lambda wording: wording.share.questions),
    *each(COLUMNS, lambda wording, name: getattr(wording.share, name), lambda name: {"metric": f"wording_{name}"}),
    cells("p", "wording_p", lambda wording: wording.p),
    notes=(
        "rho: mean over questions, 1/2 where all answers agree (settled); ratio: of the sums; by chance: the ratio "
        "where no wording matters; rho*: 0 where none matters; p: permutations of answers over wordings; "
        "exact: label probabilities under each wording, which one_hot converges to at temperature 1.",
    ),
    kind="wording",
)


def wording_table(shares: Mapping[str, Sequence[CellWording]]) -> Table:
    """A row a variant, of those by its name, and way to put answers as points."""
    points = {variant: {share.points: share for share in of_variant} for variant, of_variant in shares.items()}
    return WORDING.of_rows(below(points, "points"))
