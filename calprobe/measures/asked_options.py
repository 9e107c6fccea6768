"""What to compute of asked runs, and by which rules."""

from __future__ import annotations

from dataclasses import dataclass, field

from calprobe.cells.cell_readers import CONSTRAINED
from calprobe.errors import UsageError
from calprobe.measures.covariates import Covariate, SliceTree
from calprobe.metrics import ACE_BINS, Metric, Resampling, standard_metrics
from calprobe.metrics.concentration import FREQUENCY_BINS, frequency_ece, place_metrics
from calprobe.metrics.smooth_ece import SMOOTH_ECE
from calprobe.words import AskedCompat, Calibrate, Recalibration

PARSE_THRESHOLD = 0.80  # the study's: a cell that reads less of its stated confidences leaves the means over cells
FIRST_CHAR, LAST_MARKER = "first_char", "last_marker"
FIRST_MARKER = "first_marker"  # the first repair of the paper
OF_THE_AUDIT = (FIRST_CHAR, FIRST_MARKER)  # by the paper's rules, which take a letter of a word for an answer
ALL_GRADERS = "all"
READERS = (LAST_MARKER, FIRST_CHAR, CONSTRAINED)  # of choices; the first is the one that confidences go by


@dataclass(frozen=True, slots=True)
class AskedOptions:
    """How to read replies and what to compute of them."""

    readers: tuple[str, ...] | None = None  # confidences go by the first; None: see `evaluators`
    compat: AskedCompat | None = None  # the rules of a paper: see `by_paper`, and `studies.stated.reliability`
    threshold: float = PARSE_THRESHOLD
    window: int | None = None  # only labels among so many most probable tokens are seen; None: all that are known
    ace_bins: int | None = ACE_BINS
    resampling: Resampling = field(default_factory=Resampling)
    calibrate: Calibrate | None = None  # a map from uncertainties to confidences, fitted on other questions
    budget: tuple[int, ...] = ()  # numbers of answers to plan wordings and samples for
    budget_draws: int = 5  # of each plan
    with_original: bool = False  # whether the question's own text is a wording in plans and in the wording's share
    variants: tuple[str, ...] | None = None  # these alone, as if no other had been asked; None: all
    forms: tuple[str, ...] = ()  # estimators beside the usual ones, such as semantic_entropy.likelihood
    by: Covariate | SliceTree | None = None  # what questions are sliced by; None: no slices
    slice_bins: int | None = None  # `ace_bins` of slices, which have few rows
    recalibrate: Recalibration | None = None  # a map of confidences, fitted on other questions
    graders: tuple[str, ...] = ()  # whose grades of the same answers are compared; `ALL_GRADERS`: all that a cell has

    def __post_init__(self) -> None:
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


DEFAULT_ASKED = AskedOptions()


def metrics_of(options: AskedOptions) -> tuple[Metric, ...]:
    """The metrics of a report's columns: standard ones, without references of smooth ECE; those of a study."""
    metrics = tuple(
        metric for metric in standard_metrics(options.ace_bins) if getattr(metric, "of", "") != SMOOTH_ECE.name
    )
    return (*metrics, *place_metrics(), frequency_ece(FREQUENCY_BINS - 1)) if options.by_study else metrics
