"""The same facts in several ways: the whole result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from calprobe.cells.run_facts import RunFacts
from calprobe.measures.compare_results import Contrast, Corrected, changed
from calprobe.measures.json_values import record_json, value_json
from calprobe.measures.options import CompareOptions
from calprobe.metrics import Estimate, Metric
from calprobe.metrics.error_shown import ERRORS, chance_shown, columns_shown, with_chance
from calprobe.studies.asked.compared import ComparedRun
from calprobe.studies.four_ways.results import (
    RankCorrelation,
    TwoByTwo,
    ViewNumbers,
    ViewPair,
    WayNumbers,
)
from calprobe.studies.four_ways.shared_facts import Fact, Lacking
from calprobe.studies.four_ways.way_options import FourWaysOptions
from calprobe.studies.four_ways.ways import View, Way
from calprobe.words import ClusterKind

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class FourWays(Corrected):
    """The same facts in several ways."""

    runs: tuple[RunFacts | ComparedRun, ...]  # those of scores first
    probe: str
    facts: tuple[Fact, ...]
    every: int  # facts that any run has
    lacking: tuple[Lacking, ...]
    left_out: tuple[str, ...]  # a clause for what is not compared at all
    ways: tuple[WayNumbers, ...]
    views: tuple[ViewNumbers, ...]
    pairs: tuple[ViewPair, ...]
    correlations: tuple[RankCorrelation, ...]  # of every two views
    two_by_two: tuple[TwoByTwo, ...]
    unit: ClusterKind  # what was resampled
    metrics: tuple[Metric, ...]  # in the order of columns
    few_values: bool  # whether ECE is the error that is printed, see `calprobe.metrics.error_shown`
    wanted: FourWaysOptions

    @property
    def options(self) -> CompareOptions:  # type: ignore[override]  # a property in place of the field
        """How the comparison was made, with the correction that was chosen."""
        return self.wanted.compare

    @property
    def shows_chance(self) -> bool:
        """Whether what chance makes of calibration errors stands beside them: of few facts."""
        return chance_shown(len(self.facts), self.options.scores.resampling)

    @property
    def columns(self) -> tuple[Metric, ...]:
        """The metrics of its tables: those that were chosen, all printed, else with one calibration error.

        Brier score and AUROC have room before the p-values of errors, which differences have too.
        """
        if self.options.metrics is not None:
            return tuple(replace(metric, printed=True) for metric in self.metrics)
        metrics = columns_shown(self.metrics, few_values=self.few_values, chance=self.shows_chance)
        p_values = [with_chance(error)[2] for error in ERRORS]
        return tuple(replace(metric, priority=None) if metric.name in p_values else metric for metric in metrics)

    @property
    def models(self) -> tuple[str, ...]:
        """Each once."""
        return tuple(dict.fromkeys(run.model for run in self.runs))

    @property
    def contrasts(self) -> Iterator[Contrast]:
        """Every difference between views."""
        for pair in self.pairs:
            yield from pair.contrasts

    def replaced(self, change: Callable[[Contrast], Contrast]) -> Self:
        """The result with each contrast changed, in the order of `contrasts`."""
        return replace(self, pairs=tuple(changed(pair, change) for pair in self.pairs))

    def way(self, letter: str) -> Way:
        """The way of a letter."""
        return next(numbers.way for numbers in self.ways if numbers.way.letter == letter)

    def rho(self, first: View, second: View) -> Estimate:
        """The rank correlation of two views, in any order; 1 of a view with itself."""
        if first.number == second.number:
            return Estimate(1.0)
        pair = {first.number, second.number}
        return next(
            correlation.rho
            for correlation in self.correlations
            if {correlation.first.number, correlation.second.number} == pair
        )

    def frame(self) -> pd.DataFrame:
        """A row for each fact that all runs have, sorted by relation and line number.

        Columns: id, relation, instance, subject, answer; of each way LETTER_said and LETTER_correct; of each view
        NUMBER_ESTIMATOR, its confidence (NaN where there is none; of an uncertainty larger is less sure), and
        NUMBER_ESTIMATOR_correct, of the answer that it speaks of.
        """
        import pandas as pd

        names = ("id", "relation", "instance", "subject", "answer")
        columns: dict[str, object] = {name: [getattr(fact, name) for fact in self.facts] for name in names}
        for way in (numbers.way for numbers in self.ways):
            columns |= {f"{way.letter}_said": list(way.said), f"{way.letter}_correct": way.correct}
        for view in (numbers.view for numbers in self.views):
            name = f"{view.number}_{view.name}"
            columns |= {name: view.confidence.confidence, f"{name}_correct": view.confidence.correct}
        return pd.DataFrame(columns)

    def to_json(self) -> dict[str, Any]:
        """The object of `calprobe compare SCORED ASKED --json`: docs/reference/files.md describes it. NaN is None."""
        content: dict[str, Any] = value_json(
            {
                "runs": {run.label: _run_json(run) for run in self.runs},
                "probe": self.probe,
                "n": len(self.facts),
                "facts_of_any": self.every,
                "lacking": self.lacking,
                "left_out": self.left_out,
                "unit": self.unit,
                "tests": self.tests,
                "correction": self.correction,
                "ways": {numbers.way.letter: numbers for numbers in self.ways},
                "views": {str(numbers.view.number): numbers for numbers in self.views},
                "differences": self.pairs,
                "correlations": self.correlations,
                "two_by_two": [pair.to_json(self.facts) for pair in self.two_by_two],
                "facts": [self._fact_json(place) for place in range(len(self.facts))],
            }
        )
        return content

    def _fact_json(self, place: int) -> dict[str, Any]:
        """A fact, with each way's answer and each view's confidence."""
        ways = {
            way.letter: {"said": way.said[place], "correct": bool(way.correct[place])}
            for way in (numbers.way for numbers in self.ways)
        }
        views = {
            str(numbers.view.number): {
                "confidence": float(numbers.view.confidence.confidence[place]),
                "correct": bool(numbers.view.confidence.correct[place]),
            }
            for numbers in self.views
        }
        return record_json(self.facts[place]) | {"ways": ways, "views": views}


def _run_json(run: RunFacts | ComparedRun) -> dict[str, Any]:
    if isinstance(run, RunFacts):
        return run.to_json() | {"kind": "scored"}
    return record_json(run, "model kind partial limited=asked_in_part warnings")
