"""The figures of Kissling et al. 2026 (arXiv 2601.18901), and what it says to set a run's numbers beside them.

`paper_figures.json` has figures alone: its `figures` are rows of `columns`, a list for each model.
bench/paper_figures.py makes it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from calprobe.measures.json_values import estimate_json, number_json
from calprobe.metrics import Estimate

FILE_NAME = "paper_figures.json"
COLUMNS = ("table", "estimator", "metric", "of", "value")


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of the paper, in [0, 1]."""

    table: str  # its number; B: appendix B
    estimator: str  # empty where the number is of none
    metric: str
    value: float
    of: str | None = None  # table 2: the domain; B: the reduction; else None


@dataclass(frozen=True, slots=True)
class PaperFigures:
    """The figures of every model, by the model's name, in the order of the tables."""

    source: str
    models: Mapping[str, tuple[Figure, ...]]

    def model(self, *names: str | None) -> str | None:
        """The model that one of the names (alias, hub id, path) is of, by its last part; None if there is none."""
        last = [name.rstrip("/").rpartition("/")[2].lower() for name in names if name]
        return next((name for name in last if name in self.models), None)

    def to_json(self) -> dict[str, Any]:
        """The content of the bundled file."""
        rows = {
            model: [[getattr(figure, column) for column in COLUMNS] for figure in figures]
            for model, figures in self.models.items()
        }
        return {"source": self.source, "columns": list(COLUMNS), "figures": rows}


@dataclass(frozen=True, slots=True)
class BesidePaper:
    """A number of a run and the paper's."""

    figure: Figure
    ours: Estimate

    @property
    def difference(self) -> float:
        """Ours minus the paper's."""
        return self.ours.value - self.figure.value

    @property
    def inside(self) -> bool | None:
        """Whether the paper's number lies in our interval; None without one."""
        return None if math.isnan(self.ours.low) else self.ours.low <= self.figure.value <= self.ours.high

    def to_json(self) -> dict[str, Any]:
        """The row's object in `calprobe report --against .. --json`; NaN is None."""
        figure = self.figure
        return {
            "table": figure.table,
            "estimator": figure.estimator or None,
            "metric": figure.metric,
            "of": figure.of,
            "ours": estimate_json(self.ours),
            "paper": figure.value,
            "difference": number_json(self.difference),
            "inside": self.inside,
        }


@dataclass(frozen=True, slots=True)
class RunAgainst:
    """A run's rows, with all that has to be known before they are read."""

    source: str  # of the figures
    model: str | None  # the paper's name of it; None if it is not among the paper's
    departures: tuple[str, ...]  # in what the run is not what the paper scored, a clause each
    left_out: tuple[str, ...]  # figures that the run has no number for, and what would give it one, a sentence each
    rows: tuple[BesidePaper, ...]  # in the order of the tables

    def to_json(self) -> dict[str, Any]:
        """What `calprobe report --against .. --json` says under `against`."""
        return {
            "source": self.source,
            "model": self.model,
            "departures": list(self.departures),
            "left_out": list(self.left_out),
            "rows": [row.to_json() for row in self.rows],
        }


def paper_figures() -> PaperFigures:
    """The figures that `--against paper` shows: those that come with the package.

    >>> paper_figures().models["gpt2"][0]
    Figure(table='1', estimator='base', metric='ace', value=0.295, of=None)
    """
    content = json.loads((resources.files("calprobe.studies.scored") / FILE_NAME).read_text("utf-8"))
    models = {
        model: tuple(Figure(**dict(zip(content["columns"], row, strict=True))) for row in rows)
        for model, rows in content["figures"].items()
    }
    return PaperFigures(content["source"], models)
