"""Level and power of the tests of `calprobe compare`: corrections for many p-values, and what is resampled.

Prints Markdown tables (docs/methods/intervals-and-tests.md says what they show), percent of the trials.

    python bench/comparison_tests.py correction --trials 200
    python bench/comparison_tests.py relations --trials 150

correction: two models on the same instances, each with two estimators (a confidence, and its square), by accuracy,
Brier score and NLL, over all instances and over a third of them, a domain: 12 tests as in a table of `compare`. "any"
is the share of trials with a corrected p-value below 0.05; with equal models that is the level. "each" is the mean
share of the tests. relations: two models that are equal on average, of which each is better in some relations: how
often p is below 0.05 by instances and by relations.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from calprobe.arrays import Floats
from calprobe.metrics import PairedDraws, Resampling, holm, max_t, paired_differences, paired_draws

sys.path.append(str(Path(__file__).resolve().parent))  # PYTHONSAFEPATH leaves the script's folder out
from harness.trials import (
    BELOW,
    Predictions,
    Trials,
    named,
    print_head,
    print_shares,
    print_table,
    two_models,
)

METRICS = named(("accuracy", "brier", "nll"))
BY_RELATION = named(("accuracy", "ace", "brier"))


def print_correction(trials: Trials) -> None:
    """Level and power without a correction, under Holm's, and under max-T."""
    print_head("gaps", "uncorrected: any", "each", "Holm: any", "each", "max-T: any", "each")
    for gaps in ((0.1, 0.1), (0.1, 0.14), (0.1, 0.18)):
        rng = np.random.default_rng([31, round(gaps[1] * 100)])
        found: dict[str, list[Floats]] = {"none": [], "holm": [], "max-t": []}
        for resampling in trials:
            tests = list(differences(two_models(rng, trials.instances, gaps, lowest=0.2), resampling))
            p_values = np.array([test.difference().p_value for test in tests])
            by_resamples = max_t([test.statistic for test in tests], [test.null_statistics() for test in tests])
            found["none"].append(p_values)
            found["holm"].append(holm(p_values))
            found["max-t"].append(np.maximum(by_resamples, p_values))
        cells = []
        for values in found.values():
            below = np.array(values) < BELOW
            cells.append(f"{100 * below.any(axis=1).mean():.0f} | {100 * below.mean():.0f}")
        print(f"| {gaps[0]:.2f}, {gaps[1]:.2f} |", " | ".join(cells), "|", flush=True)


def differences(models: dict[str, Predictions], resampling: Resampling) -> Iterator[PairedDraws]:
    """Those of two estimators of two models by three metrics, over all instances and over a third of them."""
    samples = {f"{name} base": own for name, own in models.items()}
    samples |= {f"{name} square": (confidence**2, correct) for name, (confidence, correct) in models.items()}
    n_instances = len(models["first"][0])
    for kept in (slice(0, n_instances), slice(0, n_instances // 3)):
        some = {name: (confidence[kept], correct[kept]) for name, (confidence, correct) in samples.items()}
        pairs = [("first base", "second base"), ("first square", "second square")]
        for own in paired_draws(METRICS, some, pairs, resampling).values():
            yield from own.values()


def print_relations(trials: Trials) -> None:
    """How often equal models differ, by what is resampled."""
    named = " | ".join(f"{metric.name} by instances | by relations" for metric in BY_RELATION)
    print(f"| relations | sd | {named} |")
    print("|---:|---:|" + "---:|---:|" * len(BY_RELATION))
    for n_relations, spread in ((60, 0.0), (60, 0.1), (30, 0.1), (15, 0.1), (10, 0.1)):
        rng = np.random.default_rng([32, n_relations, round(spread * 100)])
        below = []
        for resampling in trials:
            relation, models = models_by_relation(rng, trials.instances, n_relations, spread)
            row = []
            for clusters in (None, relation):
                pair = paired_differences(BY_RELATION, models, [("a", "b")], resampling, clusters)
                row.append([own.p_value < BELOW for own in pair["a", "b"].values()])
            below.append(np.array(row).T.ravel())
        print_shares(f"{n_relations} | {spread:.1f}", below)


def models_by_relation(
    rng: np.random.Generator, n_instances: int, n_relations: int, spread: float
) -> tuple[Floats, dict[str, Predictions]]:
    """The relation of each instance, and two models with accuracies that differ by relation but not on average."""
    relation = rng.integers(n_relations, size=n_instances)
    advantage = rng.normal(0, spread, n_relations)[relation] / 2
    confidence = rng.uniform(0.25, 0.75, n_instances)
    samples = {}
    for name, sign in (("a", 1), ("b", -1)):
        samples[name] = confidence, (rng.random(n_instances) < confidence + sign * advantage).astype(np.float64)
    return relation.astype(np.float64), samples


TABLES = {"correction": print_correction, "relations": print_relations}

if __name__ == "__main__":
    print_table(__doc__, TABLES, Trials(500, 200, 1000))
