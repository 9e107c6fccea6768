"""What a report says of one set under one variant, as plain frozen data with its JSON.

The JSON's keys are those that scripts depend on (docs/reference/files.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from calprobe.confidence.estimator import Scale
from calprobe.measures.json_values import number_json, value_json
from calprobe.measures.recalibrated import CellRecalibration
from calprobe.measures.slices import RunSlices
from calprobe.metrics import Difference, Estimate
from calprobe.metrics.faithfulness import Faithfulness
from calprobe.metrics.uncertainty_map import UncertaintyMaps
from calprobe.studies.asked.lengths import StageLengths
from calprobe.studies.wording.results import CellBudget, CellWording, QuestionItself, SampleCounts

Counts = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How often the answers are right that one reader has read."""

    JSON: ClassVar = "n=asked unread reasons flags rules accuracy_of_read=of_read graded_by abstained"

    value: Estimate  # of all rows asked, an answer that was not read being wrong
    of_read: Estimate  # of the rows with an answer alone
    reasons: Counts  # rows without an answer, by reason
    flags: Counts  # rows with an answer that is doubtful, by reason
    rules: Counts  # answers by the rule that found them
    decided: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # by who graded: rows, and how many are right
    asked: int = 0  # rows with a reply to read
    abstained: Estimate | None = None  # share of replies that say the model does not know; None: no open questions

    @property
    def unread(self) -> int:
        """Rows without an answer."""
        return sum(self.reasons.values())

    @property
    def graded_by(self) -> dict[str, dict[str, int]]:
        """By who graded: how many rows (`n`), and how many of them are right."""
        return {rule: {"n": number, "right": right} for rule, (number, right) in self.decided.items()}


@dataclass(frozen=True, slots=True)
class CellEstimator:
    """One estimator of a cell: its metrics over the rows that it could be read of."""

    JSON: ClassVar = "n=rows chance reasons brier_bounds scale rarer mass bounded"

    rows: int  # with a confidence
    coverage: Estimate  # their share of the rows asked: of a stated confidence the parse rate
    reasons: Counts  # rows without a confidence, by reason
    metrics: Mapping[str, Estimate]  # by name
    # The Brier score over all rows asked, if every missing confidence were the best possible, and the worst.
    brier_bounds: tuple[float, float]  # NaN of an uncertainty
    scale: Scale = "probability"  # of an uncertainty without a scale there are metrics of its order alone
    # Questions with a right answer, or those with a wrong one, whichever are fewer: a ranking needs both.
    rarer: int = 0
    mass: float | None = None  # mean probability of all replies that it is a share of; None: it is of no such set
    bounded: int = 0  # rows whose confidence is a bound, since a window lacks one of the replies
    few_values: bool = False  # fewer different confidences than ACE has bins: see `calprobe.metrics.error_shown`
    chance: float = float("nan")  # accuracy of guessing among these rows


@dataclass(frozen=True, slots=True)
class Overconfidence:
    """A stated confidence against accuracy and against label confidence, on the rows that have both."""

    JSON: ClassVar = (
        "n=rows accuracy label ece_gap ece_gap_all_rows=ece_gap_all distinct_values=distinct mode mode_share"
        " accuracy_of_unread=accuracy_unread"
    )

    rows: int
    accuracy: Difference  # mean stated confidence minus accuracy of the answers
    label: Difference | None  # minus the mean of `label`; None without label probabilities
    ece_gap: Difference | None  # ECE of the stated confidence minus that of `label`, on the same rows
    ece_gap_all: float | None  # minus that of `label` on all rows
    distinct: int  # values that were stated
    mode: float  # the most frequent; NaN without any
    mode_share: float
    accuracy_unread: Estimate  # of the answers of rows where no confidence could be read


@dataclass(frozen=True, slots=True)
class OffLabel:
    """The mass at the first position that is on no label."""

    JSON: ClassVar = "all_labels_seen=all_seen mass_seen"

    mean: Estimate
    above_half: Estimate  # the share of rows with more than half off the labels
    all_seen: float  # the share of rows with all labels in the window; 1 with the complete softmax
    # The share of the mass of all labels that the window shows: exact, or the least that it can be.
    mass_seen: float


@dataclass(frozen=True, slots=True)
class KindReport:
    """The questions of one kind, where a cell has several."""

    JSON: ClassVar = "n=rows chance accuracy estimators"

    rows: int
    chance: float
    accuracy: Mapping[str, Accuracy]  # by reader
    estimators: Mapping[str, CellEstimator]  # those that questions of this kind can have


@dataclass(frozen=True, slots=True)
class CellReport:
    """One set under one variant."""

    set: str
    variant: str
    rows: int
    failed: int  # requests for an answer that failed; they are no rows
    chance: float
    accuracy: Mapping[str, Accuracy]  # by reader, the one that confidences go by first
    estimators: Mapping[str, CellEstimator]  # by estimator
    off_label: OffLabel | None  # None without label probabilities
    shift: Estimate | None  # |ECE of label_raw - ECE of label|; likewise
    overconfidence: Mapping[str, Overconfidence]  # by estimator of a stated confidence
    # All requests that failed, by stage; every number leaves them out.
    failures: Mapping[str, int] = field(default_factory=dict)
    failure_reasons: Mapping[str, int] = field(default_factory=dict)  # the same by reason
    wording: tuple[CellWording, ...] = ()  # the share of the wording, where questions have samples of several
    samples: SampleCounts | None = None  # None: one answer a question
    itself: QuestionItself | None = None  # where questions have answers to their own text and to other wordings
    budgets: tuple[CellBudget, ...] = ()  # plans of fewer answers, where these are asked for
    maps: Mapping[str, UncertaintyMaps] = field(default_factory=dict)  # by estimator, of those that a map has made
    faithfulness: Mapping[str, Faithfulness] = field(default_factory=dict)  # by estimator, beside samples' frequency
    lengths: tuple[StageLengths, ...] = ()  # tokens of replies and thoughts, by stage
    slices: RunSlices | None = None  # by a covariate; None unless asked for
    kinds: Mapping[str, KindReport] = field(default_factory=dict)  # of questions; none where all are of one kind
    recalibrated: CellRecalibration | None = None  # confidences by maps of other questions; None unless asked for

    @property
    def reader(self) -> str:
        """The reader that confidences go by."""
        return next(iter(self.accuracy))

    def to_json(self) -> dict[str, Any]:
        """The cell's object under `variants`; what only some runs have is there only then."""
        off = self.off_label
        return {
            "n": self.rows,
            "failed": self.failed,
            "failed_by_stage": dict(self.failures),
            "failed_by_reason": dict(self.failure_reasons),
            "chance": number_json(self.chance),
            "accuracy": {reader: value_json(accuracy.value) for reader, accuracy in self.accuracy.items()},
            "readings": value_json(self.accuracy),
            "coverage": {name: value_json(estimator.coverage) for name, estimator in self.estimators.items()},
            "off_label": None if off is None else value_json(off.mean),
            "off_label_above_half": None if off is None else value_json(off.above_half),
            "window": value_json(off),
            "estimators": {name: value_json(estimator.metrics) for name, estimator in self.estimators.items()},
            "confidences": value_json(self.estimators),
            "maps": value_json(self.maps),
            "shift": value_json(self.shift),
            "overconfidence": value_json(self.overconfidence),
            "budget": {str(budget.answers): budget.to_json() for budget in self.budgets},
            "lengths": {lengths.stage: value_json(lengths) for lengths in self.lengths},
            "samples": value_json(self.samples),
            "question_itself": value_json(self.itself),
            "wording": {
                wording.points: value_json(wording.share) | {"p": number_json(wording.p)} for wording in self.wording
            },
            **({"faithfulness": value_json(self.faithfulness)} if self.faithfulness else {}),
            **({"kinds": value_json(self.kinds)} if self.kinds else {}),
            **({} if self.recalibrated is None else {"recalibrated": self.recalibrated.to_json()}),
            **(
                {}
                if self.slices is None
                else {
                    "slices": self.slices.to_json(),
                    "slice_averages": {name: part.to_json() for name, part in self.slices.averages.items()},
                    "slice_gaps": value_json(self.slices.gaps),
                    "covariate": self.slices.covariate_json(),
                }
            ),
        }

    @property
    def few_values(self) -> bool:
        """Whether any of its confidences has few values."""
        return any(estimator.few_values for estimator in self.estimators.values())
