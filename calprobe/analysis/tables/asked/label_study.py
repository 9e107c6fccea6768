"""Tables of the study of label probabilities."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from calprobe.analysis.asked.science.label_results import (
    Concentration,
    HiddenRow,
    LabelDesign,
    LabelSet,
    LabelStudy,
    LabelUse,
    PermutedDesign,
    Selection,
)
from calprobe.analysis.asked.science.simulation import ENTROPY
from calprobe.analysis.tables.layout import Layout, cells, estimates, with_chance_note
from calprobe.analysis.tables.types import Row, Table

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
UNRANKED = {"best_within": None}


DESIGNS = Layout[LabelDesign](
    "Prompt designs: comprehension, and calibration of the most probable label",
    "designs",
    "design",
    lambda design: Row(design.variant, keys={"variant": design.variant}),
    (
        cells("n", "n", lambda design: design.rows),
        cells("comprehension", "comprehension", lambda design: design.comprehension, "larger"),
        cells("not first", "label_not_first", lambda design: design.invalid["not_first"]),
        cells("not in 20", "label_not_in_20", lambda design: design.invalid["not_in_20"]),
        cells("accuracy", "accuracy", lambda design: design.chosen["normalised"]["accuracy"], "larger"),
        *estimates(
            {"ece_15": "raw"},
            lambda design: design.chosen["raw"],
            "ECE 15",
            questions=lambda design: design.rows,
            way="raw",
        ),
        *estimates(
            CALIBRATION,
            lambda design: design.chosen["normalised"],
            "normalised",
            questions=lambda design: design.rows,
            way="normalised",
        ),
    ),
    (
        "Comprehension: mean raw probability on the labels at the first token. Not first: rows whose most probable "
        "token is no label, not in 20: rows without a label among the 20 most probable; both before anything is "
        "masked, so a decoder that admits labels alone would hide them.",
    ),
    kind="designs",
)
ERRORS = Layout[tuple[LabelDesign, str]](
    "Three conventions of ECE with 15 bins, and all labels instead of the chosen one",
    "labels",
    "probabilities",
    lambda at: Row(at[1], group=at[0].variant, keys={"variant": at[0].variant, "way": at[1]}),
    (
        *estimates(CONVENTIONS, lambda at: at[0].chosen[at[1]], "ECE, chosen label"),
        *estimates(
            CALIBRATION, lambda at: at[0].labels[at[1]], "all labels", questions=lambda at: at[0].rows, of="all"
        ),
    ),
    (
        "A bin stands for the mean confidence in it, or for its middle, or is centred on 0, 1/14, .., 1 and stands "
        "for that. All labels: each label of a question with whether it is the right one; intervals resample "
        "questions.",
    ),
    kind="labels",
    more=UNRANKED,
)
SPREAD = Layout[tuple[str, str, Concentration]](
    "How confidences are spread over bins",
    "entropy",
    "probabilities",
    lambda at: Row(at[1], group=at[0], keys={"variant": at[0], "way": at[1]}),
    (
        cells("NE", "bin_entropy", lambda at: at[2].entropy, heading="15 bins"),
        cells("possible", "largest_bin_entropy", lambda at: at[2].possible, heading="15 bins"),
        cells("fullest", "largest_bin", lambda at: at[2].fullest, heading="15 bins"),
        cells("NE", "bin_entropy_100", lambda at: at[2].entropy_100, heading="100 bins"),
        cells("possible", "largest_bin_entropy_100", lambda at: at[2].possible_100, heading="100 bins"),
    ),
    (
        "NE: normalised entropy of the bins' counts, 0 where all lie in one bin. Possible: the largest that "
        "calibrated confidences with this accuracy can have; a model that is nearly always right should have "
        "little.",
    ),
    kind="labels",
    more=UNRANKED,
)
BIAS = Layout[tuple[str, LabelUse]](
    "What each label gets, and how often it is right",
    "bias",
    "label",
    lambda at: Row(at[1].label, group=at[0], keys={"variant": at[0], "label": at[1].label}),
    (
        cells("probability", "label_mass", lambda at: at[1].mass, heading="sum of"),
        cells("right", "label_gold", lambda at: at[1].gold, heading="sum of"),
        cells("ratio", "label_ratio", lambda at: at[1].mass / at[1].gold if at[1].gold else math.nan),
        cells("accuracy where right", "label_accuracy", lambda at: at[1].accuracy),
    ),
    ("Probability: normalised over the labels. Without a bias for positions, the ratio is 1.",),
    kind="labels",
    more=UNRANKED,
)
PERMUTED = Layout[PermutedDesign](
    "Options in every cyclic order",
    "permuted",
    "design",
    lambda design: Row(design.variant, keys={"variant": design.variant}),
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
    more=UNRANKED,
)
SELECTION = Layout[Selection](
    "The design that comprehension on half of the questions chooses, on the other half",
    "selection",
    "design",
    lambda half: Row(half.variant, keys={"variant": half.variant}),
    (
        cells("n", "n", lambda half: half.rows),
        *estimates(HELD_OUT, lambda half: half.held_out, "held out", questions=lambda half: half.rows),
    ),
    kind="labels",
    more=UNRANKED,
)
HIDES = Layout[tuple[str, HiddenRow]](
    "What ECE hides",
    "hides",
    "",
    lambda at: Row(
        at[1].name,
        group=f"simulated, accuracy of {at[0]}" if at[1].simulated else "label, normalised",
        keys={"variant": at[1].name},
    ),
    (
        cells("accuracy", "accuracy", lambda at: at[1].accuracy),
        *estimates(HIDDEN_TITLES, lambda at: at[1].metrics),
    ),
    (
        "Simulated: 20,000 draws. One scorer says 0.97 nearly always and is right at random: near its usual "
        "confidence its ECE is small, and resolution 0 and AUROC 0.5 say that it knows nothing. The others know "
        "when they are right and are too sure by a constant. Brier = reliability - resolution + uncertainty, up to "
        "what differs within bins.",
    ),
    kind="hides",
)
RUNS = Layout[tuple[LabelStudy, LabelSet, LabelDesign]](
    "Runs of label probabilities, each by the design that it understands best",
    "label-runs",
    "run",
    lambda at: Row(
        at[0].label,
        group=at[1].name,
        note=at[0].model if at[0].model != at[0].label else "",
        keys={"run": at[0].label, "model": at[0].model, "set": at[1].name},
    ),
    (
        cells("asked as", "asked_as", lambda at: at[0].asked_as),
        cells("design", "design", lambda at: at[2].variant),
        cells("comprehension", "comprehension", lambda at: at[2].comprehension, "larger"),
        *estimates(
            MAIN,
            lambda at: at[2].chosen["normalised"],
            better={"accuracy": "larger", "auroc": "larger", "ece_15": "smaller", "brier": "smaller"},
            questions=lambda at: at[2].rows,
        ),
        cells("NE", "bin_entropy", lambda at: at[2].concentration["normalised"].entropy),
    ),
    ("The design was chosen on the questions that it is reported on; each run's table of selection does not.",),
    kind="across",
    more={"best_within": "group"},
)


def label_study_tables(own: LabelSet) -> Iterator[Table]:
    """Those of one set."""
    designs = own.designs
    yield with_chance_note(DESIGNS.table(designs))
    yield ERRORS.table((design, way) for design in designs for way in design.chosen)
    yield SPREAD.table((design.variant, *found) for design in designs for found in design.concentration.items())
    uses = [(design.variant, use) for design in designs for use in design.uses]
    yield BIAS.table(uses + [(f"{found.variant}, all orders", use) for found in own.permuted for use in found.uses])
    if own.permuted:
        yield PERMUTED.table(own.permuted)
    if own.selection is not None:
        yield SELECTION.table([own.selection], *_selection_notes(own.selection))
    yield HIDES.table((designs[0].variant, row) for row in own.hidden)


def runs_table(studies: Sequence[LabelStudy]) -> Table:
    """A row a run and set: its best understood design, base, instruct and reasoning models side by side."""
    return with_chance_note(
        RUNS.table(
            (study, own, max(own.designs, key=lambda design: design.comprehension.value))
            for study in studies
            for own in study.sets.values()
        )
    )


def _selection_notes(half: Selection) -> Iterator[str]:
    seen = ", ".join(f"{name} {value:.3f}" for name, value in half.others.items())
    yield f"Comprehension on the half that chose: {seen}."
    agree = half.best_on_held_out == half.variant
    yield f"The other half would have chosen {'it, too' if agree else half.best_on_held_out}."
