"""Tables of the study of sampled answers."""

from __future__ import annotations

from collections.abc import Mapping

from calprobe.analysis.asked.science.answer_results import AnswerCell, AnswerStudy, Metrics
from calprobe.analysis.tables.types import Column, Row, Table, metric_cells, metric_columns

_CENTRED = "ece_centred"  # whatever the number of bins
_METRICS = {"accuracy": "accuracy", "ece_15": "ECE 15", "brier": "Brier", "auroc": "AUROC"}
_OF_SHARES = {"ece_15": "ECE 15", _CENTRED: "centred", "brier": "Brier", "auroc": "AUROC"}

CLAIMS = (
    "Of claims about options, the answer is the option with most Yes, and its share that of Yes among the samples "
    "asked for; normalised over the options' shares."
)
ALWAYS_NO = "Of four options three are wrong, so that always No has an accuracy of 0.75, and a balanced one of 0.5."
FREQUENT = (
    "Of {kinds}, the answer is the most frequent one, and its share that among the samples asked for. Without any "
    "answer that could be read, a question counts as wrong with confidence 0."
)
TIED = "Tied: several answers have the largest share, and one of them is drawn."
OVER_CENTRES = "Centred: ECE over bins centred on the values that frequencies have, 0, 1/samples, .., 1"


Cells = Mapping[str, AnswerCell]  # by the name of the row


def answer_study_tables(study: AnswerStudy, name: str) -> tuple[Table, ...]:
    """Those of one set."""
    cells = study.of_set(name)
    if not cells:
        return ()
    numbers = {own: cell for own, cell in cells.items() if cell.kind == "numbers"}
    tolerances = (_tolerances_table(numbers),) if numbers else ()
    return (_questions_table(cells), _responses_table(cells), *tolerances, _treatments_table(cells))


def _questions_table(cells: Cells) -> Table:
    claims = _has_claims(cells)
    others = dict.fromkeys(cell.kind for cell in cells.values() if cell.kind != "claims")
    titles = _OF_SHARES
    return Table(
        "One answer a question, with the share of the samples that give it",
        "questions",
        "variant",
        (
            Column("n", keys={"metric": "n"}),
            Column("samples", keys={"metric": "samples"}),
            Column("tied", keys={"metric": "tied"}),
            Column("unread", keys={"metric": "unanswered"}),
            Column("accuracy", "larger", keys={"metric": "accuracy"}),
            *([Column("all options right", "larger", keys={"metric": "all_right"})] if claims else []),
            *metric_columns(titles, "share", of="share"),
            *(metric_columns(titles, "normalised", of="normalised") if claims else ()),
        ),
        tuple(
            Row(
                name,
                (
                    cell.questions.rows,
                    cell.samples,
                    cell.questions.tied,
                    cell.questions.unanswered,
                    cell.questions.accuracy,
                    *([cell.questions.all_right] if claims else []),
                    *metric_cells(_centred(cell.questions.share), titles),
                    *(metric_cells(_centred(cell.questions.normalised or {}), titles) if claims else ()),
                ),
                keys=_keys(cell),
            )
            for name, cell in cells.items()
        ),
        kind="sampled",
        notes=(
            *((CLAIMS,) if claims else ()),
            *([FREQUENT.format(kinds=" and ".join(others))] if others else []),
            f"{TIED} {OVER_CENTRES}.",
        ),
        best_within=None,
    )


def _centred(metrics: Metrics) -> Metrics:
    """The metrics, the error over centred bins by one name."""
    return {_CENTRED if name.endswith("_centred") else name: own for name, own in metrics.items()}


def _has_claims(cells: Cells) -> bool:
    return any(cell.kind == "claims" for cell in cells.values())


def _keys(cell: AnswerCell) -> dict[str, str]:
    return {"variant": cell.variant, "kind": cell.kind}


_OF_CLAIMS = (
    Column("balanced", "larger", keys={"metric": "balanced_accuracy"}),
    Column("right", heading="Yes where the option is", keys={"metric": "yes_where_true"}),
    Column("wrong", heading="Yes where the option is", keys={"metric": "yes_where_false"}),
)


def _responses_table(cells: Cells) -> Table:
    found = [(name, cell, cell.responses) for name, cell in cells.items()]
    claims = _has_claims(cells)
    verdicts = ", and what verdicts say by whether the option is right" if claims else ", and how much of it is right"
    return Table(
        f"Every response: what was read{verdicts}",
        "responses",
        "variant",
        (
            Column("n", keys={"metric": "n"}),
            Column("failed", keys={"metric": "failed"}),
            Column("extracted", "larger", keys={"metric": "extraction"}),
            Column("accuracy", "larger", keys={"metric": "accuracy"}),
            *(_OF_CLAIMS if claims else ()),
        ),
        tuple(
            Row(
                name,
                (
                    own.rows,
                    own.failed,
                    own.extraction,
                    own.accuracy,
                    *((own.balanced, own.yes_where_true, own.yes_where_false) if claims else ()),
                ),
                note=f"DEGENERATE: {own.degenerate}" if own.degenerate else "",
                keys=_keys(cell),
            )
            for name, cell, own in found
        ),
        kind="sampled",
        notes=(
            *((ALWAYS_NO,) if claims else ()),
            f"Intervals resample questions with all of their {'options and ' if claims else ''}samples.",
        ),
        best_within=None,
    )


def _tolerances_table(cells: Cells) -> Table:
    names = dict.fromkeys(name for cell in cells.values() for name in cell.responses.tolerances)
    return Table(
        "Accuracy of numbers by tolerance",
        "tolerances",
        "variant",
        tuple(Column(name, "larger", keys={"metric": "accuracy", "tolerance": name}) for name in names),
        tuple(
            Row(title, metric_cells(cell.responses.tolerances, names), keys=_keys(cell))
            for title, cell in cells.items()
        ),
        kind="sampled",
        notes=(
            "Rounded, by which other tables go: within 1 % of a number with decimals or a unit, else equal. Scibench: "
            "as its own evaluation has it, within 0.1 of a number from 1 on, within a tenth of smaller ones.",
        ),
        best_within=None,
    )


def _treatments_table(cells: Cells) -> Table:
    rows = [
        Row(
            treatment,
            metric_cells(_centred(metrics), _METRICS | {_CENTRED: ""}),
            group=f"{name}" if len(cells) == 1 else f"{title}, {name}",
            keys=_keys(cell) | {"estimator": name, "treatment": treatment},
        )
        for title, cell in cells.items()
        for name, several in cell.responses.treatments.items()
        for treatment, metrics in several.items()
    ]
    return Table(
        "Every response, by what becomes of failures",
        "treatments",
        "failures",
        metric_columns(_METRICS | {_CENTRED: "centred"}),
        tuple(rows),
        kind="sampled",
        notes=(
            "An answer that could not be read is wrong; without a readable confidence it is as right as it is. Worst: "
            "both have confidence 1 if wrong, 0 if right. Dropped: both are left out. Zero: both have confidence 0, "
            "which flatters a model that often fails. A confidence named .option is said of the option. "
            f"{OVER_CENTRES}; of other confidences, over 15 bins.",
        ),
        best_within=None,
    )
