"""Tables of the study of label probabilities."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from calprobe.analysis.asked.science.label_results import LabelDesign, LabelSet, LabelStudy
from calprobe.analysis.asked.science.simulation import ENTROPY
from calprobe.analysis.prose import error_notes
from calprobe.analysis.tables.types import Column, Row, Table, metric_cells, metric_columns
from calprobe.metrics.error_shown import SMALL, with_chance

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


def label_study_tables(own: LabelSet) -> Iterator[Table]:
    """Those of one set."""
    yield designs_table(own)
    yield errors_table(own)
    yield entropy_table(own)
    yield bias_table(own)
    if own.permuted:
        yield permuted_table(own)
    if own.selection is not None:
        yield selection_table(own)
    yield hidden_table(own)


def designs_table(own: LabelSet) -> Table:
    """A row a design: comprehension, rows whose first token is no label, accuracy and calibration of the chosen."""
    _, size, p = with_chance("ace")
    by_chance = {size: "ACE if cal.", p: "ACE p"} if any(_has_chance(design, size) for design in own.designs) else {}
    errors = {name: CALIBRATION[name] for name in ("ece_15", "ace")} | by_chance | CALIBRATION
    return Table(
        "Prompt designs: comprehension, and calibration of the most probable label",
        "designs",
        "design",
        (
            Column("n", keys={"metric": "n"}),
            Column("comprehension", "larger", keys={"metric": "comprehension"}),
            Column("not first", keys={"metric": "label_not_first"}),
            Column("not in 20", keys={"metric": "label_not_in_20"}),
            Column("accuracy", "larger", keys={"metric": "accuracy"}),
            *metric_columns({"ece_15": "raw"}, "ECE 15", way="raw"),
            *metric_columns(errors, "normalised", way="normalised"),
        ),
        tuple(
            Row(
                design.variant,
                (
                    design.rows,
                    design.comprehension,
                    *design.invalid.values(),
                    *metric_cells(design.chosen["normalised"], ["accuracy"]),
                    *metric_cells(design.chosen["raw"], ["ece_15"]),
                    *metric_cells(design.chosen["normalised"], errors),
                ),
                keys={"variant": design.variant},
            )
            for design in own.designs
        ),
        kind="designs",
        notes=(
            "Comprehension: mean raw probability on the labels at the first token. Not first: rows whose most probable "
            "token is no label, not in 20: rows without a label among the 20 most probable; both before anything is "
            "masked, so a decoder that admits labels alone would hide them.",
            *error_notes(few_values=False, chance=bool(by_chance)),
        ),
    )


def _has_chance(design: LabelDesign, name: str) -> bool:
    """Whether what chance makes of an error stands beside it: of few questions, where it was drawn."""
    size = design.chosen["normalised"].get(name)
    return design.rows < SMALL and size is not None and not math.isnan(size.value)


def errors_table(own: LabelSet) -> Table:
    """A row a design and way: the chosen label in three conventions of ECE, and all labels."""
    return Table(
        "Three conventions of ECE with 15 bins, and all labels instead of the chosen one",
        "labels",
        "probabilities",
        (
            *metric_columns(CONVENTIONS, "ECE, chosen label"),
            *metric_columns(CALIBRATION, "all labels", of="all"),
        ),
        tuple(
            Row(
                way,
                (
                    *metric_cells(design.chosen[way], CONVENTIONS),
                    *metric_cells(design.labels[way], CALIBRATION),
                ),
                group=design.variant,
                keys={"variant": design.variant, "way": way},
            )
            for design in own.designs
            for way in design.chosen
        ),
        kind="labels",
        notes=(
            "A bin stands for the mean confidence in it, or for its middle, or is centred on 0, 1/14, .., 1 and stands "
            "for that. All labels: each label of a question with whether it is the right one; intervals resample "
            "questions.",
        ),
        best_within=None,
    )


def entropy_table(own: LabelSet) -> Table:
    """A row a design and way: normalised entropy, beside the largest that its accuracy allows."""
    return Table(
        "How confidences are spread over bins",
        "entropy",
        "probabilities",
        (
            Column("NE", heading="15 bins", keys={"metric": "bin_entropy"}),
            Column("possible", heading="15 bins", keys={"metric": "largest_bin_entropy"}),
            Column("fullest", heading="15 bins", keys={"metric": "largest_bin"}),
            Column("NE", heading="100 bins", keys={"metric": "bin_entropy_100"}),
            Column("possible", heading="100 bins", keys={"metric": "largest_bin_entropy_100"}),
        ),
        tuple(
            Row(
                way,
                (found.entropy, found.possible, found.fullest, found.entropy_100, found.possible_100),
                group=design.variant,
                keys={"variant": design.variant, "way": way},
            )
            for design in own.designs
            for way, found in design.concentration.items()
        ),
        kind="labels",
        notes=(
            "NE: normalised entropy of the bins' counts, 0 where all lie in one bin. Possible: the largest that "
            "calibrated confidences with this accuracy can have; a model that is nearly always right should have "
            "little.",
        ),
        best_within=None,
    )


def bias_table(own: LabelSet) -> Table:
    """A row a label: its probability summed over questions, beside how often it is right."""
    rows = [(design.variant, use) for design in own.designs for use in design.uses]
    rows += [(f"{found.variant}, all orders", use) for found in own.permuted for use in found.uses]
    return Table(
        "What each label gets, and how often it is right",
        "bias",
        "label",
        (
            Column("probability", heading="sum of", keys={"metric": "label_mass"}),
            Column("right", heading="sum of", keys={"metric": "label_gold"}),
            Column("ratio", keys={"metric": "label_ratio"}),
            Column("accuracy where right", keys={"metric": "label_accuracy"}),
        ),
        tuple(
            Row(
                use.label,
                (use.mass, use.gold, use.mass / use.gold if use.gold else float("nan"), use.accuracy),
                group=variant,
                keys={"variant": variant, "label": use.label},
            )
            for variant, use in rows
        ),
        kind="labels",
        notes=("Probability: normalised over the labels. Without a bias for positions, the ratio is 1.",),
        best_within=None,
    )


def permuted_table(own: LabelSet) -> Table:
    """A row a design: means over the orders of options, and the probabilities averaged over them."""
    return Table(
        "Options in every cyclic order",
        "permuted",
        "design",
        (
            Column("n", keys={"metric": "n"}),
            Column("orders", keys={"metric": "orders"}),
            *metric_columns(MAIN, "mean of orders", of="mean"),
            *metric_columns(MAIN, "averaged", of="averaged"),
            Column("same choice", "larger", keys={"metric": "same_choice"}),
        ),
        tuple(
            Row(
                found.variant,
                (
                    found.rows,
                    found.orders,
                    *metric_cells(found.mean_of_orders, MAIN),
                    *metric_cells(found.averaged, MAIN),
                    found.same_choice,
                ),
                keys={"variant": found.variant},
            )
            for found in own.permuted
        ),
        kind="labels",
        notes=(
            "Averaged: the probability of each option averaged over the orders. Same choice: questions of which every "
            "order chooses the same option.",
        ),
        best_within=None,
    )


def selection_table(own: LabelSet) -> Table:
    """The design that one half of the questions chooses, on the other half."""
    found = own.selection
    if found is None:
        raise ValueError("the set has no selection")
    seen = ", ".join(f"{name} {value:.3f}" for name, value in found.others.items())
    agree = "The other half would have chosen it, too."
    other = f"The other half would have chosen {found.best_on_held_out}."
    return Table(
        "The design that comprehension on half of the questions chooses, on the other half",
        "selection",
        "design",
        (
            Column("n", keys={"metric": "n"}),
            *metric_columns(HELD_OUT, "held out"),
        ),
        (
            Row(
                found.variant,
                (found.rows, *metric_cells(found.held_out, HELD_OUT)),
                keys={"variant": found.variant},
            ),
        ),
        kind="labels",
        notes=(
            f"Comprehension on the half that chose: {seen}.",
            agree if found.best_on_held_out == found.variant else other,
        ),
        best_within=None,
    )


def hidden_table(own: LabelSet) -> Table:
    """Each design beside simulated scorers at the accuracy of the first: what ECE does not show."""
    return Table(
        "What ECE hides",
        "hides",
        "",
        (
            Column("accuracy", keys={"metric": "accuracy"}),
            *metric_columns(HIDDEN_TITLES),
        ),
        tuple(
            Row(
                row.name,
                (row.accuracy, *(row.metrics[name] for name in HIDDEN_TITLES)),
                group=f"simulated, accuracy of {own.designs[0].variant}" if row.simulated else "label, normalised",
                keys={"variant": row.name},
            )
            for row in own.hidden
        ),
        kind="hides",
        notes=(
            "Simulated: 20,000 draws. One scorer says 0.97 nearly always and is right at random: near its usual "
            "confidence its ECE is small, and resolution 0 and AUROC 0.5 say that it knows nothing. The others know "
            "when they are right and are too sure by a constant. Brier = reliability - resolution + uncertainty, up to "
            "what differs within bins.",
        ),
        best_within=None,
    )


def runs_table(studies: Sequence[LabelStudy]) -> Table:
    """A row a run and set: its best understood design, base, instruct and reasoning models side by side."""
    rows = []
    for study in studies:
        for own in study.sets.values():
            best = max(own.designs, key=lambda design: design.comprehension.value)
            rows.append(
                Row(
                    study.label,
                    (
                        study.asked_as,
                        best.variant,
                        best.comprehension,
                        *metric_cells(best.chosen["normalised"], MAIN),
                        best.concentration["normalised"].entropy,
                    ),
                    group=own.name,
                    note=study.model if study.model != study.label else "",
                    keys={"run": study.label, "model": study.model, "set": own.name},
                )
            )
    return Table(
        "Runs of label probabilities, each by the design that it understands best",
        "label-runs",
        "run",
        (
            Column("asked as", keys={"metric": "asked_as"}),
            Column("design", keys={"metric": "design"}),
            Column("comprehension", "larger", keys={"metric": "comprehension"}),
            *metric_columns(
                MAIN, better={"accuracy": "larger", "auroc": "larger", "ece_15": "smaller", "brier": "smaller"}
            ),
            Column("NE", keys={"metric": "bin_entropy"}),
        ),
        tuple(rows),
        kind="across",
        best_within="group",
        notes=(
            "The design was chosen on the questions that it is reported on; each run's table of selection does not.",
        ),
    )
