"""The numbers of one cell: evaluators side by side, estimators with their coverage, what normalising and stating do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Mask
from calprobe.cells.asked import AskedCell
from calprobe.cells.cell import sample_of
from calprobe.confidence.asked import Answers, off_label_mass
from calprobe.confidence.asked.label_masses import first_masses
from calprobe.confidence.types import Confidence
from calprobe.measures.estimates import estimates_of, few_values_of, mean_estimate
from calprobe.measures.options import ReportOptions, metrics_of
from calprobe.measures.recalibrated import recalibrate_cell
from calprobe.metrics import (
    Difference,
    Estimate,
    Metric,
    PairedDraws,
    mean_draws,
    paired_draws,
    standard_metrics,
)
from calprobe.metrics.bootstrap import draw_samples
from calprobe.metrics.faithfulness import Faithfulness, faithfulness
from calprobe.metrics.intervals import UNDEFINED
from calprobe.metrics.scoring_rules import CONFIDENCE_GAP
from calprobe.studies.asked.cell_results import (
    Accuracy,
    CellEstimator,
    CellReport,
    KindReport,
    OffLabel,
    Overconfidence,
)
from calprobe.studies.asked.lengths import cell_lengths
from calprobe.studies.wording.budget_plans import BudgetOptions, cell_budgets
from calprobe.studies.wording.numbers import cell_wording, question_itself
from calprobe.studies.wording.results import SampleCounts

RAW, NORMALISED, FREQUENCY = "label_raw", "label", "frequency"


def report_cell(opened: AskedCell, options: ReportOptions) -> CellReport:
    """One cell's numbers.

    Args:
        opened: the cell, with the confidences of its estimators and the answers by reader.
        options: bins, resamples, and whether the paper's rules hold.
    """
    cell = opened.table
    return CellReport(
        set=cell.set,
        variant=cell.variant,
        rows=len(cell),
        failed=cell.failed,
        failures=cell.failures,
        failure_reasons=cell.reasons,
        chance=float(opened.units.chance.mean()) if len(cell) else float("nan"),
        accuracy={name: report_accuracy(opened, answers, options) for name, answers in opened.answers.items()},
        estimators=_estimators(opened, options),
        off_label=_off_label(opened, options) if NORMALISED in opened.confidences else None,
        shift=_shift(opened, options) if NORMALISED in opened.confidences else None,
        overconfidence={
            name: _overconfidence(opened, name, options)
            for name, estimator in opened.estimators.items()
            if estimator.group == "stated"
        },
        faithfulness=_faithfulness(opened, options),
        samples=_samples(opened),
        wording=cell_wording(opened, options.resampling, options.with_original),
        itself=question_itself(opened, options.resampling),
        lengths=cell_lengths(cell),
        maps=opened.maps,
        budgets=cell_budgets(
            opened,
            BudgetOptions(options.budget, options.budget_draws, options.forms, options.with_original),
            options.resampling,
        ),
        kinds=_kinds(opened, options),
        recalibrated=None
        if options.recalibrate is None
        else recalibrate_cell(opened.cell, options.recalibrate, options.ace_bins, options.resampling),
    )


def _estimators(opened: AskedCell, options: ReportOptions) -> dict[str, CellEstimator]:
    metrics = estimates_of(opened.cell, metrics_of(options), options.resampling, smooth=False)
    return {name: _calibration(opened, name, metrics[name], options) for name in opened.confidences}


def _kinds(opened: AskedCell, options: ReportOptions) -> dict[str, KindReport]:
    """The questions of each kind by themselves, where there are several."""
    kinds = [row.question.kind for row in opened.table.rows]
    if len(set(kinds)) < 2:
        return {}
    reports: dict[str, KindReport] = {}
    for kind in dict.fromkeys(kinds):
        places = [at for at, of_row in enumerate(kinds) if of_row == kind]
        of_kind = opened.at(places)
        of_kind = of_kind.only(name for name, confidence in of_kind.confidences.items() if confidence.asked.any())
        reports[kind] = KindReport(
            rows=len(places),
            chance=float(of_kind.units.chance.mean()),
            accuracy={name: report_accuracy(of_kind, answers, options) for name, answers in of_kind.answers.items()},
            estimators=_estimators(of_kind, options),
        )
    return reports


def _faithfulness(opened: AskedCell, options: ReportOptions) -> dict[str, Faithfulness]:
    """Of each stated confidence, on the rows that have it and are samples of their question."""
    frequency = opened.confidences.get(FREQUENCY)
    if frequency is None:
        return {}
    reports: dict[str, Faithfulness] = {}
    for name, estimator in opened.estimators.items():
        stated = opened.confidences[name]
        kept = stated.read & frequency.read
        if estimator.group == "stated" and kept.any():
            values = stated.confidence[kept], frequency.confidence[kept]
            reports[name] = faithfulness(*values, options.resampling, opened.units.clusters_of(kept))
    return reports


def _samples(opened: AskedCell) -> SampleCounts | None:
    questions = opened.read.samples
    if opened.units.clusters is None or not questions:
        return None
    counts = [len(question.rows) for question in questions]
    answered = mean_of([question.read for question in questions])
    return SampleCounts(mean_of(counts), min(counts), max(counts), answered)


def report_accuracy(opened: AskedCell, answers: Answers, options: ReportOptions) -> Accuracy:
    """How often the answers under one reader are right."""
    return Accuracy(
        value=mean_over(opened, answers.correct, answers.asked, options),
        of_read=mean_over(opened, answers.correct, answers.extracted, options),
        reasons=answers.reasons,
        flags=answers.flags,
        rules=answers.rules,
        decided=answers.decided,
        asked=int(answers.asked.sum()),
        abstained=_abstained(opened, answers, options),
    )


def _abstained(opened: AskedCell, answers: Answers, options: ReportOptions) -> Estimate | None:
    is_open = np.array([row.question.kind == "open" for row in opened.table.rows], np.bool_)
    return mean_over(opened, answers.abstained, is_open & answers.asked, options) if is_open.any() else None


def mean_over(opened: AskedCell, values: npt.NDArray[Any], kept: Mask, options: ReportOptions) -> Estimate:
    """The mean of a quantity in [0, 1] over some rows, with its interval."""
    return mean_estimate(values, kept, options.resampling, opened.units.clusters)


def _calibration(
    opened: AskedCell, name: str, metrics: Mapping[str, Estimate], options: ReportOptions
) -> CellEstimator:
    confidence = opened.confidences[name]
    asked, read = confidence.asked, confidence.read
    rows, missing = int(read.sum()), int((asked & ~read).sum())
    brier = metrics["brier"].value * rows if rows and "brier" in metrics else 0.0
    total = rows + missing if "brier" in metrics else 0
    return CellEstimator(
        rows=rows,
        coverage=mean_over(opened, read, asked, options),
        reasons=confidence.reasons,
        metrics=metrics,
        brier_bounds=(brier / total, (brier + missing) / total) if total else (float("nan"), float("nan")),
        scale=opened.estimators[name].scale,
        rarer=_rarer(opened, confidence),
        mass=None if confidence.mass is None or not rows else float(np.nanmean(confidence.mass[read])),
        bounded=confidence.bounded,
        few_values=few_values_of(opened.cell, name, options.ace_bins),
        chance=mean_of(opened.units.chance[read].tolist()),
    )


def report_estimator(opened: AskedCell, name: str, metrics: Sequence[Metric], options: ReportOptions) -> CellEstimator:
    """The numbers of one estimator, as those of a report."""
    values = estimates_of(opened.cell, metrics, options.resampling, [name], smooth=False)
    return _calibration(opened, name, values[name], options)


def _rarer(opened: AskedCell, confidence: Confidence) -> int:
    """Questions with the rarer of the two outcomes."""
    names = np.array([row.question.root for row in opened.table.rows], np.str_)
    return min(len(set(names[confidence.read & (confidence.correct == outcome)])) for outcome in (True, False))


def _off_label(opened: AskedCell, options: ReportOptions) -> OffLabel:
    masses = opened.read.first
    off = off_label_mass(masses)
    asked = ~np.isnan(off)
    all_masses = first_masses(opened.table)
    with np.errstate(invalid="ignore", divide="ignore"):
        seen = (masses.total / np.maximum(all_masses.total, masses.total + _least_missing(opened)))[asked]
    return OffLabel(
        mean=mean_over(opened, off, asked, options),
        above_half=mean_over(opened, off > 0.5, asked, options),
        all_seen=float(masses.covered[asked].mean()) if asked.any() else float("nan"),
        mass_seen=float(np.nanmean(seen)) if np.isfinite(seen).any() else float("nan"),
    )


def _least_missing(opened: AskedCell) -> Floats:
    """The most that the labels which a backend did not return can have, [rows]: each that of the window's last."""
    bounds = np.zeros(len(opened.table))
    for at, row in enumerate(opened.table.rows):
        scores = row.first.label_scores
        if scores is not None and len(scores.positions):
            bounds[at] = (~scores.covered[0]).sum() * np.exp(scores.least[0])
    return bounds


def _shift(opened: AskedCell, options: ReportOptions) -> Estimate:
    """`|ECE of label_raw - ECE of label|` on the rows that have both.

    Its interval is that of the signed difference, folded at 0.
    """
    difference = _ece_difference(opened, RAW, NORMALISED, options)
    if difference is None:
        return UNDEFINED
    size = abs(difference.value)
    if np.isnan(difference.low):
        return Estimate(size)
    ends = sorted((abs(difference.low), abs(difference.high)))
    return Estimate(size, 0.0 if difference.low <= 0 <= difference.high else ends[0], ends[1])


def _ece_difference(opened: AskedCell, first: str, second: str, options: ReportOptions) -> Difference | None:
    """The ECE of one estimator minus that of another, on the rows that both have; None without any."""
    pair = opened.confidences[first], opened.confidences[second]
    kept = pair[0].read & pair[1].read
    if not kept.any():
        return None
    samples = {"first": sample_of(pair[0], kept), "second": sample_of(pair[1], kept)}
    chosen = [candidate for candidate in standard_metrics(options.ace_bins) if candidate.name == "ece"]
    drawn = paired_draws(chosen, samples, [("first", "second")], options.resampling, opened.units.clusters_of(kept))
    draws = drawn["first", "second"]["ece"]
    return (PairedDraws(draws.value, draws.resampled, few=draws.few) if options.by_paper else draws).difference()


def _overconfidence(opened: AskedCell, name: str, options: ReportOptions) -> Overconfidence:
    stated, label = opened.confidences[name], opened.confidences.get(NORMALISED)
    read = stated.read
    common = read if label is None else read & label.read
    values, counts = np.unique(stated.confidence[read], return_counts=True)
    return Overconfidence(
        rows=int(common.sum()),
        accuracy=_over_accuracy(opened, stated, common, options),
        label=None if label is None else _mean_difference(opened, stated.confidence, label.confidence, common, options),
        ece_gap=None if label is None else _ece_difference(opened, name, NORMALISED, options),
        ece_gap_all=None if label is None else _gap_of_all(stated, label),
        distinct=len(values),
        mode=float(values[counts.argmax()]) if len(values) else float("nan"),
        mode_share=float(counts.max() / counts.sum()) if len(values) else float("nan"),
        accuracy_unread=mean_over(opened, stated.correct, stated.asked & ~read, options),
    )


def _over_accuracy(opened: AskedCell, stated: Confidence, kept: Mask, options: ReportOptions) -> Difference:
    """Mean confidence minus the accuracy of the same rows."""
    if not kept.any():
        return Difference(float("nan"))
    sample = {"": sample_of(stated, kept)}
    draws = draw_samples([CONFIDENCE_GAP], sample, options.resampling, opened.units.clusters_of(kept))
    return PairedDraws.from_0(draws[""][CONFIDENCE_GAP.name]).difference()


def _mean_difference(
    opened: AskedCell, first: Floats, second: Floats, kept: Mask, options: ReportOptions
) -> Difference:
    if not kept.any():
        return Difference(float("nan"))
    return mean_draws((first - second)[kept], options.resampling, opened.units.clusters_of(kept)).difference()


def _gap_of_all(stated: Confidence, label: Confidence) -> float:
    values = [ece_of(stated, stated.read), ece_of(label, label.read)]
    return values[0] - values[1]


def ece_of(found: Confidence, kept: Mask) -> float:
    """ECE, ten bins of equal width, over some rows; NaN without any."""
    from calprobe.metrics import ece

    return float(ece(found.confidence[kept], found.correct[kept])) if kept.any() else float("nan")


def mean_of(values: Sequence[float]) -> float:
    """The plain mean; NaN of nothing."""
    return float(np.mean(values)) if len(values) else float("nan")
