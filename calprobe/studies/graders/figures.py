"""The figure of the study of graders: what each grader makes of every confidence."""

from __future__ import annotations

from collections.abc import Iterator

from calprobe.show.kinds.matrix_figure import Matrix
from calprobe.show.marks import Figures
from calprobe.studies.graders.results import CellGraders, GraderStudy


def grader_figures(study: GraderStudy) -> Iterator[Figures]:
    """A panel for each set and variant with two graders or more."""
    panels = [_panel(cell, study) for cell in study.cells if len(cell.graders) > 1 and cell.estimators]
    if panels:
        yield Figures("graders", panels, "{0.title}", "AUROC of each confidence in the same answers, by grader.")


def _panel(cell: CellGraders, study: GraderStudy) -> Matrix:
    sets = {other.set for other in study.cells}
    place = " ".join((cell.set, cell.variant) if len(sets) > 1 else (cell.variant,))
    values = tuple(
        tuple(
            grader.estimators[name]["auroc"].value if name in grader.estimators else float("nan")
            for grader in cell.graders.values()
        )
        for name in cell.estimators
    )
    return Matrix("auroc", f"AUROC by grader, {place}", cell.estimators, tuple(cell.graders), values)
