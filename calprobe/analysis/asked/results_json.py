"""The JSON of reports of asked runs: the keys that scripts depend on (docs/reference/files.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from calprobe.analysis.asked.lengths import Lengths, StageLengths
from calprobe.analysis.asked.results import (
    Accuracy,
    AcrossRuns,
    AskedRunReport,
    BudgetPlan,
    CellBudget,
    CellEstimator,
    CellReport,
    Drop,
    KindReport,
    MeanOverVariants,
    OffLabel,
    Overconfidence,
    QuestionItself,
    Recovered,
    Repair,
    SampleCounts,
    SetReport,
    ShiftSummary,
    SizeAndSpread,
    SizePoint,
    Spread,
    Wordings,
)
from calprobe.analysis.asked.science.results_json import answer_study_json, label_study_json
from calprobe.analysis.asked.stated.results_json import stated_json
from calprobe.analysis.json_values import value_json
from calprobe.cells.asked_extent import limited_json
from calprobe.confidence.samples import WordingShare

# What a record is in JSON: its keys, and behind = the field where that has another name.
KEYS: Mapping[type, str] = {
    Accuracy: "n=asked unread reasons flags rules accuracy_of_read=of_read graded_by abstained",
    CellEstimator: "n=rows chance reasons brier_bounds scale rarer mass bounded",
    KindReport: "n=rows chance accuracy estimators",
    Lengths: "n mean least quartile_1 median quartile_3 most",
    StageLengths: "n=replies tokens thoughts cut open_thoughts ended_thoughts",
    SampleCounts: "mean least most answered",
    Drop: "variant reader baseline paired relative",
    MeanOverVariants: "variants left_out accuracy ece_label ece ece_gap over_accuracy over_label",
    OffLabel: "all_labels_seen=all_seen mass_seen",
    Overconfidence: (
        "n=rows accuracy label ece_gap ece_gap_all_rows=ece_gap_all distinct_values=distinct mode mode_share"
        " accuracy_of_unread=accuracy_unread"
    ),
    Recovered: "cells ratio_of_means mean_of_ratios",
    Repair: (
        "variant reader n=rows first_char=first repaired reference recovered right_to_wrong wrong_to_right"
        " previously_right against_baseline no_marker=unread_by_other right_without_marker=right_of_those"
    ),
    ShiftSummary: "cells mean median max=largest above_0.05=above_005 above_0.20=above_020",
    SizeAndSpread: "rho p=p_value rho_without_embeddings=rho_others rho_without_a_family=without_a_family unknown",
    SizePoint: "run model spread",
    QuestionItself: "questions itself others accuracy agreement",
    Wordings: "samples accuracy agreement",
    WordingShare: "rho rho_unsettled ratio_of_sums by_chance unbiased settled questions",
    Spread: "variants n=rows by_chance accuracy chance",
}


def report_json(runs: Iterable[AskedRunReport], across: AcrossRuns | None) -> dict[str, Any]:
    """A key for each run, and `across` for what only several show."""
    found = {run.label: run_json(run) for run in runs}
    return found if across is None else found | {"across": _across(across)}


def run_json(run: AskedRunReport) -> dict[str, Any]:
    """One run."""
    size = run.size
    found: dict[str, Any] = {
        "model": run.model,
        "kind": "asked",
        "parameters": None if size is None else size.parameters,
        "parameters_without_embeddings": None if size is None else size.others,
        "questions": run.questions,
        "partial": run.partial,
        "limited": limited_json(run.extent),
        "extent": None if run.extent is None else run.extent.to_json(),
        "sets": {name: _set(own) for name, own in run.sets.items()},
        "shifts": _shifts(run.shifts),
        "disclosure": run.disclosure.to_json(),
    }
    if run.stated is not None:
        found["stated"] = stated_json(run.stated)
    if run.labels is not None:
        found["label_study"] = label_study_json(run.labels)
    if run.answers is not None:
        found["answer_study"] = answer_study_json(run.answers)
    return found


def _set(own: SetReport) -> dict[str, Any]:
    return {
        "questions": own.questions,
        **({"claims": own.claims} if own.claims else {}),
        "variants": {variant: _cell(cell) for variant, cell in own.cells.items()},
        "format_changes": list(own.format_changes),
        "spread": {reader: _value(found.value) for reader, found in own.spread.items()},
        "spread_of": _value(own.spread),
        "drops": _value(own.drops),
        "repairs": _value(own.repairs),
        "means": {found.estimator: _value(found) for found in own.means},
    }


def _cell(cell: CellReport) -> dict[str, Any]:
    off = cell.off_label
    return {
        "n": cell.rows,
        "failed": cell.failed,
        "failed_by_stage": dict(cell.failures),
        "failed_by_reason": dict(cell.failure_reasons),
        "chance": _value(cell.chance),
        "accuracy": {reader: _value(own.value) for reader, own in cell.accuracy.items()},
        "readings": _value(cell.accuracy),
        "coverage": {name: _value(own.coverage) for name, own in cell.estimators.items()},
        "off_label": None if off is None else _value(off.mean),
        "off_label_above_half": None if off is None else _value(off.above_half),
        "window": _value(off),
        "estimators": {name: _value(own.metrics) for name, own in cell.estimators.items()},
        "confidences": _value(cell.estimators),
        "maps": {name: own.to_json() for name, own in cell.maps.items()},
        "shift": _value(cell.shift),
        "overconfidence": _value(cell.overconfidence),
        "budget": {str(own.answers): _budget(own) for own in cell.budgets},
        "lengths": {own.stage: _value(own) for own in cell.lengths},
        "samples": _value(cell.samples),
        "question_itself": _value(cell.itself),
        "wording": {own.points: _value(own.share) | {"p": _value(own.p)} for own in cell.wording},
        **({"kinds": _value(cell.kinds)} if cell.kinds else {}),
        **({} if cell.slices is None else cell.slices.to_json()),
    }


def _budget(own: CellBudget) -> dict[str, Any]:
    """By plan, `n_p x n_s`: AUROC by measure and reading, with its deviation over the draws, and shares by points."""
    plans: dict[str, dict[str, Any]] = {
        _plan(plan): {"n_p": plan.wordings, "n_s": plan.samples, "auroc": {}, "wording": {}} for plan in own.plans
    }
    for found in own.aurocs:
        value = _value(found.value) | {"sd": _value(found.deviation)}
        plans[_plan(found.plan)]["auroc"].setdefault(found.measure, {})[found.reading] = value
    for share in own.shares:
        plans[_plan(share.plan)]["wording"][share.points] = {
            name: {"value": _value(value), "sd": _value(share.deviations[name])} for name, value in share.means.items()
        }
    return {"answers": own.answers, "draws": own.draws, "questions": own.questions, "plans": plans}


def _plan(plan: BudgetPlan) -> str:
    return f"{plan.wordings}x{plan.samples}"


def _shifts(several: Iterable[ShiftSummary]) -> dict[str, Any]:
    return {own.of: _value(own) for own in several}


def _across(own: AcrossRuns) -> dict[str, Any]:
    recovered: dict[str, dict[str, Any]] = {}
    for share in own.recovered:
        recovered.setdefault(share.set, {})[share.reader] = _value(share)
    sizes: dict[str, dict[str, Any]] = {}
    for found in own.sizes:
        sizes.setdefault(found.set, {})[found.reader] = _size(found)
    return {"shifts": _shifts(own.shifts), "recovered": recovered, "size_and_spread": sizes}


def _size(found: SizeAndSpread) -> dict[str, Any]:
    points = [
        _value(own) | {"parameters": own.size.parameters, "parameters_without_embeddings": own.size.others}
        for own in found.points
    ]
    return {"runs": len(points), **_value(found), "points": points}


def _value(value: Any) -> Any:
    return value_json(value, _record)


def _record(value: Any) -> dict[str, Any] | None:
    """The values of a record by KEYS."""
    if type(value) not in KEYS:
        return None
    named = [key.partition("=") for key in KEYS[type(value)].split()]
    return {key: getattr(value, field or key) for key, _, field in named}
