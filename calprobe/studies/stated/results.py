"""What the study of stated confidence says of runs, as plain frozen data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from calprobe.measures.json_values import number_json, record_json, value_json
from calprobe.metrics import Difference, Estimate, Metric
from calprobe.metrics.distinct import ValueUse
from calprobe.studies.stated.reversal_check import Reversal
from calprobe.studies.stated.stated_cells import StatedPrompt

ScopeKind = Literal["set", "macro", "pooled"]


@dataclass(frozen=True, slots=True)
class Deviation:
    """How much the confidences of a group of prompts differ, and the means of the two other qualities over them."""

    JSON: ClassVar = "n=answers prompts=n_prompts msd largest share fidelity brier"

    prompts: tuple[str, ...]
    answers: int  # with all of them; over sets their sum
    msd: Estimate
    largest: float  # that an MSD of so many prompts can be
    fidelity: Estimate | None = None  # mean fidelity rate; None: one of the prompts has none
    brier: Estimate | None = None  # mean Brier score, likewise

    @property
    def n_prompts(self) -> int:
        """Number of prompts."""
        return len(self.prompts)

    @property
    def share(self) -> Estimate:
        """The MSD as a share of the largest, in [0, 1]."""
        return Estimate(self.msd.value / self.largest, self.msd.low / self.largest, self.msd.high / self.largest)


LEAST_ANSWERS = 10  # of a correlation that tables and figures show; JSON has all, with their numbers


@dataclass(frozen=True, slots=True)
class PairOfPrompts:
    """How two prompts' confidences go together."""

    JSON: ClassVar = "prompts n=answers pearson spearman"

    first: str
    second: str
    answers: int  # with both
    pearson: Estimate
    spearman: Estimate

    @property
    def prompts(self) -> tuple[str, str]:
        """Both."""
        return (self.first, self.second)

    @property
    def enough(self) -> bool:
        """Whether tables and figures show it: two answers always lie on a line, a few nearly."""
        return self.answers >= LEAST_ANSWERS


@dataclass(frozen=True, slots=True)
class Fidelity:
    """The confidence in the model's own answers against that in others in their place."""

    JSON: ClassVar = "n=answers prompts dropped fidelity=rate ties fidelity_half=neutral"

    answers: int  # compared; of a mean over prompts the fewest
    dropped: int  # the other one repeats the model's own, or is right itself
    rate: Estimate  # F: the own one is higher
    ties: Estimate
    neutral: Estimate  # F plus half of the ties
    prompts: int = 1  # that it is a mean over


@dataclass(frozen=True, slots=True)
class MeanConfidence:
    """Mean confidence in what stood in the answer's place."""

    answers: int  # of a mean over prompts the fewest
    value: Estimate
    prompts: int = 1  # that it is a mean over

    def to_json(self) -> dict[str, Any]:
        """The mean with its interval, and what it is over."""
        return {"n": self.answers, "prompts": self.prompts, **value_json(self.value)}


@dataclass(frozen=True, slots=True)
class PromptReliability:
    """One prompt's confidences against the correctness of the answers; or the mean over prompts."""

    answers: int  # with a confidence; of a mean the fewest
    coverage: float  # their share of the answers asked
    metrics: Mapping[str, Estimate]
    prompts: int = 1  # that it is a mean over
    mass: float | None = None  # mean probability of all replies of the scale; None: these were not read

    def to_json(self) -> dict[str, Any]:
        """Its metrics, and what they are of; a mass where there is one."""
        return {
            "n": self.answers,
            "prompts": self.prompts,
            "coverage": number_json(self.coverage),
            **({} if self.mass is None else {"mass": number_json(self.mass)}),
            "metrics": value_json(self.metrics),
        }


@dataclass(frozen=True, slots=True)
class PromptDifference:
    """Metrics of one prompt minus those of another, of the same answers."""

    first: str
    second: str
    answers: int  # with both
    metrics: Mapping[str, Difference]
    p_holm: Mapping[str, float]  # by metric; corrected for all pairs and metrics of the scope

    def to_json(self) -> dict[str, Any]:
        """The differences by metric, each with both p-values."""
        metrics = {
            name: {
                **value_json(difference),
                "p": number_json(difference.p_value),
                "p_holm": number_json(self.p_holm[name]),
            }
            for name, difference in self.metrics.items()
        }
        return {"prompts": [self.first, self.second], "n": self.answers, "metrics": metrics}


@dataclass(frozen=True, slots=True)
class StatedScope:
    """The numbers of one set, of all sets end to end, or their means over sets, under one way of reading."""

    JSON: ClassVar = (
        "n=answers consistency=deviations correlation=pairs fidelity conditions reliability values differences"
        " reversed=reversed_prompts"
    )

    variant: str
    way: str  # see `cells.WAYS`
    kind: ScopeKind
    name: str  # of the set; macro, pooled
    answers: int
    deviations: Mapping[str, Deviation]  # by group
    pairs: tuple[PairOfPrompts, ...]
    fidelity: Mapping[str, Fidelity]  # by prompt, and `mean`; empty without counterfactual answers
    conditions: Mapping[str, Mapping[str, Mapping[str, MeanConfidence]]]  # by condition, split, prompt and `mean`
    reliability: Mapping[str, PromptReliability]  # by prompt, and `mean`
    values: Mapping[str, ValueUse]  # by prompt; empty of means over sets
    reversals: tuple[Reversal, ...]  # likewise
    differences: tuple[PromptDifference, ...] = ()  # likewise

    @property
    def reversed_prompts(self) -> dict[str, Reversal]:
        """The reversals by prompt."""
        return {reversal.prompt: reversal for reversal in self.reversals}

    def pearson(self, first: str, second: str) -> float:
        """r of two prompts, 1 of a prompt with itself; NaN where it is undefined or of too few answers."""
        if first == second:
            use = self.values.get(first)
            return float("nan") if use is not None and use.distinct < 2 else 1.0
        correlations = (
            pair.pearson.value for pair in self.pairs if pair.enough and {pair.first, pair.second} == {first, second}
        )
        return next(correlations, math.nan)


@dataclass(frozen=True, slots=True)
class StatedRun:
    """One run's part of the study."""

    label: str
    model: str
    prompts: tuple[StatedPrompt, ...]
    groups: Mapping[str, tuple[str, ...]]
    scopes: tuple[StatedScope, ...]
    chosen: tuple[str, ...] | None = None  # metrics that are shown, in this order; None: all

    def of(self, way: str, kind: ScopeKind | None = None) -> Iterator[StatedScope]:
        """The scopes under one way of reading, of one kind or of all."""
        yield from (scope for scope in self.scopes if scope.way == way and kind in (None, scope.kind))

    def to_json(self) -> dict[str, Any]:
        """Prompts, groups, warnings, then by variant and way of reading the sets, their macro mean, and all pooled."""
        variants: dict[str, Any] = {}
        for scope in self.scopes:
            ways = variants.setdefault(scope.variant, {})
            way = ways.setdefault(scope.way, {"sets": {}, "macro": None, "pooled": None})
            if scope.kind == "set":
                way["sets"][scope.name] = record_json(scope)
            else:
                way[scope.kind] = record_json(scope)
        return {
            "prompts": {
                prompt.name: {"reversed": prompt.is_reversed, "forward": prompt.forward or None}
                for prompt in self.prompts
            },
            "groups": value_json(self.groups),
            "warnings": list(self.warnings),
            "variants": variants,
        }

    @property
    def warnings(self) -> tuple[str, ...]:
        """What makes numbers mean less than they seem to: constant confidences, scales that were not reversed."""
        return tuple(dict.fromkeys(_warnings(self)))


@dataclass(frozen=True, slots=True)
class StatedStudy:
    """The study of one run or several."""

    runs: tuple[StatedRun, ...]
    metrics: tuple[Metric, ...]


def _warnings(run: StatedRun) -> Iterator[str]:
    for scope in run.of("ok"):
        where = f"{scope.variant}, {scope.name}" if len({sibling.variant for sibling in run.scopes}) > 1 else scope.name
        if constant := [name for name, use in scope.values.items() if use.constant]:
            yield (
                f"{where}: always the same confidence under {', '.join(constant)}; consistency is then perfect, "
                "F 0 and AUROC 0.5, without any meaning"
            )
        if ignored := [reversal.prompt for reversal in scope.reversals if reversal.ignored]:
            yield (
                f"{where}: {', '.join(ignored)} got the numbers of the scale that was not reversed; their metrics "
                "are of the wrong direction"
            )
