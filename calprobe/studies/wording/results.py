"""What a report says of samples and wordings of a question, as plain frozen data with its JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from calprobe.confidence.samples import WordingShare
from calprobe.measures.json_values import number_json, value_json
from calprobe.metrics import Difference, Estimate


@dataclass(frozen=True, slots=True)
class CellWording:
    """The share of the wording in one cell, of one way to put answers as points."""

    points: str  # laplacian: eigenvectors of judged pairs; one_hot: equal answers
    share: WordingShare
    p: float  # by permutation; NaN where none was asked for


@dataclass(frozen=True, slots=True)
class Wordings:
    """Answers to the question itself or to its other wordings, over the questions that have both."""

    samples: float  # of a question, mean
    accuracy: Estimate  # mean over questions of the share of right answers
    # Two samples of the question itself, or one of it and one of another wording: how often they give the same answer.
    agreement: Estimate


@dataclass(frozen=True, slots=True)
class QuestionItself:
    """The question as it stands in its set, apart from its other wordings."""

    questions: int
    itself: Wordings
    others: Wordings
    accuracy: Difference  # others minus itself, question by question
    agreement: Difference


@dataclass(frozen=True, slots=True)
class BudgetPlan:
    """How many wordings of a question are asked, and how often each."""

    wordings: int  # n_p
    samples: int  # n_s

    def __str__(self) -> str:
        return f"({self.wordings}, {self.samples})"

    @property
    def key(self) -> str:
        """Its name in JSON."""
        return f"{self.wordings}x{self.samples}"


@dataclass(frozen=True, slots=True)
class BudgetAuroc:
    """How well an uncertainty orders answers under one plan."""

    plan: BudgetPlan
    measure: str
    reading: str  # pooled, majority, greedy
    value: Estimate  # mean over the draws, with an interval over questions
    deviation: float  # standard deviation over the draws; NaN of one


@dataclass(frozen=True, slots=True)
class BudgetShare:
    """The share of the wording under one plan: means over the draws by field of WordingShare, and deviations."""

    plan: BudgetPlan
    points: str
    means: Mapping[str, float]
    deviations: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class CellBudget:
    """Plans of one number of answers, drawn from the replies of one cell."""

    answers: int  # m, of each question
    draws: int  # of each plan
    questions: int  # that allow every plan
    plans: tuple[BudgetPlan, ...]  # by number of wordings
    accuracy: Estimate  # of the answers that they are drawn from, which is that of each plan on average
    aurocs: tuple[BudgetAuroc, ...]
    shares: tuple[BudgetShare, ...]

    def to_json(self) -> dict[str, Any]:
        """By plan, `n_p x n_s`: AUROC by measure and reading, with its deviation over draws, and shares by points."""
        plans: dict[str, dict[str, Any]] = {
            plan.key: {"n_p": plan.wordings, "n_s": plan.samples, "auroc": {}, "wording": {}} for plan in self.plans
        }
        for auroc in self.aurocs:
            value = value_json(auroc.value) | {"sd": number_json(auroc.deviation)}
            plans[auroc.plan.key]["auroc"].setdefault(auroc.measure, {})[auroc.reading] = value
        for share in self.shares:
            plans[share.plan.key]["wording"][share.points] = {
                name: {"value": number_json(mean), "sd": number_json(share.deviations[name])}
                for name, mean in share.means.items()
            }
        counts = {"answers": self.answers, "draws": self.draws, "questions": self.questions}
        return {**counts, "accuracy": value_json(self.accuracy), "plans": plans}


@dataclass(frozen=True, slots=True)
class SampleCounts:
    """Samples of a question, in the mean over the questions; requests that failed are none."""

    mean: float
    least: int
    most: int
    answered: float  # mean of those with an answer
