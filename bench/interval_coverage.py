"""How often 95 % intervals hold their own value and cover that of a large sample: single, clustered, of differences.

Each prediction is right with probability `confidence - gap`, so that the calibration errors of a large sample follow
from `gap`. Prints a Markdown table (docs/methods/intervals-and-tests.md says what it shows): percent of the trials, and
the intervals' mean width.

    python bench/interval_coverage.py single --instances 800 --trials 300
    python bench/interval_coverage.py clustered
    python bench/interval_coverage.py paired
    python bench/interval_coverage.py samples --instances 60 --trials 1000 --resamples 500
    python bench/interval_coverage.py few --instances 60 --trials 400 --resamples 500

single: confidences uniform on [gap, 1]. Three intervals on the same resamples: the plain percentiles; these shifted by
the bootstrap's bias; and calprobe's. clustered: relations of different sizes and confidences, with an accuracy
uniformly within `spread` of what it should be; intervals from drawing instances, and from drawing relations. paired:
two models on the same instances, of which the second is as noisy as the first or, "surer", has confidences near 0 and 1
only; with the share of small p-values. samples: `--instances` questions of ten samples each, intervals from drawing
questions and from drawing samples; the truth is that of 100,000 questions, an error of 0 where calibrated. few: a fixed
number of right or of wrong answers, logits of confidence being higher by 0.95 in right ones; plain percentiles, which
calprobe does not give below ten.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np

from calprobe.arrays import Floats
from calprobe.metrics import Difference, Estimate, Metric, Resampling, bootstrap, paired_differences
from calprobe.metrics.intervals import defined, percentiles
from calprobe.metrics.metric import evaluate
from calprobe.metrics.resamples import resample_counts
from calprobe.metrics.sample import sort_instances

sys.path.append(str(Path(__file__).resolve().parent))  # PYTHONSAFEPATH leaves the script's folder out
from harness.trials import Predictions, Trials, named, print_head, print_table, two_models

# Value in a large sample by gap, of errors that cannot be negative.
ERRORS: dict[str, Callable[[float], float]] = {
    "ace": lambda gap: gap,
    "ece": lambda gap: gap,
    "max_calibration_error": lambda gap: gap,
    "smooth_ece": lambda gap: gap,
    "debiased_ece": lambda gap: gap,
    "brier_reliability": lambda gap: gap**2,
}
GAPS = (0.0, 0.02, 0.05, 0.1, 0.2)
N_RELATIONS = 60
SAMPLES = 10  # of a question
MANY = 100_000  # questions of the sample that the truth is taken from
KINDS = ("plain", "shifted", "calprobe")


def print_single(trials: Trials) -> None:
    """Each error at each gap, with three kinds of interval."""
    columns = [(f"{kind}: holds", "covers", "width") for kind in KINDS]
    print_head("metric", "gap", *(column for own in columns for column in own))
    metrics = named(ERRORS)
    for gap in GAPS:
        rng = np.random.default_rng([11, round(gap * 100)])
        found: dict[tuple[str, str], list[Estimate]] = {(name, kind): [] for name in ERRORS for kind in KINDS}
        for resampling in trials:
            confidence = rng.uniform(gap, 1, trials.instances)
            sample = confidence, (rng.random(trials.instances) < confidence - gap).astype(np.float64)
            others = percentile_intervals(metrics, sample, resampling)
            for name, ours in bootstrap(metrics, *sample, resampling).items():
                for kind, estimate in zip(KINDS, (*others[name], ours), strict=True):
                    found[name, kind].append(estimate)
        for metric in metrics:
            cells = [cover(found[metric.name, kind], ERRORS[metric.name](gap)) for kind in KINDS]
            print(f"| {metric.title} | {gap:.2f} |", " | ".join(cells), "|", flush=True)


def percentile_intervals(
    metrics: list[Metric], sample: Predictions, resampling: Resampling
) -> dict[str, tuple[Estimate, Estimate]]:
    """By metric name: the plain percentile interval, and the same minus the bootstrap's bias, clipped at 0."""
    instances = sort_instances(*sample)
    values = evaluate(metrics, instances.sample())
    counts = resample_counts(len(instances.order), resampling)
    blocks = [evaluate(metrics, instances.resampled(block)) for block in counts]
    found = {}
    for name, (value,) in values.items():
        resampled = np.concatenate([block[name] for block in blocks])
        resampled = defined(resampled)  # an order of right answers alone is not
        low, high = percentiles(resampled)
        bias = float(resampled.mean()) - value
        found[name] = (Estimate(value, low, high), Estimate(value, max(0.0, low - bias), max(0.0, high - bias)))
    return found


def print_clustered(trials: Trials) -> None:
    """Errors, accuracy and Brier score where relations differ, with intervals by instances and by relations."""
    print_head("metric", "gap", "spread", "instances: covers", "width", "relations: covers", "width")
    metrics = named(("accuracy", "brier", *ERRORS))
    for gap, spread in ((0.0, 0.0), (0.0, 0.15), (0.05, 0.15), (0.1, 0.15)):
        rng = np.random.default_rng([12, round(gap * 100), round(spread * 100)])
        found: dict[tuple[str, bool], list[Estimate]] = {(m.name, by): [] for m in metrics for by in (False, True)}
        means = []
        for resampling in trials:
            relation, sample = relations(rng, trials.instances, gap, spread)
            means.append([np.mean(sample[0]), np.mean(sample[0] ** 2)])
            for by_relation in (False, True):
                clusters = relation if by_relation else None
                for name, estimate in bootstrap(metrics, *sample, resampling, clusters).items():
                    found[name, by_relation].append(estimate)
        mean, square = np.mean(means, axis=0)
        truth = {name: error(gap) for name, error in ERRORS.items()}
        truth |= {"accuracy": mean - gap, "brier": mean - gap - square + 2 * gap * mean}
        for metric in metrics:
            cells = [cover(found[metric.name, by], truth[metric.name]).split(" | ", 1)[1] for by in (False, True)]
            print(f"| {metric.title} | {gap:.2f} | {spread:.2f} |", " | ".join(cells), "|", flush=True)


def relations(rng: np.random.Generator, n_instances: int, gap: float, spread: float) -> tuple[Floats, Predictions]:
    """The relation of each instance, and predictions with an accuracy that each relation shifts."""
    relation = np.sort(rng.choice(N_RELATIONS, n_instances, p=rng.dirichlet(np.full(N_RELATIONS, 5.0))))
    level = rng.random(N_RELATIONS)[relation]
    confidence = gap + spread + (1 - gap - 2 * spread) * (0.6 * level + 0.4 * rng.random(n_instances))
    probability = confidence - gap + rng.uniform(-spread, spread, N_RELATIONS)[relation]
    return relation.astype(np.float64), (confidence, (rng.random(n_instances) < probability).astype(np.float64))


def print_paired(trials: Trials) -> None:
    """Differences of errors and of the Brier score between two models, and p-values."""
    print_head("metric", "gaps", "second", "holds", "covers", "width", "p < 0.05", "p < 0.5", texts=3)
    metrics = named(("brier", *ERRORS))
    rows = [(gap, gap, surer) for gap in (0.0, 0.05, 0.1, 0.2) for surer in (False, True)]
    for first, second, surer in (*rows, (0.0, 0.05, False), (0.0, 0.2, False), (0.02, 0.1, False)):
        rng = np.random.default_rng([13, round(first * 100), round(second * 100)])
        found: dict[str, list[Difference]] = {metric.name: [] for metric in metrics}
        means = []
        for resampling in trials:
            models = two_models(rng, trials.instances, (first, second), surer=surer)
            means.append([brier_of(*models["first"], first), brier_of(*models["second"], second)])
            pair = paired_differences(metrics, models, [("first", "second")], resampling)["first", "second"]
            for name, difference in pair.items():
                found[name].append(difference)
        truth = {name: error(first) - error(second) for name, error in ERRORS.items()}
        truth["brier"] = float(np.subtract(*np.mean(means, axis=0)))
        for metric in metrics:
            p_values = np.array([difference.p_value for difference in found[metric.name]])
            cells = f"{100 * np.mean(p_values < 0.05):.0f} | {100 * np.mean(p_values < 0.5):.0f}"
            kind = "surer" if surer else "alike"
            covered = cover(found[metric.name], truth[metric.name])
            print(f"| {metric.title} | {first:.2f}, {second:.2f} | {kind} | {covered} | {cells} |", flush=True)


def print_samples(trials: Trials) -> None:
    """Metrics of sampled answers, by what is drawn."""
    print_head("metric", "samples of a question", "questions: covers", "width", "samples: covers", "width", texts=2)
    metrics = named(("accuracy", "confidence_gap", "ace", "ece", "brier", "auroc"))
    for name, sampled in (("half of them alike, too sure and too little", _alike), ("all alike, calibrated", _settled)):
        rng = np.random.default_rng([14, len(name)])
        truth = {key: own.value for key, own in bootstrap(metrics, *sampled(rng, MANY), Resampling(0)).items()}
        if sampled is _settled:
            truth |= {"confidence_gap": 0.0, "ace": 0.0, "ece": 0.0}
        question = np.repeat(np.arange(trials.instances), SAMPLES).astype(np.float64)
        found: dict[tuple[str, bool], list[Estimate]] = {(m.name, by): [] for m in metrics for by in (True, False)}
        for resampling in trials:
            sample = sampled(rng, trials.instances)
            for by in (True, False):
                for key, estimate in bootstrap(metrics, *sample, resampling, question if by else None).items():
                    found[key, by].append(estimate)
        for metric in metrics:
            cells = [cover(found[metric.name, by], truth[metric.name]).split(" | ", 1)[1] for by in (True, False)]
            print(f"| {metric.title} | {name} |", " | ".join(cells), "|", flush=True)


def _alike(rng: np.random.Generator, questions: int) -> Predictions:
    """Half of the questions have ten equal samples; confidences scatter about the chance of being right."""
    chance, alike = rng.random((questions, 1)), rng.random((questions, 1)) < 0.5
    luck = rng.random((questions, SAMPLES))
    right = np.where(alike, luck[:, :1], luck) < chance
    confidence = np.clip(chance + rng.normal(0, 0.15, right.shape), 0, 1)
    return confidence.ravel(), right.ravel().astype(np.float64)


def _settled(rng: np.random.Generator, questions: int) -> Predictions:
    """Every sample of a question says the same, with the probability of being right as its confidence."""
    chance = rng.beta(2, 2, questions)
    right = (rng.random(questions) < chance).astype(np.float64)
    return np.repeat(chance, SAMPLES), np.repeat(right, SAMPLES)


def print_few(trials: Trials) -> None:
    """Metrics of the order, by the number of the rarer answers."""
    metrics = named(("auroc", "prr", "aurc"))
    print_head("rarer", "number", *(f"{metric.title}: {cell}" for metric in metrics for cell in ("covers", "width")))
    for rarer, number in product(("right", "wrong"), (1, 2, 3, 5, 7, 10, 15)):
        rng = np.random.default_rng([15, number, int(rarer == "right")])
        n_right = number if rarer == "right" else trials.instances - number
        times = MANY // trials.instances
        truth = evaluate(metrics, sort_instances(*_ordered(rng, trials.instances * times, n_right * times)).sample())
        found: dict[str, list[Estimate]] = {metric.name: [] for metric in metrics}
        for resampling in trials:
            sample = _ordered(rng, trials.instances, n_right)
            for name, (plain, _) in percentile_intervals(metrics, sample, resampling).items():
                found[name].append(plain)
        cells = [cover(found[metric.name], float(truth[metric.name][0])).split(" | ", 1)[1] for metric in metrics]
        print(f"| {rarer} | {number} |", " | ".join(cells), "|", flush=True)


def _ordered(rng: np.random.Generator, n_instances: int, n_right: int) -> Predictions:
    """The right answers first; logits of confidence are normal, theirs higher by 0.95 (AUROC .75)."""
    right = (np.arange(n_instances) < n_right).astype(np.float64)
    return 1 / (1 + np.exp(-rng.normal(0.95 * right))), right


def brier_of(confidence: Floats, correct: Floats, gap: float) -> float:
    """Brier score that these confidences have on average over correctness."""
    probability = confidence - gap
    return float(np.mean((confidence - probability) ** 2 + probability * (1 - probability)))


def cover(estimates: list[Estimate] | list[Difference], truth: float) -> str:
    """Three cells: percent that hold their own value, percent that cover the truth, mean width."""
    holds = np.mean([estimate.low <= estimate.value <= estimate.high for estimate in estimates])
    covers = np.mean([estimate.low <= truth <= estimate.high for estimate in estimates])
    width = np.mean([estimate.high - estimate.low for estimate in estimates])
    return f"{100 * holds:.0f} | {100 * covers:.0f} | {width:.3f}"


TABLES = {
    "single": print_single,
    "clustered": print_clustered,
    "paired": print_paired,
    "samples": print_samples,
    "few": print_few,
}

if __name__ == "__main__":
    print_table(__doc__, TABLES, Trials(800, 300, 200))
