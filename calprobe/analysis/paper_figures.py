"""The figures of Kissling et al. 2026 (arXiv 2601.18901), those that come with the package or those of a file.

Bundled are figures alone, in `paper_figures.json`. Its `figures` are rows of `columns`, a list for each model.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from importlib import resources
from pathlib import Path
from typing import Any

from calprobe.analysis.json_values import estimate_json, number_json
from calprobe.errors import UsageError
from calprobe.metrics import Estimate

BUNDLED = "paper"  # what --against calls them
FILE_NAME = "paper_figures.json"
COLUMNS = ("table", "estimator", "metric", "of", "value")

# Keys of a model in the tables of a file -> estimator and metric here.
_TABLE_1 = {
    "ace_base": ("base", "ace"),
    "ace_margin": ("margin", "ace"),
    "ace_average_vote": ("average_vote_2", "ace"),
    "ace_average_min": ("average_min", "ace"),
    "brier_base": ("base", "brier"),
    "brier_margin": ("margin", "brier"),
    "brier_average_vote": ("average_vote_2", "brier"),
    "brier_average_min": ("average_min", "brier"),
    "brier_consistency_vote": ("consistency_vote_2", "brier"),
    "brier_consistency_min": ("consistency_min", "brier"),
}
_TABLE_2 = {
    "domain_accuracy_percent": ("", "bear_score"),
    "domain_brier_margin": ("margin", "brier"),
    "domain_brier_average_min": ("average_min", "brier"),
}
_TABLE_4 = {name: (f"average_{name}", "brier") for name in ("min", "max", "vote_2", "vote_3", "vote_4", "vote_5")}
_TABLE_6 = {
    "accuracy_percent": ("base", "accuracy"),
    "ace_base": ("base", "ace"),
    "ace_margin": ("margin", "ace"),
    "brier_base": ("base", "brier"),
    "brier_margin": ("margin", "brier"),
}
_NAMES = {
    "1": "table1_calibration_bear",
    "2": "table2_matched_pairs",
    "3": "table3_models",
    "4": "table4_brier_average_confidence_by_aggregation",
    "5": "table5_matched_domains",
    "6": "table6_wiki_factor",
}


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
        """Ours less the paper's."""
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


def paper_figures(against: str) -> PaperFigures:
    """The figures that `--against paper` or `--against FILE` names.

    Raises UsageError if there is no such file, or it does not have the layout of `figures_of_tables`.
    """
    if against == BUNDLED:
        text = (resources.files("calprobe.analysis") / FILE_NAME).read_text("utf-8")
        return _bundled(json.loads(text))
    try:
        content = json.loads(Path(against).read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        what = error.strerror if isinstance(error, OSError) else "not JSON"
        raise UsageError(
            f"--against {against}: {what}; give {BUNDLED}, or a JSON file of the paper's tables"
        ) from error
    return figures_of_tables(content, against)


def figures_of_tables(content: object, path: str) -> PaperFigures:
    """The figures of tables in a file's layout: `{TABLE: {MODEL: {COLUMN: NUMBER}}}`.

    The tables are those of `_NAMES`; one that is absent has no figures. Accuracies are percentages under keys that say
    so. Table 3's accuracy is read from table 2 where the model is in it: there it is the same number.

    Raises UsageError for another layout; names table, model and key.
    """
    if not isinstance(content, dict) or not any(name in content for name in _NAMES.values()):
        raise UsageError(f"{path}: none of the paper's tables in it; give an object with {', '.join(_NAMES.values())}")
    tables = _Tables(path, content)
    models = dict.fromkeys(model for number in "1346" for model in tables.rows(number))
    figures = {model: tuple(tables.figures(model)) for model in models}
    return PaperFigures(str(content.get("source", path)), figures)


def _bundled(content: dict[str, Any]) -> PaperFigures:
    named = {
        model: tuple(Figure(**dict(zip(content["columns"], row, strict=True))) for row in rows)
        for model, rows in content["figures"].items()
    }
    return PaperFigures(content["source"], named)


@dataclass(frozen=True, slots=True)
class _Tables:
    """The tables of a file, read with messages that say where."""

    path: str
    content: Mapping[str, Any]

    def rows(self, number: str) -> Mapping[str, Any]:
        """A table's objects by model."""
        found = self.content.get(_NAMES[number], {})
        if not isinstance(found, dict):
            raise UsageError(f"{self.path}: {_NAMES[number]} must be an object with a key for each model; mend it")
        for model, row in found.items():
            if not isinstance(row, dict):
                raise UsageError(f"{self.path}: {_NAMES[number]}, {_key(model)}: must be an object; got {row!r:.60}")
        return found

    def figures(self, model: str) -> Iterator[Figure]:
        yield from self._of("1", model, _TABLE_1)
        domain = self._domain(model)
        if domain is not None:
            yield from self._of("2", model, _TABLE_2, domain)
        for number in ("2", "3"):
            if model in self.rows(number):
                yield Figure("3", "", "bear_score", self._number(number, model, "accuracy_percent"))
                break
        yield from self._of("4", model, _TABLE_4)
        yield from self._of("6", model, _TABLE_6)

    def _of(
        self, number: str, model: str, columns: Mapping[str, tuple[str, str]], of: str | None = None
    ) -> Iterator[Figure]:
        row = self.rows(number).get(model, {})
        for key, (estimator, metric) in columns.items():
            if key in row:
                yield Figure(number, estimator, metric, self._number(number, model, key), of)

    def _number(self, number: str, model: str, key: str) -> float:
        value = self.rows(number)[model].get(key)
        percent = key.endswith("percent")
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= (100 if percent else 1):
            bounds = "a percentage" if percent else "a number in [0, 1]"
            where = f"{self.path}: {_NAMES[number]}, {_key(model)}, {key}"
            raise UsageError(f"{where}: must be {bounds}; got {value!r:.60}")
        # 14.9 / 100 is not 0.149 in floating point.
        return float(Decimal(str(value)).scaleb(-2)) if percent else float(value)

    def _domain(self, model: str) -> str | None:
        pairs = self.content.get(_NAMES["5"], [])
        if not isinstance(pairs, list) or not all(isinstance(pair, dict) for pair in pairs):
            raise UsageError(f"{self.path}: {_NAMES['5']} must be a list of objects; mend it")
        for pair in pairs:
            if not isinstance(pair.get("pair", []), list) or not isinstance(pair.get("domain", ""), str):
                what = "pair must be a list of models, and domain a text"
                raise UsageError(f"{self.path}: {_NAMES['5']}: {what}; mend it")
        return next((pair["domain"] for pair in pairs if model in pair.get("pair", []) and "domain" in pair), None)


def _key(name: str) -> str:
    """A key of the file in a message: on one line, and not without end."""
    return name if name.isprintable() and len(name) < 60 else f"{name!r:.60}"
