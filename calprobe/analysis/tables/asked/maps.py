"""The table of the maps that made confidences of uncertainties (`--calibrate`)."""

from __future__ import annotations

from collections.abc import Iterator

from calprobe.analysis.asked.results import SetReport
from calprobe.analysis.tables.types import Cell, Column, Row, Table
from calprobe.metrics.uncertainty_map import UncertaintyMap, UncertaintyMaps

FORMULAS = {
    "isotonic": "Steps: different values of the map, which never rises with the uncertainty; --json has its knots.",
    "logistic": "The chance of being right is sigmoid(a + b U), U the uncertainty in its own unit.",
}


def maps_table(own: SetReport) -> Table:
    """A row a calibrated uncertainty, grouped by variant: its parameters, of all questions and by fold."""
    found = [(cell, name, maps) for cell in own.cells.values() for name, maps in cell.maps.items()]
    method = found[0][1].rsplit(".", 1)[-1]  # one for all of a report
    parameters = ("a", "b") if method == "logistic" else ("steps",)
    return Table(
        f"Maps of uncertainties ({method})",
        "uncertainty-maps",
        "map of",
        tuple(
            Column(title, heading=parameter, keys={"metric": f"map_{parameter}_{title.replace(' ', '_')}"})
            for parameter in parameters
            for title in ("all questions", "least fold", "largest fold")
        ),
        tuple(
            Row(
                name,
                tuple(cell for parameter in parameters for cell in _cells(maps, parameter)),
                group=cell.variant,
                keys={"variant": cell.variant, "estimator": name},
            )
            for cell, name, maps in found
        ),
        kind="uncertainty",
        notes=(
            f"{FORMULAS[method]} The maps of the folds made the numbers, each fitted on the other questions. "
            "-: all get the share right, since no map could be fitted.",
        ),
    )


def _cells(maps: UncertaintyMaps, parameter: str) -> Iterator[Cell]:
    """The parameter of the map of all questions, and the least and the largest of the folds'; None of constants."""
    yield _parameter(maps.all, parameter)
    values = [value for own in maps.folds if (value := _parameter(own, parameter)) is not None]
    yield from (min(values), max(values)) if values else (None, None)


def _parameter(found: UncertaintyMap, parameter: str) -> float | int | None:
    return (found.steps or None) if parameter == "steps" else found.parameters.get(parameter)
