"""The JSON of reports of asked runs: the keys that scripts depend on (docs/reference/files.md)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from calprobe.analysis.asked.results import (
    Accuracy,
    AcrossRuns,
    AskedRunReport,
    Calibration,
    CellReport,
    Drop,
    MeanOverVariants,
    Overconfidence,
    Repair,
    SetReport,
    ShiftSummary,
    Spread,
)
from calprobe.analysis.asked.stated.results_json import stated_json
from calprobe.analysis.json_values import estimate_json, number_json
from calprobe.metrics import Difference, Estimate


def report_json(runs: Iterable[AskedRunReport], across: AcrossRuns | None) -> dict[str, Any]:
    """A key for each run, and `across` for what only several show."""
    found = {run.label: run_json(run) for run in runs}
    return found if across is None else found | {"across": _across(across)}


def run_json(run: AskedRunReport) -> dict[str, Any]:
    """One run."""
    return {
        "model": run.model,
        "kind": "asked",
        "parameters": run.parameters,
        "questions": run.questions,
        "partial": run.partial,
        "sets": {name: _set(own) for name, own in run.sets.items()},
        "shifts": _shifts(run.shifts),
        "disclosure": run.disclosure.to_json(),
    } | ({} if run.stated is None else {"stated": stated_json(run.stated)})


def _set(own: SetReport) -> dict[str, Any]:
    return {
        "questions": own.questions,
        "variants": {variant: _cell(cell) for variant, cell in own.cells.items()},
        "format_changes": list(own.format_changes),
        "spread": {reader: estimate_json(found.value) for reader, found in own.spread.items()},
        "spread_of": {reader: _spread(found) for reader, found in own.spread.items()},
        "drops": [_drop(found) for found in own.drops],
        "repairs": [_repair(found) for found in own.repairs],
        "means": {found.estimator: _means(found) for found in own.means},
    }


def _cell(cell: CellReport) -> dict[str, Any]:
    off = cell.off_label
    return {
        "n": cell.rows,
        "failed": cell.failed,
        "chance": number_json(cell.chance),
        "accuracy": {reader: estimate_json(own.value) for reader, own in cell.accuracy.items()},
        "readings": {reader: _accuracy(own) for reader, own in cell.accuracy.items()},
        "coverage": {name: estimate_json(own.coverage) for name, own in cell.estimators.items()},
        "off_label": None if off is None else estimate_json(off.mean),
        "off_label_above_half": None if off is None else estimate_json(off.above_half),
        "window": None
        if off is None
        else {"all_labels_seen": number_json(off.all_seen), "mass_seen": number_json(off.mass_seen)},
        "estimators": {
            name: {metric: estimate_json(found) for metric, found in own.metrics.items()}
            for name, own in cell.estimators.items()
        },
        "confidences": {name: _calibration(own) for name, own in cell.estimators.items()},
        "shift": estimate_json(cell.shift),
        "overconfidence": {name: _overconfidence(own) for name, own in cell.overconfidence.items()},
    }


def _accuracy(own: Accuracy) -> dict[str, Any]:
    return {
        "unread": own.unread,
        "reasons": dict(own.reasons),
        "flags": dict(own.flags),
        "rules": dict(own.rules),
        "accuracy_of_read": estimate_json(own.of_read),
    }


def _calibration(own: Calibration) -> dict[str, Any]:
    return {
        "n": own.rows,
        "reasons": dict(own.reasons),
        "brier_bounds": [number_json(bound) for bound in own.brier_bounds],
    }


def _overconfidence(own: Overconfidence) -> dict[str, Any]:
    return {
        "n": own.rows,
        "accuracy": difference_json(own.accuracy),
        "label": difference_json(own.label),
        "ece_gap": difference_json(own.ece_gap),
        "ece_gap_all_rows": None if own.ece_gap_all is None else number_json(own.ece_gap_all),
        "distinct_values": own.distinct,
        "mode": number_json(own.mode),
        "mode_share": number_json(own.mode_share),
        "accuracy_of_unread": estimate_json(own.accuracy_unread),
    }


def _spread(own: Spread) -> dict[str, Any]:
    return {
        "variants": list(own.variants),
        "n": own.rows,
        "by_chance": number_json(own.by_chance),
        "accuracy": number_json(own.accuracy),
        "chance": number_json(own.chance),
    }


def _drop(own: Drop) -> dict[str, Any]:
    return {
        "variant": own.variant,
        "reader": own.reader,
        "baseline": own.baseline,
        "paired": difference_json(own.paired),
        "relative": number_json(own.relative),
    }


def _repair(own: Repair) -> dict[str, Any]:
    return {
        "variant": own.variant,
        "reader": own.reader,
        "n": own.rows,
        "first_char": number_json(own.first),
        "repaired": number_json(own.repaired),
        "reference": number_json(own.reference),
        "recovered": estimate_json(own.recovered),
        "right_to_wrong": own.right_to_wrong,
        "wrong_to_right": own.wrong_to_right,
        "previously_right": own.previously_right,
        "against_baseline": difference_json(own.against_baseline),
        "no_marker": own.unread_by_other,
        "right_without_marker": number_json(own.right_of_those),
    }


def _means(own: MeanOverVariants) -> dict[str, Any]:
    numbers = ("accuracy", "ece_label", "ece", "ece_gap", "over_accuracy", "over_label")
    return {
        "variants": list(own.variants),
        "left_out": list(own.left_out),
        **{name: number_json(getattr(own, name)) for name in numbers},
    }


def _shifts(several: Iterable[ShiftSummary]) -> dict[str, Any]:
    return {
        own.of: {
            "cells": own.cells,
            "mean": estimate_json(own.mean),
            "median": number_json(own.median),
            "max": number_json(own.largest),
            "above_0.05": number_json(own.above_005),
            "above_0.20": number_json(own.above_020),
        }
        for own in several
    }


def _across(own: AcrossRuns) -> dict[str, Any]:
    recovered: dict[str, dict[str, Any]] = {}
    for share in own.recovered:
        recovered.setdefault(share.set, {})[share.reader] = {
            "cells": share.cells,
            "ratio_of_means": number_json(share.ratio_of_means),
            "mean_of_ratios": number_json(share.mean_of_ratios),
        }
    sizes: dict[str, dict[str, Any]] = {}
    for found in own.sizes:
        sizes.setdefault(found.set, {})[found.reader] = {
            "runs": found.runs,
            "rho": estimate_json(found.rho),
            "p": number_json(found.p_value),
        }
    return {"shifts": _shifts(own.shifts), "recovered": recovered, "size_and_spread": sizes}


def difference_json(found: Difference | None) -> dict[str, Any] | None:
    """The difference with its interval, as `estimate_json`."""
    return None if found is None else estimate_json(Estimate(found.value, found.low, found.high))
