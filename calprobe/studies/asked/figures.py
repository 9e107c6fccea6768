"""What figures and pages of asked runs show: reliability diagrams, accuracies by reader, matrices."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from calprobe.curves.accuracy_rejection import AccuracyRejection
from calprobe.curves.calibration_curve import Calibration
from calprobe.curves.calibration_figure import draw_calibration
from calprobe.curves.rejection_figure import draw_accuracy_rejection
from calprobe.measures.options import ReportOptions
from calprobe.measures.run_names import NO_STATES, last_names, states_of
from calprobe.metrics import Estimate
from calprobe.metrics.intervals import UNDEFINED
from calprobe.show.kinds.gap_figure import gap_figures
from calprobe.show.kinds.grouped_dots import GroupedDots
from calprobe.show.kinds.matrix_figure import Matrix
from calprobe.show.kinds.size_figure import SizePanel, SizeSeries
from calprobe.show.marks import Figures
from calprobe.show.plots.paper import draw
from calprobe.studies.asked.answer_figures import (
    length_panels,
    length_panels_of_runs,
    value_panels,
    value_panels_of_runs,
)
from calprobe.studies.asked.asked_report import AskedReport
from calprobe.studies.asked.cell_results import CellReport
from calprobe.studies.asked.perturbation_figures import perturbation_panels
from calprobe.studies.asked.pooled_curves import run_calibration, run_rejection
from calprobe.studies.asked.results import AcrossRuns, AskedRunReport, SetReport, SizeAndSpread, SizePoint
from calprobe.studies.asked.run_studies import STUDIES
from calprobe.studies.stated.figures import StatedPictures, stated_pictures
from calprobe.studies.wording.figures import wording_figures

if TYPE_CHECKING:
    from calprobe.show.plots.look import Draw

# Titles and captions of figures that one run has, and several together.
VALUES = (
    "Values of {0.title}, by {0.of}",
    "Of the confidences that could be read, the share of each value (of P(True): of each tenth of the scale, "
    "by its upper end); the larger, the darker. Other: how many values have less than 5 % each.",
)
LENGTHS = (
    "{1}, by {0.group}",
    "Boxes are between the quartiles, with a line at the median; lines reach to the least and the most.",
)


@dataclass(frozen=True, slots=True)
class Pictures:
    """The figures of one run, as numbers."""

    calibration: Calibration  # by set, pooled over the variants that are read well enough; `run` is the set's name
    rejection: AccuracyRejection  # of the same confidences
    figures: tuple[Figures, ...]
    stated: StatedPictures | None = None  # of a run that asks for confidences by several prompts

    def drawn(self) -> Iterator[tuple[str, Draw]]:
        """The kinds of figures that there is something to draw of, each with the function that draws it."""
        if self.calibration.lines and self.stated is None:  # ten prompts have panels of their own
            yield "reliability", lambda look: draw_calibration(self.calibration, replace(look, form="overlay"))
        if self.rejection.lines and self.stated is None:
            yield AccuracyRejection.kind, partial(draw_accuracy_rejection, self.rejection)
        yield from ((figures.kind, partial(draw, figures.panels)) for figures in self.figures if figures.panels)
        if self.stated is not None:
            yield from self.stated.drawn()


def pictures(run: AskedRunReport, options: ReportOptions, estimators: Sequence[str] | None = None) -> Pictures:
    """The figures of one run, its curves of these estimators; None: of the usual ones."""
    return Pictures(
        run_calibration(run, options, estimators),
        run_rejection(run, options, estimators),
        tuple(run_figures(run)),
        None if run.stated is None else stated_pictures(run.stated, run.cells, options),
    )


def run_figures(run: AskedRunReport) -> Iterator[Figures]:
    """The kinds of figures of one run, in order. Add a kind here."""
    yield Figures(
        "readers",
        [_readers(report) for report in run.sets.values()],
        "Readers on {0.title}",
        "Accuracy of the same replies under each reader of answers, with 95 % intervals.",
        "Accuracy on {0.title} under each variant, by reader of answers.",
    )
    yield from _gaps(run)
    yield Figures("matrix", list(matrices(run)), "{0.title}", "Variants by sets; the darker, the nearer to 1.")
    yield from wording_figures(
        {f"{of_set.name}, {cell.variant}": cell for of_set in run.sets.values() for cell in of_set.cells.values()}
    )
    for key, study in run.studies.items():
        yield from STUDIES[key].figures(study)
    yield Figures(
        "perturbations",
        perturbation_panels(run),
        "Perturbations: {0.title}",
        "Accuracy of all samples of a variant, and AUROC of one uncertainty, each sample with its own correctness, "
        "with 95 % intervals over questions. (n_p, n_s): AUROC of n_s samples of each of n_p wordings.",
    )
    # Ten prompts have a distribution of their own.
    yield Figures("values", () if run.stated is not None else value_panels(run), *VALUES)
    yield Figures("lengths", length_panels(run), *LENGTHS)


def figures_of_runs(report: AskedReport) -> Iterator[Figures]:
    """The kinds of figures of several runs together, in order; nothing to draw of one."""
    states = states_of(report.runs)
    yield Figures(
        "sizes",
        size_panels(report.across, states),
        "Size and spread on {0.title}",
        "Largest minus smallest accuracy over variants, against the number of parameters, embeddings included.",
    )
    for key, study in STUDIES.items():
        yield from study.figures_of_runs([run.studies[key] for run in report.runs if key in run.studies], states)
    yield Figures("values", value_panels_of_runs(report.runs, states), *VALUES)
    yield Figures("lengths", length_panels_of_runs(report.runs, states), *LENGTHS)


def _gaps(run: AskedRunReport) -> Iterator[Figures]:
    sliced = {
        " ".join([of_set.name] * (len(run.sets) > 1) + [name] * (len(of_set.cells) > 1)): cell.slices
        for of_set in run.sets.values()
        for name, cell in of_set.cells.items()
        if cell.slices is not None
    }
    if sliced:
        yield gap_figures({name: slices.gaps for name, slices in sliced.items()}, next(iter(sliced.values())).by)


def _readers(report: SetReport) -> GroupedDots:
    cells = list(report.cells.values())
    accuracy = tuple(
        tuple(cell.accuracy[name].value if name in cell.accuracy else None for name in report.readers) for cell in cells
    )
    chance = float(np.mean([cell.chance for cell in cells])) if cells else float("nan")
    known = None if math.isnan(chance) else chance
    return GroupedDots(report.name, "accuracy", "variant", tuple(report.cells), report.readers, accuracy, known)


MatrixValue = Callable[[CellReport], Estimate | None]


def matrix_values(run: AskedRunReport) -> Iterator[tuple[str, str, MatrixValue]]:
    """What a matrix of variants by sets can show: its title, the metric's name, and the value of a cell."""
    cells = list(run.reports())
    readers = dict.fromkeys(cell.reader for cell in cells)
    yield f"Accuracy by {', '.join(readers)}", "accuracy", lambda cell: cell.accuracy[cell.reader].value
    if any(cell.shift is not None for cell in cells):
        yield "Normalisation shift", "shift", lambda cell: cell.shift
    stated = dict.fromkeys(name for cell in cells for name in cell.overconfidence)
    for name in stated if run.stated is None else ():
        yield f"Parse rate, {name}", f"parse_rate_{name}", _rate(name)


def _rate(name: str) -> MatrixValue:
    return lambda cell: cell.estimators[name].coverage if name in cell.estimators else None


def matrices(run: AskedRunReport) -> Iterator[Matrix]:
    """Variants by sets, of a run with several sets; none of one set."""
    sets = list(run.sets.values())
    if len(sets) < 2:
        return
    variants = tuple(dict.fromkeys(variant for report in sets for variant in report.cells))
    for title, name, value in matrix_values(run):
        rows = tuple(tuple(_number(report, variant, value) for report in sets) for variant in variants)
        yield Matrix(name, title, variants, tuple(report.name for report in sets), rows)


def _number(report: SetReport, variant: str, value: MatrixValue) -> float:
    estimate = value(report.cells[variant]) if variant in report.cells else None
    return float("nan") if estimate is None else estimate.value


def size_panels(across: AcrossRuns | None, states: Mapping[str, str] = NO_STATES) -> tuple[SizePanel, ...]:
    """Size against spread, a panel for each set; none without two runs of known size. `states`: as `states_of`."""
    by_set: dict[str, list[SizeAndSpread]] = {}
    for size in across.shown_sizes if across is not None else ():
        by_set.setdefault(size.set, []).append(size)
    readers = list(dict.fromkeys(size.reader for sizes in by_set.values() for size in sizes))
    return tuple(_size_panel(name, sizes, readers, states) for name, sizes in by_set.items())


def _size_panel(
    name: str, sizes: Sequence[SizeAndSpread], readers: Sequence[str], states: Mapping[str, str]
) -> SizePanel:
    by_run: dict[str, SizePoint] = {point.run: point for size in sizes for point in size.points}
    points = sorted(by_run.values(), key=lambda point: point.size.parameters)
    models, folders = [point.model for point in points], last_names([point.run for point in points])
    series = []
    for size in sizes:
        spreads = {point.run: point.spread for point in size.points}
        values = tuple(spreads.get(point.run, UNDEFINED) for point in points)
        series.append(SizeSeries(size.reader, readers.index(size.reader), values, size.rho))
    return SizePanel(
        title=name,
        names=tuple(
            (p.model if models.count(p.model) == 1 else folders[p.run]) + states.get(p.run, "") for p in points
        ),
        models=tuple(models),
        parameters=tuple(point.size.parameters for point in points),
        series=tuple(series),
    )
