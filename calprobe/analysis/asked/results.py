"""What a report says of asked runs, as plain frozen data: cells, sets, runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from calprobe.analysis.asked.disclosure import Disclosure
from calprobe.analysis.asked.exact_matches import ExactMatches
from calprobe.analysis.asked.lengths import StageLengths
from calprobe.analysis.asked.science.answer_results import AnswerStudy
from calprobe.analysis.asked.science.label_results import LabelStudy
from calprobe.analysis.asked.slice_results import CellSlices
from calprobe.analysis.asked.stated.results import StatedRun
from calprobe.cells.asked import AskedCell
from calprobe.cells.asked_extent import AskedExtent
from calprobe.confidence.estimator import Scale
from calprobe.confidence.samples import WordingShare
from calprobe.metrics import Difference, Estimate
from calprobe.metrics.uncertainty_map import UncertaintyMaps
from calprobe.runs.manifest_records import ModelSize

Counts = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How often the answers are right that one reader has read."""

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

    rows: int  # with a confidence
    coverage: Estimate  # their share of the rows asked: of a stated confidence the parse rate
    reasons: Counts  # rows without a confidence, by reason
    metrics: Mapping[str, Estimate]  # by name
    # The Brier score over all rows asked, if every missing confidence were the best possible, and the worst.
    brier_bounds: tuple[float, float]  # NaN of an uncertainty
    scale: Scale = "probability"  # of an uncertainty without a scale there are metrics of its order alone
    # Questions with a right answer among these rows, or those with a wrong one, whichever are fewer: order is of both.
    rarer: int = 0
    mass: float | None = None  # mean probability of all replies that it is a share of; None: it is of no such set
    bounded: int = 0  # rows whose confidence is a bound, since a window lacks one of the replies
    few_values: bool = False  # fewer different confidences than ACE has bins: see `calprobe.metrics.error_shown`
    chance: float = float("nan")  # accuracy of guessing among these rows


@dataclass(frozen=True, slots=True)
class Overconfidence:
    """A stated confidence against accuracy and against label confidence, on the rows that have both."""

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

    mean: Estimate
    above_half: Estimate  # the share of rows with more than half off the labels
    all_seen: float  # the share of rows with all labels in the window; 1 with the complete softmax
    # The mass of the labels seen, over that of all: the least that it can be by the window's last token, or exact.
    mass_seen: float


@dataclass(frozen=True, slots=True)
class CellWording:
    """The share of the wording in one cell, of one way to put answers as points."""

    points: str  # laplacian: eigenvectors of judged pairs; one_hot: equal answers
    share: WordingShare
    p: float  # by permutation; NaN where none was asked for


@dataclass(frozen=True, slots=True)
class Wordings:
    """Answers to the question itself or to its other wordings, over the questions that have both."""

    samples: float  # of a question, mean
    accuracy: Estimate  # mean over questions of the share of right answers
    # Two samples of the question itself, or one of it and one of another wording: how often they give the same answer.
    agreement: Estimate


@dataclass(frozen=True, slots=True)
class QuestionItself:
    """The question as it stands in its set, apart from its other wordings."""

    questions: int
    itself: Wordings
    others: Wordings
    accuracy: Difference  # others minus itself, question by question
    agreement: Difference


@dataclass(frozen=True, slots=True)
class BudgetPlan:
    """How many wordings of a question are asked, and how often each."""

    wordings: int  # n_p
    samples: int  # n_s

    def __str__(self) -> str:
        return f"({self.wordings}, {self.samples})"


@dataclass(frozen=True, slots=True)
class BudgetAuroc:
    """How well an uncertainty orders answers under one plan."""

    plan: BudgetPlan
    measure: str
    reading: str  # pooled, majority, greedy
    value: Estimate  # mean over the draws, with an interval over questions
    deviation: float  # standard deviation over the draws; NaN of one


@dataclass(frozen=True, slots=True)
class BudgetShare:
    """The share of the wording under one plan: means over the draws by field of WordingShare, and deviations."""

    plan: BudgetPlan
    points: str
    means: Mapping[str, float]
    deviations: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class CellBudget:
    """Plans of one number of answers, drawn from the replies of one cell."""

    answers: int  # m, of each question
    draws: int  # of each plan
    questions: int  # that allow every plan
    plans: tuple[BudgetPlan, ...]  # by number of wordings
    aurocs: tuple[BudgetAuroc, ...]
    shares: tuple[BudgetShare, ...]


@dataclass(frozen=True, slots=True)
class SampleCounts:
    """Samples of a question, in the mean over the questions; requests that failed are none."""

    mean: float
    least: int
    most: int
    answered: float  # mean of those with an answer


@dataclass(frozen=True, slots=True)
class KindReport:
    """The questions of one kind, where a cell has several."""

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
    failures: Mapping[str, int] = field(
        default_factory=dict
    )  # all requests that failed, by stage; every number leaves them out
    failure_reasons: Mapping[str, int] = field(default_factory=dict)  # the same by reason
    wording: tuple[CellWording, ...] = ()  # the share of the wording, where questions have samples of several
    samples: SampleCounts | None = None  # None: one answer a question
    itself: QuestionItself | None = None  # where questions have answers to their own text and to other wordings
    budgets: tuple[CellBudget, ...] = ()  # plans of fewer answers, where these are asked for
    maps: Mapping[str, UncertaintyMaps] = field(default_factory=dict)  # by estimator, of those that a map has made
    lengths: tuple[StageLengths, ...] = ()  # tokens of replies and thoughts, by stage
    slices: CellSlices | None = None  # by a covariate; None unless asked for
    kinds: Mapping[str, KindReport] = field(default_factory=dict)  # of questions; none where all are of one kind

    @property
    def reader(self) -> str:
        """The reader that confidences go by."""
        return next(iter(self.accuracy))

    @property
    def few_values(self) -> bool:
        """Whether any of its confidences has few values."""
        return any(own.few_values for own in self.estimators.values())


@dataclass(frozen=True, slots=True)
class Spread:
    """The largest minus the smallest accuracy over variants."""

    value: Estimate
    by_chance: float  # the mean spread if all variants were equally good
    variants: tuple[str, ...]
    rows: int  # that all of them have
    accuracy: float  # mean over the variants
    chance: float


@dataclass(frozen=True, slots=True)
class Repair:
    """A variant whose answers the first reader misses, read by another."""

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

    variant: str
    reader: str
    baseline: str  # the first of the other variants
    paired: Difference  # accuracy of the baseline minus that of the variant, on the same rows
    relative: float  # (mean of the other variants - the variant) / that mean


@dataclass(frozen=True, slots=True)
class MeanOverVariants:
    """Means over the variants in which enough of a stated confidence could be read."""

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
    questions: int
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
        every = dict.fromkeys(reader for cell in self.cells.values() for reader in cell.accuracy)
        return tuple(reader for reader in every if reader not in self.hidden)


@dataclass(frozen=True, slots=True)
class ShiftSummary:
    """Normalisation shifts over some cells: a description of these, no sample of others."""

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
    stated: StatedRun | None = None  # of a run that asks for confidences by several prompts
    labels: LabelStudy | None = None  # of a run that asks for label probabilities alone
    answers: AnswerStudy | None = None  # of a run that samples answers with conclusions behind them

    @property
    def partial(self) -> bool:
        """Whether any request has neither a reply nor a failure."""
        return self.extent is not None and self.extent.partial

    @property
    def limited(self) -> bool:
        """Whether any of its sets was asked in part, by request."""
        return self.extent is not None and bool(self.extent.limited)

    @property
    def few_values(self) -> bool:
        """Whether any confidence of any cell has few values; ECE is then the error that is printed of the run."""
        return any(cell.few_values for cell in self.reports())

    def reports(self) -> Iterator[CellReport]:
        """Every cell."""
        for own in self.sets.values():
            yield from own.cells.values()


@dataclass(frozen=True, slots=True)
class Recovered:
    """Recovered shares over several cells, averaged in two ways."""

    set: str
    reader: str
    cells: int
    ratio_of_means: float  # of mean accuracies
    mean_of_ratios: float  # mean of the shares


@dataclass(frozen=True, slots=True)
class SizePoint:
    """One run of a model of known size: its spread over variants."""

    run: str  # its label
    model: str
    size: ModelSize
    spread: Estimate


@dataclass(frozen=True, slots=True)
class SizeAndSpread:
    """Number of parameters and spread over runs, of one set and reader, with their rank correlation.

    Correlations are NaN with fewer than four runs.
    """

    set: str
    reader: str
    points: tuple[SizePoint, ...]  # the smaller models first
    unknown: tuple[str, ...]  # labels of runs with a spread, but without a known size
    rho: Estimate  # Bonett and Wright's interval
    p_value: float
    rho_others: Estimate  # by parameters without token embeddings and head; NaN where one of the runs does not know
    # The least and the largest rho with one family of models left out; NaN where fewer than four runs are left.
    without_a_family: tuple[float, float]


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
        return tuple(own for own in self.sizes if own.reader not in self.hidden)
