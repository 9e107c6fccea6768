"""How correctness and confidence go with a covariate: Spearman's correlation over all instances that have a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats
from calprobe.cells.cell import Labels
from calprobe.measures.covariates import Covariate
from calprobe.measures.json_values import value_json
from calprobe.metrics import Estimate, Resampling
from calprobe.metrics.bootstrap import Predictions
from calprobe.metrics.correlation import correlation
from calprobe.metrics.intervals import UNDEFINED

LEAST = 10  # instances: the order of fewer says nothing, and their resamples are mostly ties


@dataclass(frozen=True, slots=True)
class Trend:
    """Spearman's rho of a covariate with three quantities of each instance, each in [-1, 1]."""

    JSON: ClassVar = "instances correct confidence confidence_gap=gap"

    instances: int  # with a value and a confidence, several answers to a question being one; no rho of fewer than LEAST
    correct: Estimate
    confidence: Estimate
    gap: Estimate  # with confidence - correct: above 0, overconfidence grows with the covariate


def covariate_json(covariate: Covariate, lacking: int, found: Mapping[str, Trend]) -> dict[str, Any]:
    """What `calprobe report --by FILE --json` says under `covariate`; `lacking` have no value."""
    return {
        "file": covariate.file,
        "column": covariate.name,
        "kind": "numbers" if covariate.numeric else "categories",
        "without_value": lacking,
        "trend": value_json(found),
    }


def trends(
    values: Floats,
    samples: Mapping[str, Predictions],
    resampling: Resampling,
    clusters: Labels | None,
    questions: npt.NDArray[np.str_] | None = None,
) -> dict[str, Trend]:
    """The trend of each estimator, by name, with 95 % bootstrap intervals; NaN with fewer than LEAST instances.

    Args:
        values: [instances], NaN where an instance has none.
        samples: by name, confidence and correct, [instances]. A NaN confidence is left out.
        resampling: number of resamples, and seed.
        clusters: [instances], or None, as `correlation`.
        questions: [instances], what each is an answer to, where several are to one; None: each to another.
    """
    present = ~np.isnan(values)
    # Ranks depend on order alone. Numbers far apart or close together would meet the tolerance of correlations.
    places = np.full(len(values), np.nan)
    places[present] = np.unique(values[present], return_inverse=True)[1].reshape(-1)
    by_name = {}
    for name, (confidences, right) in samples.items():
        confidence, correct = np.asarray(confidences, np.float64), np.asarray(right, np.float64)
        kept = present & ~np.isnan(confidence)
        instances = int(kept.sum()) if questions is None else len(np.unique(questions[kept]))
        if instances < LEAST:
            by_name[name] = Trend(instances, *[UNDEFINED] * 3)
            continue
        correct = np.where(np.isnan(confidence), np.nan, correct)
        rho = (
            correlation(places, column, resampling, clusters).of_ranks
            for column in (correct, confidence, confidence - correct)
        )
        by_name[name] = Trend(instances, *rho)
    return by_name
