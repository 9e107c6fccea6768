"""How much of a model's uncertainty comes from the wording: the decomposition over a run's paraphrases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from calprobe.arrays import Floats, Ints
from calprobe.confidence.distributions import Distributions
from calprobe.confidence.single_template import entropies
from calprobe.confidence.types import rows_of_paraphrases

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from calprobe.runs import Run, ScoreTable
    from calprobe.runs.run import Compat, Reduction

RHO_EPSILON = 1e-4  # the paper's; keeps rho defined where there is no uncertainty at all


@dataclass(frozen=True, slots=True)
class Decomposition:
    """The uncertainty of each instance, [instances] each: total = aleatoric + epistemic. NaN where scores failed."""

    total: Floats  # of the mean distribution over the templates
    aleatoric: Floats  # within a template, mean over the templates

    @property
    def epistemic(self) -> Floats:
        """Between templates, total minus aleatoric, [instances]: 0 where all templates give one distribution."""
        # Never negative, but for the rounding of two nearly equal sums.
        return np.maximum(self.total - self.aleatoric, 0.0)

    @property
    def rho(self) -> Floats:
        """The prompt-sensitivity ratio `(epistemic + 1e-4) / (total + 2e-4)`, [instances], in (0, 1).

        Higher is more sensitive to the wording; 1/2 where the model is certain of one answer under all templates.
        """
        return (self.epistemic + RHO_EPSILON) / (self.total + 2 * RHO_EPSILON)


def entropy_decomposition(distributions: Distributions, rows: Sequence[int]) -> Decomposition:
    """Entropy over the candidates: total `H(mean_t p_t)`, aleatoric `mean_t H(p_t)`, `H(p) = -sum_k p_k ln p_k`.

    Cox et al. 2025, "Mapping from Meaning", equations 5, 7 and 11, on the closed set: exact, with nothing sampled. The
    epistemic part is the mutual information of answer and template (the Jensen-Shannon divergence of the templates).

    Args:
        distributions: of any number of instances.
        rows: the rows of `distributions.probabilities` to decompose over, the run's paraphrases; one at least.
    Returns:
        Nats, higher is less certain. With K candidates and T rows total and aleatoric lie in [0, ln K], epistemic in
        [0, min(ln K, ln T)]; divide by ln K to compare answer spaces of different size. One row: epistemic 0. An
        instance with NaN probabilities under one of the rows is NaN.
    Raises:
        ValueError: no rows.

    >>> spaces = Distributions.from_scores(np.log([[0.5, 0.5, 0.9, 0.1], [0.5, 0.5, 0.1, 0.9]]), [0, 2, 4], [0, 0])
    >>> found = entropy_decomposition(spaces, rows=[0, 1])
    >>> found.total.round(3).tolist(), found.aleatoric.round(3).tolist(), found.epistemic.round(3).tolist()
    ([0.693, 0.693], [0.693, 0.325], [0.0, 0.368])
    """
    return _decompose(distributions, rows, entropies)


def variance_decomposition(distributions: Distributions, rows: Sequence[int]) -> Decomposition:
    """Variance of the one-hot answer, `V(p) = 1 - sum_k p_k^2`: total `V(mean_t p_t)`, aleatoric `mean_t V(p_t)`.

    Cox et al. 2025, "Mapping from Meaning", equations 9 to 11, the trace of the covariance, where each candidate is its
    own axis in place of an embedding: exact, with nothing sampled. `V` is the chance that two draws differ (Gini).

    Arguments, errors and NaN are those of `entropy_decomposition`; higher is less certain. With K candidates and T rows
    total and aleatoric lie in [0, 1 - 1/K], epistemic in [0, 1 - 1/T] too; divide by 1 - 1/K to compare answer spaces
    of different size.

    >>> spaces = Distributions.from_scores(np.log([[0.5, 0.5, 0.9, 0.1], [0.5, 0.5, 0.1, 0.9]]), [0, 2, 4], [0, 0])
    >>> found = variance_decomposition(spaces, rows=[0, 1])
    >>> found.total.round(3).tolist(), found.aleatoric.round(3).tolist(), found.epistemic.round(3).tolist()
    ([0.5, 0.5], [0.5, 0.18], [0.0, 0.32])
    """
    return _decompose(distributions, rows, _variances)


def _variances(probabilities: Floats, offsets: Ints) -> Floats:
    """`1 - sum_k p_k^2` of each instance's distribution, [templates, candidates] -> [templates, instances]."""
    # sum p (1 - p) is the same where p sums to 1, and is never negative.
    variances: Floats = np.add.reduceat(probabilities * (1 - probabilities), offsets[:-1], axis=-1)
    return variances


def _decompose(
    distributions: Distributions, rows: Sequence[int], uncertainty: Callable[[Floats, Ints], Floats]
) -> Decomposition:
    if not len(rows):
        raise ValueError("rows must name at least one template; got none")
    chosen = distributions.probabilities[list(rows)]
    (total,) = uncertainty(chosen.mean(axis=0, keepdims=True), distributions.offsets)
    return Decomposition(total, uncertainty(chosen, distributions.offsets).mean(axis=0))


def uncertainties(
    source: Run | ScoreTable | str | Path, reduction: Reduction = "sum", compat: Compat | None = None
) -> pd.DataFrame:
    """Both decompositions of every instance's uncertainty over the run's paraphrases.

    Args:
        source: a run's folder, a run (`calprobe.open_run`), or the score table of one, which has its reduction already.
        reduction: of token scores to a statement's: sum, mean, sum_answer, mean_answer (docs/methods/estimators.md,
            "Reductions of token scores").
        compat: "kissling2026" leaves the first scored token of each statement out, as lm-pub-quiz 0.3 does.
    Returns:
        A row an instance: relation (str), instance (int32, line number in the relation's file), candidates (int32, K),
        and float64 entropy_total, entropy_aleatoric, entropy_epistemic (nats), entropy_rho, and the same four for
        variance; NaN where scores failed. Sorted by relation and instance. One paraphrase: epistemic 0. A run without
        any paraphrase, or without a complete relation, has no rows.
    Raises:
        ValueError: no such reduction or compat. DataMissingError: no run at the path. CalprobeError: the run is an
            import without the scores this needs.

    >>> from calprobe.runs import ScoreTable
    >>> from calprobe.runs import TemplateRecord
    >>> paraphrases, p30 = (TemplateRecord(0, "paraphrase"), TemplateRecord(1, "paraphrase")), np.array(["P30"])
    >>> scores = np.log([[0.9, 0.1], [0.1, 0.9]])
    >>> table = ScoreTable(scores, np.array([0, 2]), np.array([0]), p30, np.array([7]), paraphrases)
    >>> uncertainties(table)[["instance", "candidates", "variance_total", "variance_rho"]].round(3).values.tolist()
    [[7.0, 2.0, 0.5, 0.64]]
    """
    import pandas as pd

    from calprobe.runs.run import read_table

    table = read_table(source, reduction, compat)
    rows = rows_of_paraphrases(table.templates)
    distributions = Distributions.from_table(table)
    order = np.lexsort((table.instance, table.relation)) if rows else np.zeros(0, np.intp)
    columns = {
        "relation": table.relation[order].astype(object),
        "instance": table.instance[order].astype(np.int32),
        "candidates": distributions.widths[order].astype(np.int32),
    }
    for form, decompose in (("entropy", entropy_decomposition), ("variance", variance_decomposition)):
        decomposition = decompose(distributions, rows) if rows else Decomposition(np.zeros(0), np.zeros(0))
        for name in ("total", "aleatoric", "epistemic", "rho"):
            columns[f"{form}_{name}"] = getattr(decomposition, name)[order]
    return pd.DataFrame(columns)
