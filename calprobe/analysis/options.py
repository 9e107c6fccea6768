"""What to compute: the options of reports, slices and comparisons. Everything else in this package builds on these."""

from __future__ import annotations

from dataclasses import dataclass, field

from calprobe.metrics import ACE_BINS, Resampling
from calprobe.words import ClusterKind, Compat, Reduction, SliceKind

Pair = tuple[str, str]  # labels of two runs


@dataclass(frozen=True, slots=True)
class SliceOptions:
    """What to cut a run's instances by, and which estimators to show of each slice."""

    by: SliceKind
    estimators: tuple[str, ...] | None = None  # None: base, margin and average_min, as far as the templates give them


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """How to read the scores and what to compute of them."""

    reduction: Reduction = "sum"  # of token scores to a statement's
    compat: Compat | None = None  # kissling2026: without each statement's first scored token
    ace_bins: int = ACE_BINS  # quantile bins
    resampling: Resampling = field(default_factory=Resampling)
    cluster: ClusterKind | None = None  # how resamples go by relation; None: they draw single instances
    slices: SliceOptions | None = None  # None: none


DEFAULT_OPTIONS = ReportOptions()


@dataclass(frozen=True, slots=True)
class CompareOptions:
    """Which runs to compare with which, over what, and how to read their scores."""

    pairs: tuple[Pair, ...] | None = None  # by label; None: the two runs, or of more each masked with a causal one
    intersect: bool = False  # compare what two runs have in common, where they are not alike
    by_domain: bool = False  # every domain, not only that of the nearest accuracies
    estimators: tuple[str, ...] | None = None  # None: margin and average_min, as far as the templates give them
    scores: ReportOptions = DEFAULT_OPTIONS


DEFAULT_COMPARISON = CompareOptions()
