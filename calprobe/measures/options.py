"""How to read runs and what to compute of them: the options of reports, slices and comparisons."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from calprobe.cells.cell_readers import CONSTRAINED
from calprobe.errors import UsageError
from calprobe.measures.calibration_file import CalibrationFile
from calprobe.measures.covariates import Covariate, SliceTree
from calprobe.messages import check_word, no_such
from calprobe.metrics import ACE_BINS, Metric, Resampling, standard_metrics
from calprobe.metrics.concentration import FREQUENCY_BINS, frequency_ece, place_metrics
from calprobe.metrics.smooth_ece import SMOOTH_ECE
from calprobe.words import (
    AskedCompat,
    Calibrate,
    ClusterKind,
    Compat,
    Correction,
    Recalibration,
    Reduction,
    RunKind,
    SliceKind,
    Ties,
)

Pair = tuple[str, str]  # labels of two runs

PARSE_THRESHOLD = 0.80  # the study's: a cell that reads less of its stated confidences leaves the means over cells
FIRST_CHAR, LAST_MARKER = "first_char", "last_marker"
FIRST_MARKER = "first_marker"  # the first repair of the paper
OF_THE_AUDIT = (FIRST_CHAR, FIRST_MARKER)  # by the paper's rules, which take a letter of a word for an answer
READERS = (LAST_MARKER, FIRST_CHAR, CONSTRAINED)  # of choices; the first is the one that confidences go by


@dataclass(frozen=True, slots=True)
class SliceOptions:
    """What to cut a run's instances, or questions, by, and which estimators to show of each slice.

    Raises UsageError for a name that is none of `SliceKind`.
    """

    by: SliceKind | Covariate | SliceTree
    # Of scores; None: base, margin and average_min, as far as the templates give them. Of replies all are shown.
    estimators: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.by, str) and self.by not in get_args(SliceKind):
            raise UsageError(f"--by: {no_such(self.by, get_args(SliceKind))}")


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """How to read runs, and what to compute of them.

    What is of scores changes nothing in runs of replies, nor the other way round.
    Raises UsageError for rules of no paper, and for numbers that cannot be.
    """

    reduction: Reduction = "sum"  # of scores: of token scores to a statement's
    # The rules of a paper. kissling2026 is of scores: without each statement's first scored token. Of replies see
    # `by_paper`, `by_study`, and `studies.stated.reliability`.
    compat: Compat | AskedCompat | None = None
    ace_bins: int | None = ACE_BINS  # quantile bins; None: by the number of instances, `bins_for`
    resampling: Resampling = field(default_factory=Resampling)
    # Of scores: how resamples go by relation; None: they draw single instances, see also compare.
    cluster: ClusterKind | None = None
    slices: SliceOptions | None = None  # None: none
    ties: Ties = "draw"  # of scores: which of the candidates that share the largest score is the prediction
    # Maps of confidences, fitted on other relations or questions, of scores also given in a file; None: none.
    recalibrate: Recalibration | CalibrationFile | None = None
    slice_bins: int | None = None  # `ace_bins` of slices, which have few instances
    # What follows is of replies.
    readers: tuple[str, ...] | None = None  # confidences go by the first; None: see `evaluators`
    threshold: float = PARSE_THRESHOLD
    window: int | None = None  # only labels among so many most probable tokens are seen; None: all that are known
    calibrate: Calibrate | None = None  # a map from uncertainties to confidences, fitted on other questions
    budget: tuple[int, ...] = ()  # numbers of answers to plan wordings and samples for
    budget_draws: int = 5  # of each plan
    with_original: bool = False  # whether the question's own text is a wording in plans and in the wording's share
    variants: tuple[str, ...] | None = None  # these alone, as if no other had been asked; None: all
    forms: tuple[str, ...] = ()  # estimators beside the usual ones, such as semantic_entropy.likelihood
    graders: tuple[str, ...] = ()  # whose grades of the same answers are compared; "all": all that a cell has

    def __post_init__(self) -> None:
        check_word("compat", self.compat, (*get_args(Compat), *get_args(AskedCompat)))
        check_word("reduction", self.reduction, get_args(Reduction))
        check_word("ties", self.ties, get_args(Ties))
        check_word("cluster", self.cluster, get_args(ClusterKind))
        check_word("calibrate", self.calibrate, get_args(Calibrate))
        if not 0 <= self.threshold <= 1:
            raise UsageError(f"--parse-threshold must lie within 0 and 1; got {self.threshold}")
        if self.window is not None and self.window < 1:
            raise UsageError(f"--window must be at least 1 token; got {self.window}")
        for answers in self.budget:
            if answers < 2:
                raise UsageError(f"--budget: plans of {answers} answers have nothing to choose; give 2 or more")
        if self.budget_draws < 1:
            raise UsageError(f"--budget-draws must be at least 1; got {self.budget_draws}")

    @property
    def score_rules(self) -> Compat | None:
        """The rules of a paper on scores, if `compat` is such."""
        return next((name for name in get_args(Compat) if name == self.compat), None)

    @property
    def by_paper(self) -> bool:
        """Whether the rules are those of the audit's paper: readers, pairing, plain percentiles, but no window."""
        return self.compat == "audit2026"

    @property
    def by_study(self) -> bool:
        """Whether the rules are those of the study of science questions: what is read, what is left out, its errors."""
        return self.compat == "science2026"

    @property
    def evaluators(self) -> tuple[str, ...]:
        """The readers of choices, the one that confidences go by first."""
        if self.readers is not None:
            return self.readers
        return (FIRST_CHAR, FIRST_MARKER, CONSTRAINED) if self.by_paper else READERS

    def shows(self, reader: str) -> bool:
        """Whether a reader stands in tables and figures; one of the audit does by its rules, or where it is named."""
        return reader not in OF_THE_AUDIT or self.by_paper or reader in (self.readers or ())


DEFAULT_OPTIONS = ReportOptions()


def check_rules(compat: str | None, kind: RunKind) -> None:
    """Raise UsageError for the rules of a paper that are of runs of the other kind."""
    if kind == "asked" and compat in get_args(Compat):
        names = " or ".join(get_args(AskedCompat))
        raise UsageError(f"--compat {compat} is of scores; for runs of replies there is --compat {names}")
    if kind == "scored" and compat in get_args(AskedCompat):
        raise UsageError(f"--compat {compat} is of runs of replies; leave it out")


@dataclass(frozen=True, slots=True)
class CompareOptions:
    """Which runs to compare with which, over what, and how to read them."""

    # By label, of one run by estimator; all: every two; None: two runs, or of more each masked with a causal one.
    pairs: tuple[Pair, ...] | Literal["all"] | None = None
    intersect: bool = False  # compare what two runs have in common, where they are not alike
    by_domain: bool = False  # every domain, not only that of the nearest accuracies
    estimators: tuple[str, ...] | None = None  # None: base, margin and average_min, as far as the templates give them
    # How scores and replies are read; cluster None: by relation where there are 30 or more, else by instance.
    scores: ReportOptions = DEFAULT_OPTIONS
    metrics: tuple[str, ...] | None = (
        None  # by the names of `report --json`; None: brier and ace, of one run accuracy too
    )
    baseline: str | None = None  # label that all others are compared with, of one run an estimator; instead of `pairs`
    templates: tuple[tuple[int, int], ...] | None = None  # of one run: pairs of template numbers
    margin: float | None = None  # that differences are tested to lie within; None: no test of equivalence
    # The one that stars and notes go by; results have both. None: max-t of one run, which has many tests, else holm.
    correction: Correction | None = None

    def __post_init__(self) -> None:
        if self.margin is not None and not self.margin > 0:
            raise UsageError(f"margin must be above 0; got {self.margin}")
        if self.baseline is not None and self.pairs is not None:
            raise UsageError("--pairs and --baseline contradict each other: give one of them")
        check_word("correction", self.correction, get_args(Correction))


DEFAULT_COMPARISON = CompareOptions()


def metrics_of(options: ReportOptions) -> tuple[Metric, ...]:
    """The metrics of a report's columns: standard ones, without references of smooth ECE; those of a study."""
    metrics = tuple(
        metric for metric in standard_metrics(options.ace_bins) if getattr(metric, "of", "") != SMOOTH_ECE.name
    )
    return (*metrics, *place_metrics(), frequency_ece(FREQUENCY_BINS - 1)) if options.by_study else metrics
