"""What the study of label probabilities says of a run, as plain frozen data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from calprobe.measures.json_values import record_json
from calprobe.metrics import Estimate

Metrics = Mapping[str, Estimate]  # by name


@dataclass(frozen=True, slots=True)
class Concentration:
    """How the confidences of a design are spread over bins of equal width."""

    entropy: float  # normalised, 15 bins
    entropy_100: float  # 100 bins
    possible: float  # the largest entropy that calibrated confidences with the design's accuracy can have, 15 bins
    possible_100: float
    fullest: float  # share of the fullest of 15 bins


@dataclass(frozen=True, slots=True)
class LabelUse:
    """What one label gets of the probability, beside how often it is right."""

    label: str
    mass: float  # sum over questions of its probability, normalised over the labels
    gold: int  # questions of which it is the right label
    accuracy: Estimate  # of these questions


@dataclass(frozen=True, slots=True)
class LabelDesign:
    """One set under one prompt design."""

    JSON: ClassVar = "variant rows comprehension invalid chosen labels concentration uses"

    set: str
    variant: str
    rows: int
    comprehension: Estimate  # mean raw mass on the labels
    invalid: Mapping[str, int]  # see INVALID; of the unmasked pass, before anything is left out of it
    chosen: Mapping[str, Metrics]  # raw, normalised: of the most probable label
    labels: Mapping[str, Metrics]  # raw, normalised: of all labels, each with whether it is the right one
    concentration: Mapping[str, Concentration]  # raw, normalised
    uses: tuple[LabelUse, ...]


@dataclass(frozen=True, slots=True)
class PermutedDesign:
    """One design with the options in every cyclic order."""

    JSON: ClassVar = "variant orders rows mean_of_orders averaged same_choice uses"

    set: str
    variant: str
    orders: int
    rows: int  # questions with label probabilities in every order
    mean_of_orders: Metrics  # mean over the orders of each metric
    averaged: Metrics  # of the probabilities of each option averaged over the orders
    same_choice: Estimate  # share of the questions of which every order chooses the same option
    uses: tuple[LabelUse, ...]  # over all orders together: every option has been at every label


@dataclass(frozen=True, slots=True)
class Selection:
    """The design with the largest comprehension on one half of the questions, on the other half."""

    JSON: ClassVar = "variant comprehension others rows held_out best_on_held_out"

    set: str
    variant: str
    comprehension: float  # on the half that it was chosen on
    others: Mapping[str, float]  # by design, on that half
    rows: int  # of the other half
    held_out: Metrics  # comprehension, accuracy, ece_15, auroc, on the other half
    best_on_held_out: str  # the design that the other half would have chosen


@dataclass(frozen=True, slots=True)
class HiddenRow:
    """What ECE does not show of one scorer."""

    name: str  # a design, or a simulated scorer
    simulated: bool
    accuracy: float
    metrics: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class LabelSet:
    """One set of questions under all designs."""

    JSON: ClassVar = "designs permuted selection hidden"

    name: str
    designs: tuple[LabelDesign, ...]  # options in their own order
    permuted: tuple[PermutedDesign, ...] = ()
    selection: Selection | None = None  # None of one design, or too few questions
    hidden: tuple[HiddenRow, ...] = ()


@dataclass(frozen=True, slots=True)
class LabelStudy:
    """One run."""

    JSON: ClassVar = "asked_as sets"

    label: str
    model: str
    asked_as: str  # base, instruct, reasoning; unknown of replies that another tool made
    sets: Mapping[str, LabelSet] = field(default_factory=dict)
    prompts: str = ""  # the name of the prompt set; empty: of an import

    def to_json(self) -> dict[str, Any]:
        """What `calprobe report --json` says under `label_study`."""
        return record_json(self)


# How models are asked, in the order of the study; unknown of replies that another tool made.
KINDS = ("base", "instruct", "reasoning", "unknown")
# Rows of which the unmasked first token is no label; of which no label is among the 20 most probable tokens.
INVALID = ("not_first", "not_in_20")
