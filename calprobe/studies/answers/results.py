"""What the study of sampled answers says of a run, as plain frozen data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from calprobe.measures.json_values import value_json
from calprobe.metrics import Estimate

Metrics = Mapping[str, Estimate]  # by name
# How a row enters the metrics of a confidence if its answer or its confidence was not read: with the confidence that is
# farthest from the truth, 1 if it is wrong and 0 if it is right, not at all, or with confidence 0, which flatters a
# model that often fails. An answer that was not read is wrong; of one that was read it is known whether it is right.
TREATMENTS = ("worst", "dropped", "zero")
Kind = Literal["claims", "numbers", "texts", "choices"]  # of answers; claims are verdicts on one option each


@dataclass(frozen=True, slots=True)
class ResponseLevel:
    """Every response a row: of claims, a verdict on one option in one sample."""

    rows: int  # requests that failed are left out
    failed: int  # rows without an answer that could be read
    accuracy: Estimate  # an answer that was not read is wrong
    balanced: Estimate | None  # mean of the accuracies of claims that are true and that are not; None: no claims
    yes_where_true: Estimate | None  # share of Yes among the verdicts on right options
    yes_where_false: Estimate | None  # on wrong ones
    degenerate: str  # why the verdicts say nothing; empty: they do
    extraction: Estimate  # share of rows with an answer
    tolerances: Metrics  # accuracy of numbers under each tolerance, see `calprobe.answers.graders.TOLERANCES`
    treatments: Mapping[str, Mapping[str, Metrics]]  # by estimator, then by treatment


@dataclass(frozen=True, slots=True)
class QuestionLevel:
    """One answer a question: the option with most Yes, or of answers that are no verdicts the most frequent one."""

    rows: int
    tied: int  # questions of which several answers share the most, so that one of them is drawn
    unanswered: int  # questions of which nothing could be read
    accuracy: Estimate  # a question without an answer is wrong
    all_right: Estimate | None  # share of the questions of which every option has most verdicts right, more than half
    share: Metrics  # of the samples that give the answer, or of Yes for the chosen option; questions with an answer
    normalised: Metrics | None  # share of Yes over the sum of all options' shares; None: no claims


@dataclass(frozen=True, slots=True)
class AnswerCell:
    """The questions of one kind in one set under one variant."""

    JSON: ClassVar = "variant kind samples responses questions"

    set: str
    variant: str
    kind: Kind
    samples: int
    responses: ResponseLevel
    questions: QuestionLevel


@dataclass(frozen=True, slots=True)
class AnswerStudy:
    """One run."""

    label: str
    model: str
    cells: tuple[AnswerCell, ...]

    def of_set(self, name: str) -> dict[str, AnswerCell]:
        """The cells of a set by variant, or by variant and kind where a variant has questions of several kinds."""
        cells = [cell for cell in self.cells if cell.set == name]
        variants = [cell.variant for cell in cells]
        return {f"{c.variant}, {c.kind}" if variants.count(c.variant) > 1 else c.variant: c for c in cells}

    def to_json(self) -> dict[str, Any]:
        """What `calprobe report --json` says under `answer_study`: cells by set, then as `of_set` names them."""
        sets = dict.fromkeys(cell.set for cell in self.cells)
        return {"sets": {name: value_json(self.of_set(name)) for name in sets}}
