"""Tables of maps: those that made confidences of uncertainties (`--calibrate`), and of recalibrated confidences."""

from __future__ import annotations

from calprobe.metrics.uncertainty_map import UncertaintyMap, UncertaintyMaps
from calprobe.show.tables.layout import UNRANKED, Cells, Layout, below, each
from calprobe.show.tables.map_table import Beside, beside_columns
from calprobe.show.tables.types import Cell, Table
from calprobe.studies.asked.results import SetReport

FORMULAS = {
    "isotonic": "Steps: different values of the map, which never rises with the uncertainty; --json has its knots.",
    "logistic": "The chance of being right is sigmoid(a + b U), U the uncertainty in its own unit.",
}
WHICH = {title: title for title in ("all questions", "least fold", "largest fold")}


def maps_table(report: SetReport) -> Table:
    """A row a calibrated uncertainty, grouped by variant: its parameters, of all questions and by fold."""
    maps = {variant: cell.maps for variant, cell in report.cells.items()}
    first = next(name for of_variant in maps.values() for name in of_variant)
    method = first.rsplit(".", 1)[-1]  # one for all of a report
    layout = Layout[UncertaintyMaps].given(
        f"Maps of uncertainties ({method})",
        "uncertainty-maps",
        "map of",
        *(*_columns("a"), *_columns("b")) if method == "logistic" else _columns("steps"),
        notes=(
            f"{FORMULAS[method]} The numbers are made by maps of folds, each fitted on the other questions. "
            "-: no map could be fitted, so that every answer gets the share of right ones.",
        ),
        kind="uncertainty",
    )
    return layout.of_rows(below(maps, "estimator"))


def _columns(parameter: str) -> tuple[Cells[UncertaintyMaps], ...]:
    """The parameter of the map of all questions, and the least and the largest of the folds'; None of constants."""

    def value(maps: UncertaintyMaps, title: str) -> Cell:
        if title == "all questions":
            return _parameter(maps.all, parameter)
        values = [value for fold in maps.folds if (value := _parameter(fold, parameter)) is not None]
        return (min if title == "least fold" else max)(values, default=None)

    return each(WHICH, value, lambda title: {"metric": f"map_{parameter}_{title.replace(' ', '_')}"}, heading=parameter)


def _parameter(fitted: UncertaintyMap, parameter: str) -> float | int | None:
    return (fitted.steps or None) if parameter == "steps" else fitted.parameters.get(parameter)


def recalibrated_table(report: SetReport) -> Table:
    """A row a confidence, grouped by variant: four metrics before and after recalibration."""
    found = {variant: cell.recalibrated for variant, cell in report.cells.items() if cell.recalibrated is not None}
    rows = {
        variant: {
            name: Beside(report.cells[variant].estimators[name].metrics, after)
            for name, after in of_cell.estimators.items()
            if name in report.cells[variant].estimators
        }
        for variant, of_cell in found.items()
    }
    method = next(iter(found.values())).method  # one for all of a report
    layout = Layout[Beside].given(
        f"Calibration before and after recalibration ({method}) on other questions",
        "recalibrated",
        "estimator",
        *beside_columns((row for of_variant in rows.values() for row in of_variant.values()), method),
        notes=("Maps are fitted in five folds of complete questions; --json has their parameters.",),
        kind="recalibrated",
        more=UNRANKED,
    )
    return layout.of_rows(below(rows, "estimator"))
