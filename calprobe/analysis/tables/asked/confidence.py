"""Tables of confidences: calibration by estimator, stated confidence, its means, normalisation shift."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from calprobe.analysis.asked.results import CellEstimator, CellReport, SetReport, ShiftSummary
from calprobe.analysis.tables.asked.answers import ALL_KINDS
from calprobe.analysis.tables.asked.samples import few_outcomes
from calprobe.analysis.tables.types import LAST, Column, Row, Table
from calprobe.metrics import Metric

COVERAGE = Column("coverage", keys={"metric": "coverage"}, priority=1)
MEANS = {  # field of MeanOverVariants -> title
    "accuracy": "accuracy",
    "ece_label": "ECE label",
    "ece": "ECE stated",
    "ece_gap": "ECE gap",
    "over_accuracy": "stated - accuracy",
    "over_label": "stated - label",
}


def confidence_table(own: SetReport, metrics: Sequence[Metric], *notes: str) -> Table:
    """A row an estimator, grouped by variant: coverage and every metric; `notes` are of the metrics."""
    first, *others = metrics
    coverage = _coverage_column(own)
    found_mass = any(found.mass is not None for cell in own.cells.values() for found in cell.estimators.values())
    of_set = (Column("mass", keys={"metric": "mass"}),) if found_mass else ()
    return Table(
        "Accuracy and calibration by estimator of confidence",
        "confidence",
        "estimator",
        (Column.of(first), coverage, *of_set, *(Column.of(metric) for metric in others)),
        tuple(
            Row(
                name,
                (
                    found.metrics.get(first.name),
                    found.coverage,
                    *((found.mass,) if of_set else ()),
                    *(found.metrics.get(each.name) for each in others),
                ),
                group=part.title,
                note=_row_note(found, part),
                keys={"variant": part.variant, "estimator": name, **part.keys},
            )
            for cell in own.cells.values()
            for part in _parts(cell)
            for name, found in part.estimators.items()
            if found.scale == "probability"
        ),
        kind="confidence",
        directions=True,
        notes=(
            "Coverage: share of the rows that can have the confidence of which it could be read; metrics are of these, "
            "n below a name. Where some are missing, the bounds of the Brier score over all rows stand there too.",
            *notes,
            *few_outcomes(own, "probability"),
            *_bounded(own),
            *(
                (
                    "Mass: mean probability of all replies that a confidence is a share of; where it is small, the "
                    "model would have said something else.",
                )
                if of_set
                else ()
            ),
        ),
    )


@dataclass(frozen=True, slots=True)
class _Part:
    """The rows of a cell, or of one kind of its questions."""

    variant: str
    rows: int
    estimators: Mapping[str, CellEstimator]
    kind: str = ""

    @property
    def title(self) -> str:
        """The line above its rows."""
        return f"{self.variant}, {self.kind} ({self.rows:,})" if self.kind else self.variant

    @property
    def keys(self) -> dict[str, str]:
        """What tidy files say of it beside the variant."""
        return {"kind": self.kind} if self.kind else {}


def _parts(cell: CellReport) -> Iterator[_Part]:
    """The cell; of questions of several kinds each kind first, then what estimators of several kinds are of all."""
    for kind, own in cell.kinds.items():
        yield _Part(cell.variant, own.rows, own.estimators, kind)
    numbers = Counter(name for own in cell.kinds.values() for name in own.estimators)
    several = {name: own for name, own in cell.estimators.items() if not cell.kinds or numbers[name] > 1}
    yield _Part(cell.variant, cell.rows, several, ALL_KINDS if cell.kinds else "")


def _row_note(found: CellEstimator, part: _Part) -> str:
    """How many rows an estimator is of, where these are not all, and what the Brier score could be of all."""
    if not found.reasons:
        return "" if found.rows == part.rows else f"n {found.rows:,}"
    return f"n {found.rows:,}, {_bounds(found.brier_bounds)}"


def _coverage_column(own: SetReport) -> Column:
    """Coverage, first of all where any confidence is missing."""
    missing = any(found.reasons for cell in own.cells.values() for found in cell.estimators.values())
    return COVERAGE if missing else replace(COVERAGE, priority=LAST)


def _bounded(own: SetReport) -> Iterator[str]:
    """Where confidences are bounds: a window lacks one of the replies."""
    known = [
        (f"{cell.variant} {name}", found) for cell in own.cells.values() for name, found in cell.estimators.items()
    ]
    if said := [f"{name} {found.bounded:,} of {found.rows:,}" for name, found in known if found.bounded]:
        yield (
            f"Confidences that are bounds, since one of the replies is not in the server's window: {', '.join(said)}; "
            "export --what confidences has the least and the largest that each can be."
        )


def _bounds(bounds: tuple[float, float]) -> str:
    return f"Brier {bounds[0]:.3f} to {bounds[1]:.3f}"


def stated_table(own: SetReport) -> Table:
    """A row a phrasing and variant: parse rate, reasons, signed overconfidence, ECE gap, how many values there are."""
    phrasings = dict.fromkeys(name for cell in own.cells.values() for name in cell.overconfidence)
    return Table(
        "Stated confidence",
        "stated",
        "variant",
        (
            Column("parse rate", keys={"metric": "parse_rate"}),
            Column("- accuracy", heading="stated", keys={"metric": "over_accuracy"}),
            Column("- label", heading="stated", keys={"metric": "over_label"}),
            Column("ECE gap", keys={"metric": "ece_gap"}),
            Column("values", keys={"metric": "distinct_values"}),
            Column("mode", keys={"metric": "mode"}),
            Column("its share", keys={"metric": "mode_share"}),
        ),
        tuple(
            Row(
                cell.variant,
                (
                    cell.estimators[name].coverage,
                    found.accuracy,
                    found.label,
                    found.ece_gap,
                    found.distinct,
                    found.mode,
                    found.mode_share,
                ),
                group=name,
                note=_reasons(cell.estimators[name].reasons),
                keys={"variant": cell.variant, "estimator": name},
            )
            for name in phrasings
            for cell in own.cells.values()
            for found in ([cell.overconfidence[name]] if name in cell.overconfidence else [])
        ),
        kind="stated",
        notes=(
            "Differences are on the rows that have both. ECE gap: ECE of the stated confidence minus that of label. "
            "Below a name: why statements could not be read.",
        ),
    )


def _reasons(reasons: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in reasons.items())


def means_table(own: SetReport, threshold: float) -> Table:
    """A row a phrasing: plain means over the variants that are read well enough."""
    return Table(
        f"Means over variants with a parse rate of {threshold:g} or more",
        "means",
        "",
        (
            Column("variants", keys={"metric": "variants"}),
            *(Column(title, keys={"metric": f"mean_{name}"}) for name, title in MEANS.items()),
        ),
        tuple(
            Row(
                found.estimator,
                (", ".join(found.variants) or "none", *(getattr(found, name) for name in MEANS)),
                note=f"left out: {', '.join(found.left_out)}" if found.left_out else "",
                keys={"estimator": found.estimator},
            )
            for found in own.means
        ),
        kind="means",
    )


def shift_table(shifts: tuple[ShiftSummary, ...]) -> Table:
    """A row a variant, then all: how far normalising over the labels moves ECE."""
    return Table(
        "Normalisation shift, |ECE of label_raw - ECE of label|, over cells",
        "shift",
        "variant",
        (
            Column("cells", keys={"metric": "cells"}),
            Column("mean", keys={"metric": "shift_mean"}),
            Column("median", keys={"metric": "shift_median"}),
            Column("max", keys={"metric": "shift_max"}),
            Column("> 0.05", keys={"metric": "shift_above_0.05"}),
            Column("> 0.20", keys={"metric": "shift_above_0.20"}),
        ),
        tuple(
            Row(
                own.of,
                (own.cells, own.mean, own.median, own.largest, own.above_005, own.above_020),
                keys={"variant": own.of},
            )
            for own in shifts
        ),
        kind="shift",
        notes=(
            "How far normalising over the labels moves ECE: |ECE of label_raw - ECE of label|, over cells. A "
            "description of these cells, which share questions and models, not a sample of others.",
        ),
    )
