"""What graders make of the same answers, as plain frozen data with its JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from calprobe.measures.json_values import number_json, record_json, value_json
from calprobe.metrics import Estimate
from calprobe.metrics.grader_order import GraderOrder, StratifiedAuroc
from calprobe.metrics.judged import JudgedAccuracy, JudgedConfidence

Metrics = Mapping[str, Estimate]  # by name


@dataclass(frozen=True, slots=True)
class GraderNumbers:
    """The answers of a cell as one grader has them."""

    JSON: ClassVar = "n=answers accuracy estimators right_with_length within_length"

    answers: int  # graded so
    accuracy: Estimate
    estimators: Mapping[str, Metrics]  # by estimator
    right_with_length: Estimate  # Spearman's correlation of correctness and length
    within_length: Mapping[str, StratifiedAuroc]  # by estimator: AUROC within tenths of length


@dataclass(frozen=True, slots=True)
class GraderPair:
    """Two graders of the same answers."""

    first: str
    second: str
    reading: str  # of samples, what the estimators speak of: majority, greedy, or each answer, "answers"
    answers: int  # that both have graded
    agree: Estimate  # the share that both call right, or both wrong
    order: GraderOrder

    @property
    def repeated(self) -> bool:
        """Whether another reading of the same graders, that of each answer, comes first."""
        return self.reading != "answers"

    def to_json(self) -> dict[str, Any]:
        """The object of a pair."""
        order = self.order
        return {
            "graders": [self.first, self.second],
            "reading": self.reading,
            "n": self.answers,
            "agree": value_json(self.agree),
            "estimators": len(order.names),
            "tau": value_json(order.tau),
            "rho": value_json(order.rho),
            "best": list(order.best),
            "same_best": number_json(order.same_best),
            "lost": value_json(order.lost),
        }


@dataclass(frozen=True, slots=True)
class GraderErrors:
    """One grader against the imported grades, which are taken for the truth."""

    accuracy: JudgedAccuracy
    confidences: Mapping[str, JudgedConfidence]  # by estimator
    scored: int  # answers that the judge has given a probability of being right, and that have an imported grade
    score: Metrics  # of that probability as a confidence of the answer being right; none of other graders

    JSON: ClassVar = "accuracy confidences judge_n=scored judge_probability=score"


@dataclass(frozen=True, slots=True)
class CellGraders:
    """One set under one variant."""

    set: str
    variant: str
    graders: Mapping[str, GraderNumbers]  # by name
    pairs: tuple[GraderPair, ...]
    length: str  # what lengths are counted in; empty: none are known, or all are equal
    with_length: Mapping[str, Estimate]  # by estimator, Spearman's correlation of being sure and length
    errors: Mapping[str, GraderErrors]  # by grader; none without imported grades

    JSON: ClassVar = "graders pairs length with_length errors"

    @property
    def estimators(self) -> tuple[str, ...]:
        """Those that any grader has numbers of, in the order of reports."""
        return tuple(dict.fromkeys(name for grader in self.graders.values() for name in grader.estimators))


@dataclass(frozen=True, slots=True)
class GraderStudy:
    """Those of a run."""

    cells: tuple[CellGraders, ...]

    def to_json(self) -> dict[str, Any]:
        """What `calprobe report --graders .. --json` says under `graders`: by set and variant."""
        found: dict[str, dict[str, Any]] = {}
        for cell in self.cells:
            found.setdefault(cell.set, {})[cell.variant] = record_json(cell)
        return found
