"""Tables of confidences: calibration by estimator, stated confidence, its means, normalisation shift."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from calprobe.metrics import Estimate, Metric
from calprobe.metrics.faithfulness import Faithfulness
from calprobe.show.tables.layout import Layout, cells, metrics, where
from calprobe.show.tables.types import LAST, Row, Table
from calprobe.studies.asked.accuracy_layouts import ALL_KINDS
from calprobe.studies.asked.cell_results import CellEstimator, CellReport, Overconfidence
from calprobe.studies.asked.results import MeanOverVariants, SetReport, ShiftSummary
from calprobe.studies.asked.sample_layouts import few_outcomes, unequal_samples

COVERED = (
    "Coverage: of the answers that can have the confidence, the share that has one; metrics are of these. Below a "
    "name, where some have none: how many have one (n), and the bounds of the Brier score over all answers."
)
MASS = (
    "Mass: mean probability of all the replies among which a confidence is normalised; where it is small, the model "
    "would have said something else."
)


def confidence_table(report: SetReport, shown: Sequence[Metric], *notes: str) -> Table:
    """A row an estimator, grouped by variant: coverage and every metric; `notes` are of the metrics."""
    rows = [row for cell in report.cells.values() for row in _rows(cell)]
    has_mass = any(estimator.mass is not None for _, estimator in rows)
    missing = any(estimator.reasons for cell in report.cells.values() for estimator in cell.estimators.values())
    layout = Layout[CellEstimator].given(
        "Accuracy and calibration by estimator of confidence",
        "confidence",
        "estimator",
        *metrics(shown[:1], lambda estimator: estimator.metrics),
        # First of all where any confidence is missing.
        cells("coverage", "coverage", lambda estimator: estimator.coverage, priority=1 if missing else LAST),
        *where(lambda estimator: estimator.mass is not None, cells("mass", "mass", lambda estimator: estimator.mass)),
        *metrics(shown[1:], lambda estimator: estimator.metrics),
        kind="confidence",
        more={"directions": True},
    )
    few = few_outcomes(report.cells.values(), "probability")
    unequal = unequal_samples(report.cells.values())
    return layout.of_rows(rows, COVERED, *notes, *few, *unequal, *_bounded(report), *[MASS] * has_mass)


def _rows(cell: CellReport) -> Iterator[tuple[Row, CellEstimator]]:
    """Those of the cell; of questions of several kinds each kind first, then what estimators of several are of all."""
    for kind, report in cell.kinds.items():
        yield from _part(cell.variant, report.rows, report.estimators, kind)
    numbers = Counter(name for report in cell.kinds.values() for name in report.estimators)
    shared = {name: estimator for name, estimator in cell.estimators.items() if not cell.kinds or numbers[name] > 1}
    yield from _part(cell.variant, cell.rows, shared, ALL_KINDS if cell.kinds else "")


def _part(
    variant: str, rows: int, estimators: Mapping[str, CellEstimator], kind: str
) -> Iterator[tuple[Row, CellEstimator]]:
    title = f"{variant}, {kind} ({rows:,})" if kind else variant
    for name, estimator in estimators.items():
        if estimator.scale != "uncertainty":
            keys = {"variant": variant, "estimator": name} | ({"kind": kind} if kind else {})
            yield Row(name, group=title, note=_row_note(estimator, rows), keys=keys), estimator


def _row_note(estimator: CellEstimator, rows: int) -> str:
    """How many rows an estimator is of, where these are not all, and what the Brier score could be of all."""
    if not estimator.reasons:
        return "" if estimator.rows == rows else f"n {estimator.rows:,}"
    least, most = estimator.brier_bounds
    return f"n {estimator.rows:,}, Brier {least:.3f} to {most:.3f}"


def _bounded(report: SetReport) -> Iterator[str]:
    """Where confidences are bounds: a window lacks one of the replies."""
    bounds = [
        f"{cell.variant} {name} {estimator.bounded:,} of {estimator.rows:,}"
        for cell in report.cells.values()
        for name, estimator in cell.estimators.items()
        if estimator.bounded
    ]
    if bounds:
        yield (
            f"Confidences that are bounds, since one of the replies is not in the server's window: {', '.join(bounds)}"
            "; export --what confidences has the least and the largest that each can be."
        )


@dataclass(frozen=True, slots=True)
class StatedBeside:
    """A stated confidence beside accuracy and `label`."""

    parse_rate: Estimate
    over: Overconfidence


STATED = Layout[StatedBeside].given(
    "Stated confidence",
    "stated",
    "variant",
    cells("parse rate", "parse_rate", lambda stated: stated.parse_rate),
    cells("- accuracy", "over_accuracy", lambda stated: stated.over.accuracy, heading="stated"),
    cells("- label", "over_label", lambda stated: stated.over.label, heading="stated"),
    cells("ECE gap", "ece_gap", lambda stated: stated.over.ece_gap),
    cells("values", "distinct_values", lambda stated: stated.over.distinct),
    cells("mode", "mode", lambda stated: stated.over.mode),
    cells("its share", "mode_share", lambda stated: stated.over.mode_share),
    notes=(
        "Differences are on the rows that have both. ECE gap: ECE of the stated confidence minus that of label. "
        "Below a name: why statements could not be read.",
    ),
    kind="stated",
)


def stated_table(report: SetReport) -> Table:
    """A row a phrasing and variant: parse rate, reasons, signed overconfidence, ECE gap, how many values there are."""
    phrasings = dict.fromkeys(name for cell in report.cells.values() for name in cell.overconfidence)
    return STATED.of_rows(
        (
            (
                Row(
                    cell.variant,
                    group=name,
                    note=", ".join(f"{number} {reason}" for reason, number in cell.estimators[name].reasons.items()),
                    keys={"variant": cell.variant, "estimator": name},
                ),
                StatedBeside(cell.estimators[name].coverage, cell.overconfidence[name]),
            )
            for name in phrasings
            for cell in report.cells.values()
            if name in cell.overconfidence
        ),
        *_other_answers(report),
    )


def _other_answers(report: SetReport) -> Iterator[str]:
    """Where the stated confidence and `label` are of different answers, though of the same rows."""
    names = [name for name in report.format_changes if name in report.cells and report.cells[name].overconfidence]
    if names:
        yield (
            f"Under {', '.join(names)} label is read at the first position, before the reply gives its answer, so the "
            "two may be confidences in different answers."
        )


FAITHFULNESS = Layout[Faithfulness].given(
    "Stated confidence beside the frequency of the answer",
    "faithfulness",
    "variant",
    cells("rows", "n", lambda words: words.instances),
    cells("stated - frequency", "stated_minus_frequency", lambda words: words.excess),
    cells("faithfulness", "faithfulness", lambda words: words.mean, "larger"),
    cells("cMFG", "cmfg", lambda words: words.conditional, "larger"),
    cells("rho", "spearman", lambda words: words.rho, "larger"),
    notes=(
        "Frequency: share of the samples that give the same answer. Faithfulness: mean of 1 - |stated - frequency|; "
        "cMFG: the mean of its means in ten bins of frequency. A confidence that is always 1 has a cMFG of about .5, "
        "one that is always .5 about .75; rho says whether it follows the frequency at all.",
    ),
    kind="faithfulness",
)


def faithfulness_table(report: SetReport) -> Table:
    """A row a phrasing and variant: whether what is stated follows how often samples say the same."""
    return FAITHFULNESS.of_rows(
        (Row(cell.variant, group=name, keys={"variant": cell.variant, "estimator": name}), words)
        for cell in report.cells.values()
        for name, words in cell.faithfulness.items()
    )


MEANS = Layout[MeanOverVariants](
    "Means over variants with a parse rate of {:g} or more",
    "means",
    "",
    lambda mean: Row(
        mean.estimator,
        note=f"left out: {', '.join(mean.left_out)}" if mean.left_out else "",
        keys={"estimator": mean.estimator},
    ),
    (
        cells("variants", "variants", lambda mean: ", ".join(mean.variants) or "none"),
        cells("accuracy", "mean_accuracy", lambda mean: mean.accuracy),
        cells("ECE label", "mean_ece_label", lambda mean: mean.ece_label),
        cells("ECE stated", "mean_ece", lambda mean: mean.ece),
        cells("ECE gap", "mean_ece_gap", lambda mean: mean.ece_gap),
        cells("stated - accuracy", "mean_over_accuracy", lambda mean: mean.over_accuracy),
        cells("stated - label", "mean_over_label", lambda mean: mean.over_label),
    ),
    kind="means",
)


def means_table(report: SetReport, threshold: float) -> Table:
    """A row a phrasing: plain means over the variants that are read well enough."""
    return MEANS.table(report.means, caption=MEANS.caption.format(threshold))


# A row a variant, then all: how far normalising over the labels moves ECE.
SHIFT = Layout[ShiftSummary](
    "Normalisation shift, |ECE of label_raw - ECE of label|, over variants of sets",
    "shift",
    "variant",
    lambda shift: Row(shift.of, keys={"variant": shift.of}),
    (
        cells("variants", "cells", lambda shift: shift.cells),
        cells("mean", "shift_mean", lambda shift: shift.mean),
        cells("median", "shift_median", lambda shift: shift.median),
        cells("max", "shift_max", lambda shift: shift.largest),
        cells("> 0.05", "shift_above_0.05", lambda shift: shift.above_005),
        cells("> 0.20", "shift_above_0.20", lambda shift: shift.above_020),
    ),
    (
        "How far normalising over the labels moves ECE: |ECE of label_raw - ECE of label|, over variants of sets. A "
        "description of these, which share questions and models, not a sample of others.",
    ),
    kind="shift",
)
