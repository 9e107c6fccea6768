"""What a comparison of asked runs says, as plain frozen data, with its JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from calprobe.cells.asked import Asked
from calprobe.cells.asked_extent import AskedExtent, limited_json
from calprobe.measures.compare_results import Agreement, Contrast, Corrected, by_estimator, changed
from calprobe.measures.json_values import value_json
from calprobe.measures.options import CompareOptions
from calprobe.metrics import Metric


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """A run of a comparison."""

    JSON: ClassVar = "model kind questions partial limited=asked_in_part warnings"

    label: str
    model: str
    questions: int
    extent: AskedExtent | None  # None: all that was asked is there
    how: str = ""  # how it was asked; empty: not known
    warnings: tuple[str, ...] = ()  # of its accuracies, a clause each

    @classmethod
    def of(cls, run: Asked) -> ComparedRun:
        """A run with all of its sets."""
        how = "; ".join(run.about[name] for name in ("asked by", "asked as") if name in run.about)
        return cls(run.label, run.model, sum(question_set.n_roots for question_set in run.sets), run.extent, how)

    @property
    def partial(self) -> bool:
        """Whether replies are missing."""
        return self.extent is not None and self.extent.partial

    @property
    def limited(self) -> bool:
        """Whether any of its sets was asked in part, by request."""
        return self.extent is not None and bool(self.extent.limited)

    @property
    def asked_in_part(self) -> dict[str, Any] | None:
        """What part of each set was asked; None: all of it."""
        return limited_json(self.extent)

    @property
    def kind(self) -> str:
        """Of replies."""
        return "asked"


@dataclass(frozen=True, slots=True)
class CellPair:
    """Two cells on the questions that both have: of two runs, or two variants of one."""

    JSON: ClassVar = "first second questions n=rows alone accuracy estimators rows=counts agreement"

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

    @property
    def accuracy(self) -> dict[str, Contrast]:
        """By reader."""
        return {
            str(contrast.estimator): contrast for contrast in self.contrasts if contrast.estimator in self.agreement
        }

    @property
    def estimators(self) -> dict[str, dict[str, Contrast]]:
        """The other contrasts, by estimator and metric."""
        return by_estimator(contrast for contrast in self.contrasts if contrast.estimator not in self.agreement)


@dataclass(frozen=True, slots=True)
class AskedPair:
    """Two runs side by side, or one run with itself: a pair for each set and variant."""

    JSON: ClassVar = "first second left_out sets"

    first: str  # label
    second: str
    cells: tuple[CellPair, ...]
    left_out: tuple[str, ...]  # what only one of them has, a clause each

    @property
    def sets(self) -> dict[str, list[CellPair]]:
        """The pairs of each set."""
        sets: dict[str, list[CellPair]] = {}
        for cell in self.cells:
            sets.setdefault(cell.set, []).append(cell)
        return sets


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

    def replaced(self, change: Callable[[Contrast], Contrast]) -> Self:
        """The comparison with each contrast changed, in the order of `contrasts`."""
        pairs = (replace(pair, cells=tuple(changed(cell, change) for cell in pair.cells)) for pair in self.pairs)
        return replace(self, pairs=tuple(pairs))

    def to_json(self) -> dict[str, Any]:
        """The object of `calprobe compare --json`: docs/how-to/compare.md describes it. NaN is None."""
        within = None
        if self.within:
            within = {"run": self.runs[0].label, "unit": "question", "variants": self.pairs[0].sets}
        content: dict[str, Any] = value_json(
            {
                "runs": {run.label: run for run in self.runs},
                "pairs": [] if self.within else self.pairs,
                "unpaired": {},
                "tests": self.tests,
                "correction": self.correction,
                "within": within,
            }
        )
        return content
