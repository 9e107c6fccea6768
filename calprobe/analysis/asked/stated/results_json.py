"""The JSON of the study of stated confidence: the keys that scripts depend on (docs/reference/files.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calprobe.analysis.asked.stated.results import (
    Deviation,
    Fidelity,
    MeanConfidence,
    PairOfPrompts,
    PromptDifference,
    PromptReliability,
    StatedRun,
    StatedScope,
)
from calprobe.analysis.asked.stated.reversal_check import Reversal
from calprobe.analysis.json_values import estimate_json, number_json
from calprobe.metrics import Estimate
from calprobe.metrics.distinct import ValueUse


def stated_json(run: StatedRun) -> dict[str, Any]:
    """Prompts, groups and warnings, then by variant and way of reading the sets, their macro mean, and all pooled."""
    variants: dict[str, Any] = {}
    for own in run.scopes:
        ways = variants.setdefault(own.variant, {}).setdefault(own.way, {"sets": {}, "macro": None, "pooled": None})
        if own.kind == "set":
            ways["sets"][own.name] = _scope(own)
        else:
            ways[own.kind] = _scope(own)
    return {
        "prompts": {own.name: {"reversed": own.is_reversed, "forward": own.forward or None} for own in run.prompts},
        "groups": {name: list(own) for name, own in run.groups.items()},
        "warnings": list(run.warnings),
        "variants": variants,
    }


def _scope(own: StatedScope) -> dict[str, Any]:
    return {
        "n": own.answers,
        "consistency": {name: _deviation(found) for name, found in own.deviations.items()},
        "correlation": [_pair(found) for found in own.pairs],
        "fidelity": {name: _fidelity(found) for name, found in own.fidelity.items()},
        "conditions": {
            condition: {split: _means(found) for split, found in splits.items()}
            for condition, splits in own.conditions.items()
        },
        "reliability": {name: _reliability(found) for name, found in own.reliability.items()},
        "values": {name: _values(found) for name, found in own.values.items()},
        "differences": [_difference(found) for found in own.differences],
        "reversed": {found.prompt: _reversal(found) for found in own.reversals},
    }


def _deviation(own: Deviation) -> dict[str, Any]:
    return {
        "n": own.answers,
        "prompts": len(own.prompts),
        "msd": estimate_json(own.msd),
        "largest": number_json(own.largest),
        "share": estimate_json(own.share),
        "fidelity": None if own.fidelity is None else estimate_json(own.fidelity),
        "brier": None if own.brier is None else estimate_json(own.brier),
    }


def _pair(own: PairOfPrompts) -> dict[str, Any]:
    return {
        "prompts": [own.first, own.second],
        "n": own.answers,
        "pearson": estimate_json(own.pearson),
        "spearman": estimate_json(own.spearman),
    }


def _fidelity(own: Fidelity) -> dict[str, Any]:
    return {
        "n": own.answers,
        "prompts": own.prompts,
        "dropped": own.dropped,
        "fidelity": estimate_json(own.rate),
        "ties": estimate_json(own.ties),
        "fidelity_half": estimate_json(own.neutral),
    }


def _means(found: Mapping[str, MeanConfidence]) -> dict[str, Any]:
    return {
        name: {"n": own.answers, "prompts": own.prompts, **(estimate_json(own.value) or {})}
        for name, own in found.items()
    }


def _reliability(own: PromptReliability) -> dict[str, Any]:
    metrics = {name: estimate_json(found) for name, found in own.metrics.items()}
    mass = {} if own.mass is None else {"mass": number_json(own.mass)}
    return {"n": own.answers, "prompts": own.prompts, "coverage": number_json(own.coverage), **mass, "metrics": metrics}


def _values(own: ValueUse) -> dict[str, Any]:
    return {
        "n": own.instances,
        "distinct": own.distinct,
        "mode": number_json(own.mode),
        "mode_share": number_json(own.mode_share),
        "entropy": number_json(own.entropy),
        "constant": own.constant,
    }


def _difference(own: PromptDifference) -> dict[str, Any]:
    metrics = {
        name: {
            **(estimate_json(Estimate(found.value, found.low, found.high)) or {}),
            "p": number_json(found.p_value),
            "p_holm": number_json(own.p_holm[name]),
        }
        for name, found in own.metrics.items()
    }
    return {"prompts": [own.first, own.second], "n": own.answers, "metrics": metrics}


def _reversal(own: Reversal) -> dict[str, Any]:
    return {
        "forward": own.forward,
        "n": own.answers,
        "same_number": estimate_json(own.same_number),
        "turned": estimate_json(own.turned),
        "nearer_to_same": estimate_json(own.nearer),
        "pearson": estimate_json(own.pearson),
        "ignored": own.ignored,
    }
