"""The study of label probabilities: task comprehension, calibration, concentration and label bias of each design."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats
from calprobe.cells.asked import Asked, AskedCell
from calprobe.confidence.asked.reply_table import LABEL
from calprobe.measures.options import ReportOptions
from calprobe.metrics import bootstrap_many, bootstrap_mean
from calprobe.metrics.concentration import FINE, bin_entropy, largest_bin, largest_bin_entropy, place_metrics
from calprobe.metrics.error_shown import with_chance
from calprobe.metrics.intervals import UNDEFINED
from calprobe.metrics.registry import named_metrics
from calprobe.prompts.overrides import turn_name
from calprobe.studies.labels.masses import DesignMasses, has_right_options, masses_of
from calprobe.studies.labels.permuted import permuted_design
from calprobe.studies.labels.results import (
    INVALID,
    Concentration,
    HiddenRow,
    LabelDesign,
    LabelSet,
    LabelStudy,
    LabelUse,
    Metrics,
)
from calprobe.studies.labels.selection import selection
from calprobe.studies.labels.simulation import hidden_metrics, simulated

RAW, NORMALISED = "raw", "normalised"
WAYS = (RAW, NORMALISED)
OF_CHOSEN = ("accuracy", "mean_confidence", "ece_15", *with_chance("ace"), "smooth_ece", "brier", "auroc")
OF_CHOSEN_PARTS = ("brier_reliability", "brier_resolution", "brier_uncertainty")
OF_LABELS = ("ece_15", *with_chance("ace"), "brier", "auroc")


def label_study(asked: Asked, cells: Sequence[AskedCell], options: ReportOptions) -> LabelStudy | None:
    """The study of a run from its opened cells; None without label probabilities, or where no right option is known."""
    with_labels = [cell for cell in cells if cell.table.has(LABEL) and cell.read.first.known.any()]
    label_cells = [cell for cell in with_labels if has_right_options(cell)]
    if not label_cells:
        return None
    names = list(dict.fromkeys(cell.table.set for cell in label_cells))
    sets = {name: _set(asked, name, [c for c in label_cells if c.table.set == name], options) for name in names}
    prompts = "" if asked.prompts is None else asked.prompts.name
    return LabelStudy(asked.label, asked.model, asked.asked_as, sets, prompts)


def _set(run: Asked, name: str, cells: Sequence[AskedCell], options: ReportOptions) -> LabelSet:
    turns = run.turns
    by_variant = {cell.table.variant: masses_of(cell, turns.get(cell.table.variant, 0)) for cell in cells}
    plain = {variant: masses for variant, masses in by_variant.items() if not turns.get(variant)}
    designs = tuple(_design(name, variant, masses, options) for variant, masses in plain.items())
    orders = {
        variant: [by_variant[turned] for turned in by_variant if turn_name(variant, turns.get(turned, 0)) == turned]
        for variant in plain
    }
    permuted = [
        permuted_design(name, variant, masses, options) for variant, masses in orders.items() if len(masses) > 1
    ]
    return LabelSet(name, designs, tuple(permuted), selection(name, plain, options), tuple(_hidden(plain, options)))


def _design(name: str, variant: str, masses: DesignMasses, options: ReportOptions) -> LabelDesign:
    resampling = options.resampling
    chosen = {way: metrics_of(masses.chosen(way), masses.right, OF_CHOSEN, options, masses.clusters) for way in WAYS}
    labels = {way: _of_all_labels(masses, way, options) for way in WAYS}
    return LabelDesign(
        set=name,
        variant=variant,
        rows=len(masses.right),
        comprehension=bootstrap_mean(masses.total, resampling, masses.clusters),
        invalid={} if masses.invalid is None else dict(zip(INVALID, masses.invalid, strict=True)),
        chosen=chosen,
        labels=labels,
        concentration={way: _concentration(masses.chosen(way), masses.right) for way in WAYS},
        uses=label_uses(masses, options),
    )


def metrics_of(
    confidence: Floats,
    correct: npt.NDArray[np.bool_],
    names: Sequence[str],
    options: ReportOptions,
    clusters: npt.NDArray[np.str_] | None,
) -> Metrics:
    """The named metrics and the two other conventions of ECE, with intervals by question.

    ECE with 15 bins has what chance makes of it.
    """
    if not len(confidence):
        return {}
    chosen = {*names, *OF_CHOSEN_PARTS}
    metrics = named_metrics(chosen, options.ace_bins)
    return bootstrap_many([*metrics, *place_metrics()], {"": (confidence, correct)}, options.resampling, clusters)[""]


def _of_all_labels(masses: DesignMasses, way: str, options: ReportOptions) -> Metrics:
    """All labels of all questions, each with whether it is the right one: the four pairs of a question together."""
    places, labels = np.nonzero(masses.there)
    confidence = masses.confidence(way)[places, labels]
    correct = masses.gold[places] == labels
    return metrics_of(confidence, correct, OF_LABELS, options, masses.names[places])


def _concentration(confidence: Floats, correct: npt.NDArray[np.bool_]) -> Concentration:
    accuracy = float(correct.mean()) if len(correct) else float("nan")
    return Concentration(
        entropy=bin_entropy(confidence),
        entropy_100=bin_entropy(confidence, FINE),
        possible=largest_bin_entropy(accuracy),
        possible_100=largest_bin_entropy(accuracy, FINE),
        fullest=largest_bin(confidence),
    )


def label_uses(own: DesignMasses, options: ReportOptions) -> tuple[LabelUse, ...]:
    """For each label the sum of its shares, and how many questions it is right for."""
    uses = []
    for place, label in enumerate(own.labels):
        gold = own.gold == place
        right = own.right[gold].astype(np.float64)
        names = None if own.clusters is None else own.clusters[gold]
        accuracy = bootstrap_mean(right, options.resampling, names) if gold.any() else UNDEFINED
        uses.append(LabelUse(label, float(own.share[:, place].sum()), int(gold.sum()), accuracy))
    return tuple(uses)


def _hidden(designs: Mapping[str, DesignMasses], options: ReportOptions) -> Iterator[HiddenRow]:
    """Each design, and the simulated scorers at the accuracy of the first."""
    for variant, masses in designs.items():
        if len(masses.right):
            values = hidden_metrics(masses.chosen(NORMALISED), masses.right, options.ace_bins)
            yield HiddenRow(variant, False, float(masses.right.mean()), values)
    first = next(iter(designs.values()), None)
    if first is not None and len(first.right):
        yield from simulated(float(first.right.mean()), options.ace_bins)
