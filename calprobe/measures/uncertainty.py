"""How unsure a model is of its answers, and how much of that the wording makes: means over a run's instances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calprobe.arrays import Floats
from calprobe.cells.cell import Labels
from calprobe.confidence import Distributions, entropy_decomposition
from calprobe.measures.estimates import mean_estimate
from calprobe.measures.json_values import estimate_json, number_json
from calprobe.measures.options import ReportOptions
from calprobe.metrics import Estimate

PARTS = ("total", "aleatoric", "epistemic")


@dataclass(frozen=True, slots=True)
class MeanUncertainty:
    """Means over the instances of the entropy decomposition over the paraphrases: total = aleatoric + epistemic.

    docs/methods/estimators.md, "Uncertainty within and between paraphrases". Smaller is surer; NaN without instances.
    """

    instances: int  # without those that failed under a paraphrase
    nats: tuple[float, float, float]  # of the entropies, in the order of PARTS
    total: Estimate  # of entropy / ln K: instances with one candidate are left out; [0, 1], as the next two
    aleatoric: Estimate  # within a paraphrase
    epistemic: Estimate  # between paraphrases
    rho: float  # share that the wording has; (0, 1), smaller is steadier

    def to_json(self) -> dict[str, Any]:
        """What `calprobe report --json` says under `uncertainty`; NaN is None."""
        return {
            "instances": self.instances,
            "entropy": {part: number_json(value) for part, value in zip(PARTS, self.nats, strict=True)},
            "normalised_entropy": {part: estimate_json(getattr(self, part)) for part in PARTS},
            "rho": number_json(self.rho),
        }


def mean_uncertainty(
    distributions: Distributions, rows: Sequence[int], options: ReportOptions, clusters: Labels | None = None
) -> MeanUncertainty:
    """The mean decomposition over the templates of these rows, the run's paraphrases.

    Entropies in nats grow with K: means over answer spaces of different sizes are those of entropy / ln K, with 95 %
    bootstrap intervals over instances, or over clusters with these labels. Raises ValueError for no rows.

    >>> from calprobe.metrics import Resampling
    >>> spaces = Distributions.from_scores(np.log([[0.5, 0.5, 0.9, 0.1], [0.5, 0.5, 0.1, 0.9]]), [0, 2, 4], [0, 0])
    >>> found = mean_uncertainty(spaces, [0, 1], ReportOptions(resampling=Resampling(0)))
    >>> round(found.total.value, 3), round(found.aleatoric.value, 3), round(found.epistemic.value, 3)
    (1.0, 0.734, 0.266)
    """
    split = entropy_decomposition(distributions, rows)
    complete = ~np.isnan(split.total)
    wide = complete & (distributions.widths > 1)
    parts: dict[str, Floats] = {part: getattr(split, part) for part in PARTS}
    # At most 1 but for rounding.
    largest = np.log(np.maximum(distributions.widths, 2))
    shares = {part: np.minimum(values / largest, 1.0) for part, values in parts.items()}
    total, aleatoric, epistemic = (_mean(values[complete]) for values in parts.values())
    return MeanUncertainty(
        instances=int(complete.sum()),
        nats=(total, aleatoric, epistemic),
        rho=_mean(split.rho[complete]),
        **{part: mean_estimate(values, wide, options.resampling, clusters) for part, values in shares.items()},
    )


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else float("nan")
