"""Prompt sensitivity: how far a run's numbers move with the wording of its paraphrases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats
from calprobe.cells.cell import Labels
from calprobe.cells.opening import RunLike
from calprobe.cells.scored import ClosedSet, cluster_labels, read_scores
from calprobe.confidence import (
    answer_deviation,
    answer_fidelity,
    base_confidence,
    base_correlation,
)
from calprobe.confidence.types import default_row, rows_of_paraphrases
from calprobe.errors import UsageError
from calprobe.measures.estimates import mean_estimate
from calprobe.measures.json_values import estimate_json, number_json
from calprobe.measures.options import DEFAULT_OPTIONS, ReportOptions
from calprobe.metrics import Estimate, accuracy, ace
from calprobe.runs import ScoreTable


@dataclass(frozen=True, slots=True)
class PromptSensitivity:
    """What the wording changes, over all instances of a run. One paraphrase or no instances: NaN but for `accuracy`,
    `ace` and the diagonal of `correlation`, which a single paraphrase has."""

    templates: tuple[int, ...]  # numbers of the paraphrases, ascending
    reference: int  # number of the template that `msd` and `fidelity` follow
    instances: int
    failed: int  # of them, left out of `msd`, `fidelity` and `correlation`: no scores under one of the templates
    accuracy: Floats  # [templates], of base; [0, 1]
    ace: Floats  # [templates], of base; [0, 1]
    msd: Estimate  # mean standard deviation of the confidence in the reference's answer; [0, 0.71], smaller is steadier
    fidelity: Estimate  # share of pairs where that answer beats a random other candidate; [0, 1], higher is better
    correlation: Floats  # [templates, templates], Pearson's, of base; [-1, 1], higher is steadier
    accuracy_sd: float = float("nan")  # of the templates' accuracies without chance, `template_sd`; [0, 0.71]

    @property
    def accuracy_spread(self) -> float:
        """Highest minus lowest accuracy; [0, 1], smaller is steadier, NaN with fewer than two paraphrases."""
        return _spread(self.accuracy)

    @property
    def ace_spread(self) -> float:
        """Highest minus lowest ACE; [0, 1], smaller is steadier, NaN with fewer than two paraphrases."""
        return _spread(self.ace)

    @property
    def mean_correlation(self) -> float:
        """Mean of `correlation` over the pairs of paraphrases; NaN without a pair, or where one is NaN."""
        pairs = self.correlation[np.triu_indices(len(self.templates), k=1)]
        return float(pairs.mean()) if len(pairs) else float("nan")

    def to_json(self) -> dict[str, Any]:
        """What `calprobe report --json` says under `sensitivity`: lists go by `templates`, NaN is None."""
        return {
            "templates": list(self.templates),
            "reference": self.reference,
            "failed": self.failed,
            "accuracy": [number_json(value) for value in self.accuracy],
            "accuracy_spread": number_json(self.accuracy_spread),
            "accuracy_sd": number_json(self.accuracy_sd),
            "ace": [number_json(value) for value in self.ace],
            "ace_spread": number_json(self.ace_spread),
            "msd": estimate_json(self.msd),
            "fidelity": estimate_json(self.fidelity),
            "correlation": [[number_json(value) for value in row] for row in self.correlation],
            "mean_correlation": number_json(self.mean_correlation),
        }


def prompt_sensitivity(source: RunLike | ScoreTable, options: ReportOptions = DEFAULT_OPTIONS) -> PromptSensitivity:
    """Spread of accuracy and ACE, MSD, correlation of base, and fidelity over a run's paraphrases.

    Definitions and sources: docs/methods/estimators.md, "Prompt sensitivity". The reference is template 0, else the
    first paraphrase, as for base. Accuracy and ACE are those of base under one paraphrase after the other, over all
    instances (a failed one is incorrect with confidence 0).

    Args:
        source: a run, open or by path, or a table of its scores, which has its reduction already.
        options: reduction, compat, number of ACE bins; resamples and seed of the intervals of MSD and fidelity;
            their draws take that seed too. The spreads have no interval: a resample's spread is biased upwards.
    Raises:
        UsageError: the run has no paraphrase. DataMissingError, CalprobeError: as `report`.

    >>> from calprobe.runs import TemplateRecord
    >>> paraphrases = (TemplateRecord(0, "paraphrase"), TemplateRecord(1, "paraphrase"))
    >>> scores = np.log([[0.9, 0.1, 0.6, 0.4], [0.7, 0.3, 0.2, 0.8]])
    >>> relation, instance = np.array(["P30", "P30"]), np.array([0, 1])
    >>> found = prompt_sensitivity(
    ...     ScoreTable(scores, np.array([0, 2, 4]), np.array([0, 0]), relation, instance, paraphrases)
    ... )
    >>> found.accuracy.tolist(), found.accuracy_spread, round(found.msd.value, 3), found.fidelity.value
    ([1.0, 0.5], 0.5, 0.212, 0.5)
    """
    table = read_scores(source, options)
    return sensitivity_of(ClosedSet(table, options.ties), options, cluster_labels(table.relation, options))


def sensitivity_of(evidence: ClosedSet, options: ReportOptions, clusters: Labels | None = None) -> PromptSensitivity:
    """`prompt_sensitivity` of scores that are open already, intervals by clusters with these labels."""
    templates, distributions = evidence.table.templates, evidence.distributions
    rows = rows_of_paraphrases(templates)
    reference = default_row(templates)
    if reference is None or not rows:
        raise UsageError("prompt sensitivity: the run has no paraphrase; score it with `--templates paraphrases`")
    base = [base_confidence(distributions, row) for row in rows]
    deviation = answer_deviation(distributions, rows, reference)
    fidelity = answer_fidelity(distributions, rows, reference, options.resampling.seed)
    return PromptSensitivity(
        templates=tuple(templates[row].number for row in rows),
        reference=templates[reference].number,
        instances=distributions.n_instances,
        failed=int(np.isnan(distributions.peak([*rows, reference]).largest).any(axis=0).sum()),
        accuracy=np.array([accuracy(confidence.confidence, confidence.correct).value for confidence in base]),
        ace=np.array([ace(confidence.confidence, confidence.correct, options.ace_bins).value for confidence in base]),
        msd=mean_estimate(deviation, ~np.isnan(deviation), options.resampling, clusters),
        fidelity=mean_estimate(fidelity, ~np.isnan(fidelity), options.resampling, clusters),
        correlation=base_correlation(distributions, rows),
        accuracy_sd=template_sd(np.array([confidence.correct for confidence in base])),
    )


def template_sd(correct: npt.ArrayLike) -> float:
    """Standard deviation of accuracy over templates of the same kind, with what chance adds taken out.

    `sqrt(max(0, (MS_t - MS_r) / n))` with the mean squares of templates and of the residual in the two-way table of n
    instances by templates: the variance component of templates. Unlike the spread it does not grow with the number of
    templates, and it is 0 where templates differ by no more than chance makes them. Source: Searle, Casella, McCulloch
    1992, "Variance Components", chapter 4.

    Args:
        correct: [templates, instances], 0 or 1.
    Returns:
        A number in [0, 0.71]; NaN with fewer than two templates or instances.

    >>> round(template_sd([[1, 1, 1, 0], [0, 0, 1, 0]]), 3)
    0.289
    """
    table = np.asarray(correct, dtype=np.float64)
    n_templates, n_instances = table.shape
    if n_templates < 2 or n_instances < 2:
        return float("nan")
    of_template, of_instance = table.mean(axis=1, keepdims=True), table.mean(axis=0, keepdims=True)
    residual = table - of_template - of_instance + table.mean()
    by_chance = float((residual**2).sum()) / ((n_templates - 1) * (n_instances - 1))
    between = n_instances * float(of_template.var(ddof=1))
    return float(np.sqrt(max(0.0, (between - by_chance) / n_instances)))


def _spread(values: Floats) -> float:
    return float(np.ptp(values)) if len(values) > 1 else float("nan")
