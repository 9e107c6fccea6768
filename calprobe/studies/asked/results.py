"""What a report says of asked runs, as plain frozen data with its JSON: sets, runs, several runs.

The JSON's keys are those that scripts depend on (docs/reference/files.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from calprobe.cells.asked import AskedCell
from calprobe.cells.asked_extent import AskedExtent, limited_json
from calprobe.measures.json_values import value_json
from calprobe.metrics import Difference, Estimate
from calprobe.runs.manifest_records import ModelSize
from calprobe.studies.answers.results import AnswerStudy
from calprobe.studies.asked.cell_results import CellReport
from calprobe.studies.asked.disclosure import Disclosure
from calprobe.studies.asked.exact_matches import ExactMatches
from calprobe.studies.labels.results import LabelStudy
from calprobe.studies.stated.results import StatedRun


@dataclass(frozen=True, slots=True)
class Spread:
    """The largest minus the smallest accuracy over variants."""

    JSON: ClassVar = "variants n=rows by_chance accuracy chance"

    value: Estimate
    by_chance: float  # the mean spread if all variants were equally good
    variants: tuple[str, ...]
    rows: int  # that all of them have
    accuracy: float  # mean over the variants
    chance: float


@dataclass(frozen=True, slots=True)
class Repair:
    """A variant whose answers the first reader misses, read by another."""

    JSON: ClassVar = (
        "variant reader n=rows first_char=first repaired reference recovered right_to_wrong wrong_to_right"
        " previously_right against_baseline no_marker=unread_by_other right_without_marker=right_of_those"
    )

    variant: str
    reader: str
    rows: int  # that all variants have
    first: float  # accuracy under first_char
    repaired: float  # under the reader
    reference: float  # mean accuracy of the other variants under first_char
    recovered: Estimate  # (repaired - first) / (reference - first)
    right_to_wrong: int  # rows that first_char has right and the reader wrong
    wrong_to_right: int
    previously_right: int
    against_baseline: Difference  # repaired minus the accuracy of the first of the other variants
    unread_by_other: int  # rows that no marker gives an answer of; constrained answers these too
    right_of_those: float  # the share of them that the reader has right; NaN without any


@dataclass(frozen=True, slots=True)
class Drop:
    """What a change of the form of answers costs under one reader."""

    JSON: ClassVar = "variant reader baseline paired relative"

    variant: str
    reader: str
    baseline: str  # the first of the other variants
    paired: Difference  # accuracy of the baseline minus that of the variant, on the same rows
    relative: float  # (mean of the other variants - the variant) / that mean


@dataclass(frozen=True, slots=True)
class MeanOverVariants:
    """Means over the variants in which enough of a stated confidence could be read."""

    JSON: ClassVar = "variants left_out accuracy ece_label ece ece_gap over_accuracy over_label"

    estimator: str
    variants: tuple[str, ...]  # those that count
    left_out: tuple[str, ...]  # below the threshold
    accuracy: float
    ece_label: float
    ece: float
    ece_gap: float
    over_accuracy: float
    over_label: float


@dataclass(frozen=True, slots=True)
class SetReport:
    """One set of questions under all variants."""

    name: str
    questions: int  # that the run asks
    answered: int  # those of them with a reply under any variant, which all numbers are of
    claims: int  # about the options of these questions; 0: they are asked themselves
    cells: Mapping[str, CellReport]  # by variant
    format_changes: tuple[str, ...]  # variants that ask for another form of answer; spread leaves them out
    usual: tuple[str, ...]  # variants that means are over: of the usual form of answer and order of options
    spread: Mapping[str, Spread]  # by reader
    drops: tuple[Drop, ...]
    repairs: tuple[Repair, ...]
    means: tuple[MeanOverVariants, ...]
    exact: ExactMatches | None = None  # None: exact matching graded nothing
    hidden: tuple[str, ...] = ()  # readers that stand in the JSON, and in no table or figure

    @property
    def readers(self) -> tuple[str, ...]:
        """The readers of any variant that tables and figures show."""
        readers = dict.fromkeys(reader for cell in self.cells.values() for reader in cell.accuracy)
        return tuple(reader for reader in readers if reader not in self.hidden)

    def to_json(self) -> dict[str, Any]:
        """The set's object under `sets`."""
        return {
            "questions": self.questions,
            **({"claims": self.claims} if self.claims else {}),
            "variants": value_json(self.cells),
            "format_changes": list(self.format_changes),
            "spread": {reader: value_json(spread.value) for reader, spread in self.spread.items()},
            "spread_of": value_json(self.spread),
            "drops": value_json(self.drops),
            "repairs": value_json(self.repairs),
            "means": {mean.estimator: value_json(mean) for mean in self.means},
        }


@dataclass(frozen=True, slots=True)
class ShiftSummary:
    """Normalisation shifts over some cells: a description of these, no sample of others."""

    JSON: ClassVar = "cells mean median max=largest above_0.05=above_005 above_0.20=above_020"

    of: str  # a variant, or all
    cells: int
    mean: Estimate  # with the percentiles of resampled cells under compat alone
    median: float
    largest: float
    above_005: float  # share of the cells
    above_020: float


@dataclass(frozen=True, slots=True)
class AskedRunReport:
    """One run's numbers."""

    label: str
    model: str
    size: ModelSize | None  # of the model; None where the manifest does not say
    questions: int
    extent: AskedExtent | None  # None: all that was asked is there
    sets: Mapping[str, SetReport]
    shifts: tuple[ShiftSummary, ...]
    disclosure: Disclosure
    cells: tuple[AskedCell, ...] = field(default=(), repr=False, compare=False)
    studies: Mapping[str, Any] = field(default_factory=dict)  # that the run is of, by their keys in the JSON

    @property
    def stated(self) -> StatedRun | None:
        """The study of a run that asks for confidences by several prompts."""
        return self.studies.get("stated")

    @property
    def labels(self) -> LabelStudy | None:
        """The study of a run that asks for label probabilities alone."""
        return self.studies.get("label_study")

    @property
    def answers(self) -> AnswerStudy | None:
        """The study of a run that samples answers with conclusions behind them."""
        return self.studies.get("answer_study")

    @property
    def partial(self) -> bool:
        """Whether any request has neither a reply nor a failure."""
        return self.extent is not None and self.extent.partial

    @property
    def limited(self) -> bool:
        """Whether any of its sets was asked in part, by request."""
        return self.extent is not None and bool(self.extent.limited)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What stands beside the verdict, a sentence each."""
        return tuple(f"Warning: {clause.removesuffix('.')}." for clause in self.disclosure.warnings)

    @property
    def few_values(self) -> bool:
        """Whether any confidence of any cell has few values; ECE is then the error that is printed of the run."""
        return any(cell.few_values for cell in self.reports())

    def reports(self) -> Iterator[CellReport]:
        """Every cell."""
        for report in self.sets.values():
            yield from report.cells.values()

    def to_json(self) -> dict[str, Any]:
        """The run's object in `calprobe report --json`; studies are there where the run has them."""
        return {
            "model": self.model,
            "kind": "asked",
            "parameters": None if self.size is None else self.size.parameters,
            "parameters_without_embeddings": None if self.size is None else self.size.others,
            "questions": self.questions,
            "partial": self.partial,
            "limited": limited_json(self.extent),
            "extent": value_json(self.extent),
            "sets": value_json(self.sets),
            "shifts": shifts_json(self.shifts),
            "disclosure": self.disclosure.to_json(),
            **{key: study.to_json() for key, study in self.studies.items()},
        }


@dataclass(frozen=True, slots=True)
class Recovered:
    """Recovered shares over several cells, averaged in two ways."""

    JSON: ClassVar = "cells ratio_of_means mean_of_ratios"

    set: str
    reader: str
    cells: int
    ratio_of_means: float  # of mean accuracies
    mean_of_ratios: float  # mean of the shares


@dataclass(frozen=True, slots=True)
class SizePoint:
    """One run of a model of known size: its spread over variants."""

    JSON: ClassVar = "run model spread parameters parameters_without_embeddings"

    run: str  # its label
    model: str
    size: ModelSize
    spread: Estimate

    @property
    def parameters(self) -> int:
        """Of the model."""
        return self.size.parameters

    @property
    def parameters_without_embeddings(self) -> int | None:
        """Without those of token embeddings and head; None where the run does not know."""
        return self.size.others


@dataclass(frozen=True, slots=True)
class SizeAndSpread:
    """Number of parameters and spread over runs, of one set and reader, with their rank correlation.

    Correlations are NaN with fewer than four runs.
    """

    JSON: ClassVar = (
        "runs rho p=p_value rho_without_embeddings=rho_others rho_without_a_family=without_a_family unknown points"
    )

    set: str
    reader: str
    points: tuple[SizePoint, ...]  # the smaller models first
    unknown: tuple[str, ...]  # labels of runs with a spread, but without a known size
    rho: Estimate  # Bonett and Wright's interval
    p_value: float
    rho_others: Estimate  # by parameters without token embeddings and head; NaN where one of the runs does not know
    # The least and the largest rho with one family of models left out; NaN where fewer than four runs are left.
    without_a_family: tuple[float, float]

    @property
    def runs(self) -> int:
        """Number of points."""
        return len(self.points)


@dataclass(frozen=True, slots=True)
class AcrossRuns:
    """What only several runs show."""

    shifts: tuple[ShiftSummary, ...]
    recovered: tuple[Recovered, ...]
    sizes: tuple[SizeAndSpread, ...]
    hidden: tuple[str, ...] = ()  # readers that no table or figure shows

    @property
    def shown_sizes(self) -> tuple[SizeAndSpread, ...]:
        """Sizes and spreads of the readers that tables and figures show."""
        return tuple(size for size in self.sizes if size.reader not in self.hidden)

    def to_json(self) -> dict[str, Any]:
        """What `calprobe report --json` says under `across`."""
        recovered: dict[str, dict[str, Any]] = {}
        for share in self.recovered:
            recovered.setdefault(share.set, {})[share.reader] = value_json(share)
        sizes: dict[str, dict[str, Any]] = {}
        for size in self.sizes:
            sizes.setdefault(size.set, {})[size.reader] = value_json(size)
        return {"shifts": shifts_json(self.shifts), "recovered": recovered, "size_and_spread": sizes}


def shifts_json(shifts: Iterable[ShiftSummary]) -> dict[str, Any]:
    """By what they are over."""
    return {summary.of: value_json(summary) for summary in shifts}
