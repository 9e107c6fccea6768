"""Tables of the study of label probabilities."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from calprobe.show.tables.layout import Layout, below, cells, estimates, with_chance_note
from calprobe.show.tables.types import Row, Table
from calprobe.studies.labels.results import (
    Concentration,
    HiddenRow,
    LabelDesign,
    LabelSet,
    LabelStudy,
    LabelUse,
    Metrics,
    PermutedDesign,
    Selection,
)
from calprobe.studies.labels.simulation import ENTROPY

CONVENTIONS = {"ece_15": "mean confidence", "ece_15_middle": "bin middle", "ece_15_centred": "centred bins"}
CALIBRATION = {"ece_15": "ECE 15", "ace": "ACE", "brier": "Brier", "auroc": "AUROC"}
MAIN = {"accuracy": "accuracy", "ece_15": "ECE 15", "brier": "Brier", "auroc": "AUROC"}
HELD_OUT = {"comprehension": "comprehension", "accuracy": "accuracy", "ece_15": "ECE 15", "auroc": "AUROC"}
HIDDEN_TITLES = {
    "ece_15": "ECE 15",
    "ace": "ACE",
    "smooth_ece": "smooth ECE",
    "brier": "Brier",
    "brier_reliability": "reliability",
    "brier_resolution": "resolution",
    "brier_uncertainty": "uncertainty",
    "auroc": "AUROC",
    ENTROPY: "NE",
}


@dataclass(frozen=True, slots=True)
class DesignWay:
    """A design's probabilities, raw or normalised."""

    questions: int
    chosen: Metrics
    labels: Metrics

    @classmethod
    def of(cls, design: LabelDesign, way: str) -> DesignWay:
        """The probabilities of a design in one way."""
        return cls(design.rows, design.chosen[way], design.labels[way])


@dataclass(frozen=True, slots=True)
class BestDesign:
    """A run's design that it understands best on a set."""

    asked_as: str
    design: LabelDesign


def _head(design: LabelDesign | PermutedDesign | Selection) -> Row:
    return Row(design.variant, keys={"variant": design.variant})


def _rows(design: LabelDesign) -> int:
    return design.rows


def _normalised(design: LabelDesign) -> Metrics:
    return design.chosen["normalised"]


DESIGNS = Layout[LabelDesign](
    "Prompt designs: comprehension, and calibration of the most probable label",
    "designs",
    "design",
    _head,
    (
        cells("n", "n", _rows),
        cells("comprehension", "comprehension", lambda design: design.comprehension, "larger"),
        cells("not first", "label_not_first", lambda design: design.invalid["not_first"]),
        cells("not in 20", "label_not_in_20", lambda design: design.invalid["not_in_20"]),
        cells("accuracy", "accuracy", lambda design: _normalised(design)["accuracy"], "larger"),
        *estimates({"ece_15": "raw"}, lambda design: design.chosen["raw"], "ECE 15", questions=_rows, way="raw"),
        *estimates(CALIBRATION, _normalised, "normalised", questions=_rows, way="normalised"),
    ),
    (
        "Comprehension: mean raw probability on the labels at the first token. Not first: rows whose most probable "
        "token is no label, not in 20: rows without a label among the 20 most probable; both before anything is "
        "masked, so a decoder that admits labels alone would hide them.",
    ),
    kind="designs",
)
WAYS = Layout[DesignWay].given(
    "Three conventions of ECE with 15 bins, and all labels instead of the chosen one",
    "labels",
    "probabilities",
    *estimates(CONVENTIONS, lambda way: way.chosen, "ECE, chosen label"),
    *estimates(CALIBRATION, lambda way: way.labels, "all labels", questions=lambda way: way.questions, of="all"),
    notes=(
        "A bin stands for the mean confidence in it, or for its middle, or is centred on 0, 1/14, .., 1 and stands "
        "for that. All labels: each label of a question with whether it is the right one; intervals resample "
        "questions.",
    ),
    kind="labels",
)
SPREAD = Layout[Concentration].given(
    "How confidences are spread over bins",
    "entropy",
    "probabilities",
    cells("NE", "bin_entropy", lambda bins: bins.entropy, heading="15 bins"),
    cells("possible", "largest_bin_entropy", lambda bins: bins.possible, heading="15 bins"),
    cells("fullest", "largest_bin", lambda bins: bins.fullest, heading="15 bins"),
    cells("NE", "bin_entropy_100", lambda bins: bins.entropy_100, heading="100 bins"),
    cells("possible", "largest_bin_entropy_100", lambda bins: bins.possible_100, heading="100 bins"),
    notes=(
        "NE: normalised entropy of the bins' counts, 0 where all lie in one bin. Possible: the largest that "
        "calibrated confidences with this accuracy can have; a model that is nearly always right should have "
        "little.",
    ),
    kind="labels",
)
BIAS = Layout[LabelUse].given(
    "What each label gets, and how often it is right",
    "bias",
    "label",
    cells("probability", "label_mass", lambda use: use.mass, heading="sum of"),
    cells("right", "label_gold", lambda use: use.gold, heading="sum of"),
    cells("ratio", "label_ratio", lambda use: use.mass / use.gold if use.gold else math.nan),
    cells("accuracy where right", "label_accuracy", lambda use: use.accuracy),
    notes=("Probability: normalised over the labels. Without a bias for positions, the ratio is 1.",),
    kind="labels",
)
PERMUTED = Layout[PermutedDesign](
    "Options in every cyclic order",
    "permuted",
    "design",
    _head,
    (
        cells("n", "n", lambda design: design.rows),
        cells("orders", "orders", lambda design: design.orders),
        *estimates(MAIN, lambda design: design.mean_of_orders, "mean of orders", of="mean"),
        *estimates(
            MAIN, lambda design: design.averaged, "averaged", questions=lambda design: design.rows, of="averaged"
        ),
        cells("same choice", "same_choice", lambda design: design.same_choice, "larger"),
    ),
    (
        "Averaged: the probability of each option averaged over the orders. Same choice: questions of which every "
        "order chooses the same option.",
    ),
    kind="labels",
)
SELECTION = Layout[Selection](
    "The design that comprehension on half of the questions chooses, on the other half",
    "selection",
    "design",
    _head,
    (
        cells("n", "n", lambda half: half.rows),
        *estimates(HELD_OUT, lambda half: half.held_out, "held out", questions=lambda half: half.rows),
    ),
    kind="labels",
)
HIDES = Layout[HiddenRow].given(
    "What ECE hides",
    "hides",
    "",
    cells("accuracy", "accuracy", lambda row: row.accuracy),
    *estimates(HIDDEN_TITLES, lambda row: row.metrics),
    notes=(
        "Simulated: 20,000 draws. One scorer says 0.97 nearly always and is right at random: near its usual "
        "confidence its ECE is small, and resolution 0 and AUROC 0.5 say that it knows nothing. The others know "
        "when they are right and are too sure by a constant. Brier = reliability - resolution + uncertainty, up to "
        "what differs within bins.",
    ),
    kind="hides",
)
RUNS = Layout[BestDesign].given(
    "Runs of label probabilities, each by the design that it understands best",
    "label-runs",
    "run",
    cells("asked as", "asked_as", lambda best: best.asked_as),
    cells("design", "design", lambda best: best.design.variant),
    cells("comprehension", "comprehension", lambda best: best.design.comprehension, "larger"),
    *estimates(
        MAIN,
        lambda best: _normalised(best.design),
        better={"accuracy": "larger", "auroc": "larger", "ece_15": "smaller", "brier": "smaller"},
        questions=lambda best: best.design.rows,
    ),
    cells("NE", "bin_entropy", lambda best: best.design.concentration["normalised"].entropy),
    notes=("The design was chosen on the questions that it is reported on; each run's table of selection does not.",),
    kind="across",
    more={"best_within": "group"},
)


def label_study_tables(run: LabelStudy, name: str) -> Iterator[Table]:
    """Those of one set; none of a set that the study has nothing of."""
    if name in run.sets:
        yield from label_set_tables(run.sets[name])


def label_tables_of_runs(studies: Sequence[LabelStudy]) -> Iterator[Table]:
    """Runs side by side, where there are several: a row a run and set, by its best understood design."""
    if len(studies) > 1:
        yield with_chance_note(RUNS.of_rows(row for study in studies for row in _best_designs(study)))


def label_set_tables(study: LabelSet) -> Iterator[Table]:
    """Those of one set."""
    designs = study.designs
    yield with_chance_note(DESIGNS.table(designs))
    ways = {design.variant: {way: DesignWay.of(design, way) for way in design.chosen} for design in designs}
    yield with_chance_note(WAYS.of_rows(below(ways, "way")))
    yield SPREAD.of_rows(below({design.variant: design.concentration for design in designs}, "way"))
    uses = {design.variant: design.uses for design in designs}
    uses |= {f"{design.variant}, all orders": design.uses for design in study.permuted}
    yield BIAS.of_rows(
        below({title: {use.label: use for use in label_uses} for title, label_uses in uses.items()}, "label")
    )
    if study.permuted:
        yield PERMUTED.table(study.permuted)
    if study.selection is not None:
        yield with_chance_note(SELECTION.table([study.selection], *_selection_notes(study.selection)))
    simulated = f"simulated, accuracy of {designs[0].variant}"
    yield HIDES.of_rows(
        (Row(row.name, group=simulated if row.simulated else "label, normalised", keys={"variant": row.name}), row)
        for row in study.hidden
    )


def _best_designs(study: LabelStudy) -> Iterator[tuple[Row, BestDesign]]:
    note = study.model if study.model != study.label else ""
    for of_set in study.sets.values():
        keys = {"run": study.label, "model": study.model, "set": of_set.name}
        best = max(of_set.designs, key=lambda design: design.comprehension.value)
        yield Row(study.label, group=of_set.name, note=note, keys=keys), BestDesign(study.asked_as, best)


def _selection_notes(half: Selection) -> Iterator[str]:
    seen = ", ".join(f"{name} {value:.3f}" for name, value in half.others.items())
    yield f"Comprehension on the half that chose: {seen}."
    agree = half.best_on_held_out == half.variant
    yield f"The other half would have chosen {'it, too' if agree else half.best_on_held_out}."
