"""What a comparison of asked runs says, as plain frozen data, with its JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from calprobe.analysis.compare_results import Agreement, Contrast, Corrected, Grounding
from calprobe.analysis.options import CompareOptions
from calprobe.cells.asked_extent import AskedExtent, limited_json
from calprobe.metrics import Metric


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """A run of a comparison."""

    label: str
    model: str
    questions: int
    extent: AskedExtent | None  # None: all that was asked is there

    @property
    def partial(self) -> bool:
        """Whether replies are missing."""
        return self.extent is not None and self.extent.partial

    @property
    def limited(self) -> bool:
        """Whether any of its sets was asked in part, by request."""
        return self.extent is not None and bool(self.extent.limited)


@dataclass(frozen=True, slots=True)
class CellPair:
    """Two cells on the questions that both have: of two runs, or two variants of one."""

    set: str
    first: str  # variant
    second: str
    questions: int  # that both have
    rows: int  # answers that both have
    alone: tuple[int, int]  # rows that only the first, and only the second has
    # Accuracy by reader, then each estimator's metrics. `estimator` of an accuracy is the reader.
    contrasts: tuple[Contrast, ...]
    counts: Mapping[str, int]  # rows behind the differences, by reader and by estimator
    agreement: Mapping[str, Agreement]  # by reader

    @property
    def variants(self) -> str:
        """Both variants, once where they are one."""
        return self.first if self.first == self.second else f"{self.first} (A), {self.second} (B)"

    def to_json(self) -> dict[str, Any]:
        """The object of a set's list."""
        accuracy = {own.estimator: own for own in self.contrasts if own.estimator in self.agreement}
        estimators: dict[str, dict[str, Any]] = {}
        for own in self.contrasts:
            if own.estimator not in self.agreement:
                estimators.setdefault(str(own.estimator), {})[own.metric] = own.to_json()
        return {
            "first": self.first,
            "second": self.second,
            "questions": self.questions,
            "n": self.rows,
            "alone": list(self.alone),
            "accuracy": {name: own.to_json() for name, own in accuracy.items()},
            "estimators": estimators,
            "rows": dict(self.counts),
            "agreement": {name: own.to_json() for name, own in self.agreement.items()},
        }


@dataclass(frozen=True, slots=True)
class AskedPair:
    """Two runs side by side, or one run with itself: a pair for each set and variant."""

    first: str  # label
    second: str
    cells: tuple[CellPair, ...]
    left_out: tuple[str, ...]  # what only one of them has, a clause each

    def to_json(self) -> dict[str, Any]:
        """The pair's object in `calprobe compare --json`."""
        sets: dict[str, list[dict[str, Any]]] = {}
        for cell in self.cells:
            sets.setdefault(cell.set, []).append(cell.to_json())
        return {"first": self.first, "second": self.second, "left_out": list(self.left_out), "sets": sets}


@dataclass(frozen=True, slots=True)
class AskedComparison(Corrected):
    """Pairs of asked runs, or of the variants of one, with what was asked for."""

    runs: tuple[ComparedRun, ...]
    pairs: tuple[AskedPair, ...]
    metrics: tuple[Metric, ...]  # in the order of rows, accuracy first
    options: CompareOptions  # with the correction that was chosen
    by_name: tuple[str, ...] = ()  # options that compare what is left out by default

    @property
    def within(self) -> bool:
        """Whether the variants of one run are compared."""
        return len(self.runs) == 1

    @property
    def contrasts(self) -> Iterator[Contrast]:
        """Everything that has a p-value."""
        for pair in self.pairs:
            for cell in pair.cells:
                yield from cell.contrasts

    def replaced(self, change: Callable[[Contrast | Grounding], Any]) -> Self:
        """The comparison with each contrast changed, in the order of `contrasts`."""
        return replace(
            self,
            pairs=tuple(
                replace(
                    pair,
                    cells=tuple(replace(cell, contrasts=tuple(map(change, cell.contrasts))) for cell in pair.cells),
                )
                for pair in self.pairs
            ),
        )

    def to_json(self) -> dict[str, Any]:
        """The object of `calprobe compare --json`: docs/how-to/compare.md describes it. NaN is None."""
        runs = {
            run.label: {
                "model": run.model,
                "kind": "asked",
                "questions": run.questions,
                "partial": run.partial,
                "limited": limited_json(run.extent),
            }
            for run in self.runs
        }
        found: dict[str, Any] = {
            "runs": runs,
            "pairs": [],
            "unpaired": {},
            "tests": self.tests,
            "correction": self.correction,
            "within": None,
        }
        pairs = [pair.to_json() for pair in self.pairs]
        if self.within:
            return found | {"within": {"run": self.runs[0].label, "unit": "question", "variants": pairs[0]["sets"]}}
        return found | {"pairs": pairs}
