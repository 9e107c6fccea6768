"""What answer sets of runs are like, as plain frozen data with its JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from calprobe.errors import UsageError
from calprobe.measures.json_values import estimate_json, number_json, record_json
from calprobe.messages import finite_or_none
from calprobe.metrics import SET_RULES, AnswerSets, Estimate, SetRule

USUAL_RULES: tuple[SetRule, ...] = ("lac", "aps", "aps_random")


@dataclass(frozen=True, slots=True)
class SetOptions:
    """What is promised, by which rules, and how units are split. Raises UsageError for what is out of range."""

    coverage: float = 0.9
    rules: tuple[SetRule, ...] = USUAL_RULES
    by: str | None = None  # relation or group: also thresholds of their own for each; None: one for all
    estimators: tuple[str, ...] | None = None  # None: base; of replies the label's, or the frequency of answers
    seed: int = 0  # of the halves, and of the draws of aps_random

    def __post_init__(self) -> None:
        if not 0 < self.coverage < 1:
            raise UsageError(f"--coverage must lie between 0 and 1; got {self.coverage}")
        for rule in self.rules:
            if rule not in SET_RULES:
                raise UsageError(f"--rule: no {rule!r}; there are {', '.join(SET_RULES)}")


DEFAULT_SETS = SetOptions()


@dataclass(frozen=True, slots=True)
class Expected:
    """The coverage that the promise lets one expect of so many units, given one calibration on so many."""

    mean: float
    low: float  # the middle 95 % of what chance makes of it
    high: float
    p_low: float  # how probable a coverage is that is no larger than the one found

    @property
    def estimate(self) -> Estimate:
        """Mean and range, as tables print them."""
        return Estimate(self.mean, self.low, self.high)


@dataclass(frozen=True, slots=True)
class GroupSets:
    """The sets of one relation or group."""

    calibrated: int  # units that its threshold was fixed on
    threshold: float  # infinite: too few units, or too few with probabilities; sets then have all candidates
    sets: AnswerSets

    def to_json(self) -> dict[str, Any]:
        """Threshold and sets."""
        return {"calibrated": self.calibrated, "threshold": finite_or_none(self.threshold), **sets_json(self.sets)}


@dataclass(frozen=True, slots=True)
class RuleSets:
    """The sets by one rule, with one threshold or with one for each group."""

    rule: SetRule
    by: str  # what has thresholds of its own; empty: one for all
    calibrated: int
    threshold: float  # NaN of several; infinite: too few units, or too few with probabilities
    sets: AnswerSets
    # None: of clusters, of what is not held out, and where nothing is promised (`naive`, too many unscored).
    expected: Expected | None
    groups: Mapping[str, GroupSets] = field(default_factory=dict)
    unscored: int = 0  # of the calibrated units, those without probabilities
    too_few: bool = False  # whether so few units fix no threshold, even where all have probabilities

    @property
    def title(self) -> str:
        """As tables name it."""
        return f"{self.rule} by {self.by}" if self.by else self.rule

    def to_json(self) -> dict[str, Any]:
        """Its object in `calprobe sets --json`."""
        return {
            "rule": self.rule,
            "by": self.by or None,
            "calibrated": self.calibrated,
            "unscored": self.unscored,
            "threshold": finite_or_none(self.threshold),
            **sets_json(self.sets),
            "strata": [
                {"least": least, "most": most, "units": sets.units, "coverage": estimate_json(sets.coverage)}
                for least, most, sets in self.sets.by_size()
            ],
            "expected": None if self.expected is None else record_json(self.expected),
            "groups": {name: group.to_json() for name, group in self.groups.items()},
        }


@dataclass(frozen=True, slots=True)
class CellSets:
    """The sets of one estimator of a cell, by several rules."""

    cell: str  # run, set and variant
    score: str
    on: str  # what they were checked on: the other half, or another run
    clustered: bool
    rules: tuple[RuleSets, ...]
    held_out: bool = True  # False: cases that they were checked on fixed the thresholds

    JSON: ClassVar = "cell score checked_on=on held_out clustered rules"


@dataclass(frozen=True, slots=True)
class Withheld:
    """Single answers of which some are withheld, so that wrong ones are given as seldom as promised."""

    JSON: ClassVar = (
        "cell score checked_on=on held_out clustered answer_if calibrated threshold units answered wrong coverage "
        "expected"
    )

    cell: str
    score: str
    on: str
    clustered: bool
    at_least: bool  # whether larger scores are surer
    calibrated: int
    limit: float  # in sureness: answered is what is surer; infinite: nothing, minus infinity: everything
    units: int
    answered: int
    wrong: int  # of the answered
    coverage: Estimate  # share that is right or withheld
    expected: Expected | None  # None: of clusters, and where it is not held out
    held_out: bool = True  # False: answers that it was checked on fixed the threshold

    @property
    def threshold(self) -> float | None:
        """In units of the score; None where all or nothing is answered."""
        return (self.limit if self.at_least else -self.limit) if math.isfinite(self.limit) else None

    @property
    def answer_if(self) -> str:
        """On which side of the threshold answers are given: the threshold itself is not enough."""
        if math.isinf(self.limit):
            return "always" if self.limit < 0 else "never"
        return "above" if self.at_least else "below"


@dataclass(frozen=True, slots=True)
class SetReport:
    """Those of several estimators and cells."""

    options: SetOptions
    sets: tuple[CellSets, ...]
    withheld: tuple[Withheld, ...]

    def to_json(self) -> dict[str, Any]:
        """What `calprobe sets --json` prints."""
        return {
            "coverage": self.options.coverage,
            "seed": self.options.seed,
            "sets": [record_json(sets) for sets in self.sets],
            "withheld": [record_json(withheld) for withheld in self.withheld],
        }


def sets_json(sets: AnswerSets) -> dict[str, Any]:
    """The numbers of some sets."""
    return {
        "units": sets.units,
        "coverage": estimate_json(sets.coverage),
        "mean_size": number_json(sets.mean_size),
        "median_size": number_json(sets.median_size),
        "mean_options": number_json(sets.mean_options),
        "empty": number_json(sets.empty),
        "singletons": number_json(sets.singletons),
        "singleton_accuracy": estimate_json(sets.singleton_accuracy),
    }
