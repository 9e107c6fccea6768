"""Tables of the study of sampled answers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from calprobe.show.tables.layout import Cells, Layout, cells, estimates, where, with_chance_note
from calprobe.show.tables.types import Row, Table
from calprobe.studies.answers.results import AnswerCell, AnswerStudy, Metrics

CENTRED = "ece_centred"  # whatever the number of bins
METRICS = {"accuracy": "accuracy", "ece_15": "ECE 15", "brier": "Brier", "auroc": "AUROC", CENTRED: "centred"}
OF_SHARES = {"ece_15": "ECE 15", CENTRED: "centred", "brier": "Brier", "auroc": "AUROC"}
CLAIMS = (
    "Of claims about options, the answer is the option with most Yes, and its share that of Yes among the samples "
    "asked for; normalised over the options' shares."
)
ALWAYS_NO = "Of four options three are wrong, so that always No has an accuracy of 0.75, and a balanced one of 0.5."
FREQUENT = "Of {kinds}, the answer is the most frequent one, and its share that among the samples asked for."
UNREAD = (
    "Unread: nothing could be read of any sample. Such questions are wrong, and numbers of shares are without them; "
    "under --compat science2026 they have confidence 0 there, which flatters a model that often fails."
)
TIED = "Tied: several answers have the largest share, and one of them is drawn."
OVER_CENTRES = "Centred: ECE over bins centred on the values that frequencies have, 0, 1/samples, .., 1"
YES = "Yes where the option is"


@dataclass(frozen=True, slots=True)
class Treated:
    """The metrics of an estimator under one way to treat failures."""

    questions: int
    metrics: Metrics


def _centred(metrics: Metrics | None) -> Metrics:
    """The metrics, the error over centred bins by one name."""
    return {CENTRED if name.endswith("_centred") else name: value for name, value in (metrics or {}).items()}


def _has_claims(cell: AnswerCell) -> bool:
    return cell.kind == "claims"


QUESTIONS = Layout[AnswerCell].given(
    "One answer a question, with the share of the samples that give it",
    "questions",
    "variant",
    cells("n", "n", lambda cell: cell.questions.rows),
    cells("samples", "samples", lambda cell: cell.samples),
    cells("tied", "tied", lambda cell: cell.questions.tied),
    cells("unread", "unanswered", lambda cell: cell.questions.unanswered),
    cells("accuracy", "accuracy", lambda cell: cell.questions.accuracy, "larger"),
    *where(_has_claims, cells("all options right", "all_right", lambda cell: cell.questions.all_right, "larger")),
    *estimates(
        OF_SHARES,
        lambda cell: _centred(cell.questions.share),
        "share",
        questions=lambda cell: cell.questions.rows,
        of="share",
    ),
    *where(
        _has_claims,
        *estimates(
            OF_SHARES,
            lambda cell: _centred(cell.questions.normalised),
            "normalised",
            questions=lambda cell: cell.questions.rows,
            of="normalised",
        ),
    ),
    kind="sampled",
)
RESPONSES = Layout[AnswerCell].given(
    "Every response: what was read",
    "responses",
    "variant",
    cells("n", "n", lambda cell: cell.responses.rows),
    cells("failed", "failed", lambda cell: cell.responses.failed),
    cells("extracted", "extraction", lambda cell: cell.responses.extraction, "larger"),
    cells("accuracy", "accuracy", lambda cell: cell.responses.accuracy, "larger"),
    *where(
        _has_claims,
        cells("balanced", "balanced_accuracy", lambda cell: cell.responses.balanced, "larger"),
        cells("right", "yes_where_true", lambda cell: cell.responses.yes_where_true, heading=YES),
        cells("wrong", "yes_where_false", lambda cell: cell.responses.yes_where_false, heading=YES),
    ),
    kind="sampled",
)
TOLERANCES = Layout[AnswerCell].given(
    "Accuracy of numbers by tolerance",
    "tolerances",
    "variant",
    notes=(
        "Rounded, as in the other tables: within 1 % of a number with decimals or a unit, else equal. Scibench: "
        "as its own evaluation has it, within 0.1 of a number from 1 on, within a tenth of smaller ones.",
    ),
    kind="sampled",
)
TREATMENTS = Layout[Treated].given(
    "Every response, by how what could not be read is counted",
    "treatments",
    "failures",
    *estimates(METRICS, lambda row: _centred(row.metrics), questions=lambda row: row.questions),
    notes=(
        "An answer that could not be read counts as wrong; one whose confidence could not be read stays right or "
        "wrong. Worst: both get confidence 1 if wrong, 0 if right. Dropped: both are left out. Zero: both get "
        "confidence 0, which flatters a model that often fails. A confidence named .option is said of the option. "
        f"{OVER_CENTRES}; of other confidences, over 15 bins.",
    ),
    kind="sampled",
)


def answer_study_tables(study: AnswerStudy, name: str) -> Iterator[Table]:
    """Those of one set."""
    cells = study.of_set(name)
    if not cells:
        return
    rows = [(Row(title, keys=_keys(cell)), cell) for title, cell in cells.items()]
    claims = any(map(_has_claims, cells.values()))
    kinds = dict.fromkeys(cell.kind for cell in cells.values() if not _has_claims(cell))
    frequent = [FREQUENT.format(kinds=" and ".join(kinds))] * bool(kinds)
    unread = [UNREAD] * any(cell.questions.unanswered for cell in cells.values())
    yield with_chance_note(QUESTIONS.of_rows(rows, *[CLAIMS] * claims, *frequent, *unread, f"{TIED} {OVER_CENTRES}."))
    verdicts = "what verdicts say by whether the option is right" if claims else "how much of it is right"
    yield RESPONSES.of_rows(
        ((replace(row, note=_degenerate(cell)), cell) for row, cell in rows),
        *[ALWAYS_NO] * claims,
        f"Intervals resample questions with all of their {'options and ' if claims else ''}samples.",
        caption=f"{RESPONSES.caption}, and {verdicts}",
    )
    if numbers := [(row, cell) for row, cell in rows if cell.kind == "numbers"]:
        names = dict.fromkeys(name for _, cell in numbers for name in cell.responses.tolerances)
        yield replace(TOLERANCES, columns=[_tolerance(name) for name in names]).of_rows(numbers)
    yield TREATMENTS.of_rows(
        (
            Row(
                treatment,
                group=estimator if len(cells) == 1 else f"{title}, {estimator}",
                keys={**_keys(cell), "estimator": estimator, "treatment": treatment},
            ),
            Treated(cell.questions.rows, metrics),
        )
        for title, cell in cells.items()
        for estimator, treatments in cell.responses.treatments.items()
        for treatment, metrics in treatments.items()
    )


def _tolerance(name: str) -> Cells[AnswerCell]:
    keys = {"tolerance": name}
    return cells(name, "accuracy", lambda cell: cell.responses.tolerances.get(name, math.nan), "larger", keys=keys)


def _keys(cell: AnswerCell) -> dict[str, str]:
    return {"variant": cell.variant, "kind": cell.kind}


def _degenerate(cell: AnswerCell) -> str:
    return f"DEGENERATE: {cell.responses.degenerate}" if cell.responses.degenerate else ""
