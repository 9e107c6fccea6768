"""What to compute: the options of reports, slices and comparisons. Everything else in this package builds on these."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from calprobe.errors import UsageError
from calprobe.measures.calibration_file import CalibrationFile
from calprobe.measures.covariates import Covariate, SliceTree
from calprobe.metrics import ACE_BINS, Resampling
from calprobe.words import ClusterKind, Compat, Correction, Recalibration, Reduction, SliceKind, Ties

Pair = tuple[str, str]  # labels of two runs


@dataclass(frozen=True, slots=True)
class SliceOptions:
    """What to cut a run's instances by, and which estimators to show of each slice."""

    by: SliceKind | Covariate | SliceTree
    estimators: tuple[str, ...] | None = None  # None: base, margin and average_min, as far as the templates give them


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """How to read the scores and what to compute of them."""

    reduction: Reduction = "sum"  # of token scores to a statement's
    compat: Compat | None = None  # kissling2026: without each statement's first scored token
    ace_bins: int | None = ACE_BINS  # quantile bins; None: by the number of instances, `bins_for`
    resampling: Resampling = field(default_factory=Resampling)
    cluster: ClusterKind | None = (
        None  # how resamples go by relation; None: they draw single instances, see also compare
    )
    slices: SliceOptions | None = None  # None: none
    ties: Ties = "draw"  # which of the candidates that share the largest score is the prediction
    # Maps of confidences, fitted on other relations or given in a file; None: none.
    recalibrate: Recalibration | CalibrationFile | None = None
    slice_bins: int | None = None  # `ace_bins` of slices, which have few instances


DEFAULT_OPTIONS = ReportOptions()


@dataclass(frozen=True, slots=True)
class CompareOptions:
    """Which runs to compare with which, over what, and how to read their scores."""

    # By label, of one run by estimator; all: every two; None: two runs, or of more each masked with a causal one.
    pairs: tuple[Pair, ...] | Literal["all"] | None = None
    intersect: bool = False  # compare what two runs have in common, where they are not alike
    by_domain: bool = False  # every domain, not only that of the nearest accuracies
    estimators: tuple[str, ...] | None = None  # None: margin and average_min, as far as the templates give them
    scores: ReportOptions = DEFAULT_OPTIONS  # cluster None: by relation where there are 30 or more, else by instance
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


DEFAULT_COMPARISON = CompareOptions()
