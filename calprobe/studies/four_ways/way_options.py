"""What to compare of runs over the same facts."""

from __future__ import annotations

from dataclasses import dataclass

from calprobe.errors import UsageError
from calprobe.measures.options import DEFAULT_COMPARISON, CompareOptions
from calprobe.metrics.error_shown import ERRORS, with_chance

METRICS = ("accuracy", "mean_confidence", "brier", *(name for error in ERRORS for name in with_chance(error)), "auroc")
EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class FourWaysOptions:
    """Which confidences to compare, and how.

    Of `compare` these are read: estimators (those that runs of scores know choose theirs, the others those of runs of
    replies), metrics, pairs (None or "all"), margin, correction, and how scores and replies are read and resampled.
    """

    compare: CompareOptions = DEFAULT_COMPARISON
    variants: tuple[str, ...] | None = None  # of runs of replies; None: all
    examples: int = EXAMPLES  # facts that are listed of each kind

    def __post_init__(self) -> None:
        if isinstance(self.compare.pairs, tuple):
            raise UsageError(
                "--pairs names pairs of runs of one kind; of the same facts in several ways, give all or auto"
            )
        if self.examples < 0:
            raise UsageError(f"examples must be at least 0; got {self.examples}")


DEFAULT_FOUR_WAYS = FourWaysOptions()
