"""Level and power of the tests of calibration, and coverage of the intervals that interval_coverage.py leaves out.

Prints Markdown tables (docs/methods/intervals-and-tests.md says what they show), percent of the trials.

    python bench/levels_and_power.py tests --instances 583
    python bench/levels_and_power.py verdicts --instances 120 --trials 1000 --resamples 500
    python bench/levels_and_power.py relations
    python bench/levels_and_power.py intervals --instances 583
    python bench/levels_and_power.py bands
    python bench/levels_and_power.py equivalence
    python bench/levels_and_power.py within
    python bench/levels_and_power.py thresholds --instances 600 --trials 2000
    python bench/levels_and_power.py sets --instances 600 --trials 2000
    python bench/levels_and_power.py checks --trials 400
    python bench/levels_and_power.py groups --instances 600 --trials 2000
    python bench/levels_and_power.py trees --instances 600 --trials 500

tests: how often each p-value of perfect calibration is below 0.05, in a calibrated world (the level) and in others (the
power). verdicts: how often a report calls calibrated confidences over- or underconfident, or miscalibrated. relations:
the same where models are calibrated over all relations, but not within each one, by instances and by
relations. intervals: how often 95 % intervals cover the value of a sample of a million. bands: how often the band of an
accuracy-rejection curve holds the whole curve. equivalence: how often two models are called equal within a margin.
within: slope of mean confidence on the stated percentage, differences of seven markers from the plain statement under
max-T, and the standard deviation of accuracy over templates. thresholds: how often more than a fifth of what lies above
a threshold is wrong, promised at 95 %, with the 95 % interval of that share, and the mean coverage; the same of the
largest coverage whose observed risk is low enough, which promises nothing. sets: mean coverage of answer sets of ten
candidates, promised 90 %, with two standard errors; how often it is so low that the promise allows it in 5 % of the
trials; mean size. Half of the instances fix the threshold. naive: the most probable candidates up to 90 %. checks: by
how many answers were checked by hand, in how many percent of the trials a threshold is found, and the mean coverage,
with none counted as 0; the last row is what could be reached.
groups: how often the gaps of eight groups all lie within their simultaneous intervals, how often within plain ones, and
how often p is below 0.05. trees: the same of the groups that trees find on one half and measure on the other, with
their mean number, and of trees that see the instances which they group.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Ints, Mask
from calprobe.measures.sensitivity import template_sd
from calprobe.metrics import (
    SET_RULES,
    AtCoverage,
    Estimate,
    Metric,
    PairedDraws,
    Resampling,
    SetRule,
    accuracy_bands,
    answer_sets,
    bootstrap,
    conformal_threshold,
    covered_law,
    max_t,
    mean_draws,
    paired_draws,
    set_scores,
    wilson_interval,
)
from calprobe.metrics.error_shown import error_shown, has_few_values
from calprobe.metrics.gap_tree import Feature, gap_tree
from calprobe.metrics.group_gaps import gaps_of, group_gaps
from calprobe.metrics.reference import chance_metrics
from calprobe.metrics.risk_control import fix_threshold
from calprobe.metrics.sample import sort_instances
from calprobe.metrics.target_coverage import coverage_at_accuracy
from calprobe.show.verdict import APART, OVER, UNDER, Judged

sys.path.append(str(Path(__file__).resolve().parent))  # PYTHONSAFEPATH leaves the script's folder out
from harness.trials import BELOW, Trials, named, print_head, print_shares, print_table

Letters = npt.NDArray[np.str_]
MANY = 1_000_000  # instances of the sample that the truth is taken from
TESTS = (
    *("spiegelhalter_p", "ace_p", "ece_p", "smooth_ece_p", "ecce_mad_p", "ecce_range_p", "max_calibration_error_p"),
    *("gap", "cox_intercept", "cox_slope"),
)
INTERVALS = (
    *("confidence_gap", "brier_skill", "cox_intercept", "cox_slope", "brier_mcb", "brier_dsc", "nll_mcb", "nll_dsc"),
    *("auroc", "e_aurc"),
)
RELATIONS = 60


@dataclass(frozen=True, slots=True)
class World:
    """From a confidence to the probability of being right, with confidences of some distribution."""

    name: str
    right: Callable[[Floats], Floats]
    alpha: float = 1.0  # of the beta distribution of the confidences
    beta: float = 1.0

    def draw(self, rng: np.random.Generator, n_instances: int) -> tuple[Floats, Floats]:
        """Confidence and correctness, both [instances]."""
        confidence = rng.beta(self.alpha, self.beta, n_instances)
        return confidence, (rng.random(n_instances) < self.right(confidence)).astype(np.float64)


def _logit(confidence: Floats) -> Floats:
    clipped = np.clip(confidence, 1e-12, 1 - 1e-12)
    return np.log(clipped) - np.log1p(-clipped)


def _line(shift: float, slope: float) -> Callable[[Floats], Floats]:
    return lambda confidence: 1 / (1 + np.exp(-(shift + slope * _logit(confidence))))


WORLDS = (
    World("calibrated", lambda confidence: confidence),
    World("calibrated, mostly wrong", lambda confidence: confidence, 0.6, 2.4),
    World("too sure by 0.3 on the logit scale", _line(-0.3, 1.0)),
    World("too extreme, slope 0.7", _line(0.0, 0.7)),
    World("sine: off by 0.1, either way", lambda f: np.clip(f + 0.1 * np.sin(2 * np.pi * f), 0, 1)),
    World("gpt2-like: mostly wrong, too sure", lambda f: 0.06 + 0.2 * f, 1.5, 2.0),
)


def metrics_of(names: Sequence[str]) -> list[Metric]:
    """The metrics of these names, and the errors that p-values are of."""
    errors = {name.removesuffix("_p") for name in names if name.endswith("_p")} - {"spiegelhalter"}
    return named({*names, *errors})


def rejected(found: dict[str, Estimate]) -> list[bool]:
    """Which of TESTS find miscalibration: p below 0.05, or an interval without the value of a calibrated model."""
    perfect = {"gap": ("confidence_gap", 0.0), "cox_intercept": ("cox_intercept", 0.0), "cox_slope": ("cox_slope", 1.0)}
    answers = []
    for name in TESTS:
        if name in perfect:
            own, value = found[perfect[name][0]], perfect[name][1]
            answers.append(not own.low <= value <= own.high)
        else:
            answers.append(found[name].value < BELOW)
    return answers


def print_tests(trials: Trials) -> None:
    """Level and power of every test of calibration."""
    print_head("world", *TESTS)
    metrics = metrics_of((*TESTS, "confidence_gap"))
    for place, world in enumerate(WORLDS):
        rng = np.random.default_rng([41, place])
        below = [rejected(bootstrap(metrics, *world.draw(rng, trials.instances), resampling)) for resampling in trials]
        print_shares(world.name, below)


def print_verdicts(trials: Trials) -> None:
    """What a report says in words of calibrated confidences."""
    print_head("confidences", "overconfident", "underconfident", "miscalibrated", "any of these")
    spread: dict[str, Callable[[np.random.Generator], Floats]] = {
        "Beta(2, 2)": lambda rng: rng.beta(2, 2, trials.instances),
        "Beta(8, 2)": lambda rng: rng.beta(8, 2, trials.instances),
        ".5, .7, .8, .9 or .95": lambda rng: rng.choice([0.5, 0.7, 0.8, 0.9, 0.95], trials.instances),
    }
    for place, (name, drawn) in enumerate(spread.items()):
        rng = np.random.default_rng([48, place])
        said = []
        for resampling in trials:
            confidence = drawn(rng)
            error = error_shown(few_values=has_few_values(confidence))
            (metric,) = named((error,))
            metrics = [*named(("confidence_gap",)), metric, *chance_metrics(metric)]
            correct = (rng.random(trials.instances) < confidence).astype(np.float64)
            found = bootstrap(metrics, confidence, correct, resampling)
            verdict = Judged(name, found, trials.instances, error).verdict
            words = [verdict == word for word in (OVER, UNDER, APART)]
            said.append([*words, any(words)])
        print_shares(name, said)


def print_relations(trials: Trials) -> None:
    """The level where relations are off in either direction, by what is drawn."""
    print_head("relations off by up to, drawn", *TESTS)
    metrics = metrics_of((*TESTS, "confidence_gap"))
    for spread in (0.0, 0.15):
        rng = np.random.default_rng([42, round(spread * 100)])
        below: dict[bool, list[list[bool]]] = {False: [], True: []}
        for resampling in trials:
            relation = np.sort(rng.integers(RELATIONS, size=trials.instances)).astype(np.float64)
            confidence = spread + (1 - 2 * spread) * rng.random(trials.instances)
            off = rng.uniform(-spread, spread, RELATIONS)[relation.astype(int)]
            correct = (rng.random(trials.instances) < confidence + off).astype(np.float64)
            for by, own in below.items():
                drawn = resampling
                own.append(rejected(bootstrap(metrics, confidence, correct, drawn, relation if by else None)))
        for by, own in below.items():
            print_shares(f"{spread}, {'relations' if by else 'instances'}", own)


def print_intervals(trials: Trials) -> None:
    """Coverage, and mean value against the truth."""
    print_head("world", *INTERVALS)
    metrics = named(INTERVALS)
    for place, world in enumerate(WORLDS):
        rng = np.random.default_rng([43, place])
        truth = {name: own.value for name, own in bootstrap(metrics, *world.draw(rng, MANY), Resampling(0)).items()}
        found = [bootstrap(metrics, *world.draw(rng, trials.instances), resampling) for resampling in trials]
        cells = []
        for name in INTERVALS:
            covers = np.mean([own[name].low <= truth[name] <= own[name].high for own in found])
            mean = np.mean([own[name].value for own in found])
            cells.append(f"{100 * covers:.0f} ({truth[name]:z.3f}: {mean:z.3f})")
        print(f"| {world.name} |", " | ".join(cells), "|", flush=True)


def print_bands(trials: Trials) -> None:
    """How often all points of the true curve lie within the points' intervals, and within the band."""
    print("| world | all within the intervals of the points | within the band |")
    print("|---|---:|---:|")
    coverage = np.arange(10, 101) / 100  # of the share kept: below a tenth hardly anything is left
    for place, world in enumerate(WORLDS):
        rng = np.random.default_rng([44, place])
        whole = sort_instances(*world.draw(rng, MANY))
        truth = AtCoverage(whole, coverage)(np.ones((1, MANY), dtype=np.int64))[0]
        inside = []
        for resampling in trials:
            curve = AtCoverage(sort_instances(*world.draw(rng, trials.instances)), coverage)
            band = accuracy_bands({"": curve}, trials.instances, resampling)[""]
            inside.append(
                [
                    bool(((low <= truth) & (truth <= high)).all())
                    for low, high in ((band.low, band.high), (band.band_low, band.band_high))
                ]
            )
        print_shares(world.name, inside)


def print_equivalence(trials: Trials) -> None:
    """How often the Brier scores of two models are called equal within 0.02, by their true difference."""
    print("| Brier: true difference | p of equivalence < 0.05 | p of no difference < 0.05 |")
    print("|---:|---:|---:|")
    brier = named(["brier"])
    for gap in (0.0, 0.1, 2**0.5 / 10, 0.2):
        rng = np.random.default_rng([45, round(gap * 1000)])
        below = []
        for resampling in trials:
            confidence = rng.uniform(0.2, 1, trials.instances)
            first, second = rng.random(trials.instances), rng.random(trials.instances)
            second = np.where(rng.random(trials.instances) < 0.5, first, second)
            samples = {
                "a": (confidence, (first < confidence).astype(np.float64)),
                "b": (confidence - gap, (second < confidence).astype(np.float64)),
            }
            draws = paired_draws(brier, samples, [("a", "b")], resampling)["a", "b"]["brier"]
            below.append([draws.equivalence(0.02) < BELOW, draws.difference().p_value < BELOW])
        # Of a shift of calibrated confidences by `gap`, the Brier score rises by its square.
        print_shares(f"{gap**2:.3f}", below)


def print_within(trials: Trials) -> None:
    """Slope, markers and templates of one run, without an effect and with one."""
    print("| true slope | covers | p < 0.05 |")
    print("|---:|---:|---:|")
    stated = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    weights = (stated - stated.mean()) / ((stated - stated.mean()) ** 2).sum()
    for slope in (0.0, 0.01, 0.02):
        rng = np.random.default_rng([46, round(slope * 100)])
        found = []
        for resampling in trials:
            level = rng.uniform(0.2, 0.7, trials.instances)
            shifts = slope * stated + rng.normal(0, 0.1, (trials.instances, 5))
            confidence = np.clip(level[:, None] + shifts, 0, 1)
            own = mean_draws(confidence @ weights, resampling).difference()
            found.append([own.low <= slope <= own.high, own.p_value < BELOW])
        print_shares(str(slope), found)

    print("\n| markers: accuracy lower by | any, uncorrected | any, max-T | the shifted marker, max-T |")
    print("|---:|---:|---:|---:|")
    metrics = named(("accuracy", "ace", "brier"))
    for shift in (0.0, 0.04, 0.08):
        rng = np.random.default_rng([47, round(shift * 100)])
        found = [_markers(rng, trials.instances, shift, metrics, resampling) for resampling in trials]
        print_shares(str(shift), found)

    print("\n| templates: true sd of accuracy | mean of the estimates | plain sd of the accuracies |")
    print("|---:|---:|---:|")
    for spread in (0.0, 0.02, 0.05, 0.1):
        rng = np.random.default_rng([48, round(spread * 100)])
        squares = []
        for _ in range(5 * trials.number):
            hardness = rng.uniform(0.2, 0.8, trials.instances)
            right = rng.random((5, trials.instances)) < hardness + rng.normal(0, spread, 5)[:, None]
            squares.append([template_sd(right.astype(np.float64)), right.mean(axis=1).std(ddof=1)])
        root = np.sqrt(np.mean(np.square(squares), axis=0))
        print(f"| {spread:.2f} |", " | ".join(f"{own:.3f}" for own in root), "|", flush=True)


def _markers(
    rng: np.random.Generator, instances: int, shift: float, metrics: list[Metric], resampling: Resampling
) -> list[bool]:
    """Seven markers against the plain statement, of which the first is less accurate."""
    confidence, luck = rng.uniform(0.2, 0.95, instances), rng.random(instances)
    samples = {"plain": (confidence, (luck < confidence).astype(np.float64))}
    for marker in range(7):
        drawn = np.where(rng.random(instances) < 0.7, luck, rng.random(instances))
        own = np.clip(confidence + rng.normal(0, 0.03, instances), 0, 1)
        samples[str(marker)] = own, (drawn < confidence - (shift if marker == 0 else 0)).astype(np.float64)
    pairs = [(str(marker), "plain") for marker in range(7)]
    drawn_pairs = paired_draws(metrics, samples, pairs, resampling)
    tests: list[PairedDraws] = [draws for pair in pairs for draws in drawn_pairs[pair].values()]
    p_values = np.array([test.difference().p_value for test in tests])
    corrected = max_t([test.statistic for test in tests], [test.null_statistics() for test in tests])
    corrected = np.maximum(corrected, p_values)
    return [
        bool((p_values < BELOW).any()),
        bool((corrected < BELOW).any()),
        bool((corrected[: len(metrics)] < BELOW).any()),
    ]


RISK, ALIKE = 0.2, 5  # the risk that is allowed, and the samples of a question, which are all right or all wrong
SELECTIVE: dict[str, tuple[Callable[[Floats], Floats], int, int]] = {  # chance to be right, different values, samples
    "calibrated": (lambda f: f, 0, 1),
    "overconfident": (lambda f: 0.9 * f, 0, 1),
    "underconfident": (np.sqrt, 0, 1),
    "discrete, ten values": (lambda f: 0.9 * f, 10, 1),
    "useless, just too often wrong": (lambda f: 0 * f + 1 - RISK - 1e-9, 0, 1),
    "calibrated, five samples alike": (lambda f: f, 0, ALIKE),
    "useless, five samples alike": (lambda f: 0 * f + 1 - RISK - 1e-9, 0, ALIKE),
}


def print_thresholds(trials: Trials) -> None:
    """How often a promise of risk is broken, by how a threshold was found."""
    print_head("world", "broken", "coverage", "union bound: broken", "coverage", "no bound: broken", "coverage")
    for place, (name, (right, values, samples)) in enumerate(SELECTIVE.items()):
        grid = np.arange(1, values + 1) / values if values else np.linspace(0, 1, 2001)
        chance = right(grid)
        broken, coverage = np.zeros((trials.number, 3)), np.zeros((trials.number, 3))
        for trial in range(trials.number):
            rng = np.random.default_rng([49, place, trial])
            question = np.repeat(np.arange(trials.instances // samples), samples)
            level = rng.random(question.max() + 1)
            level = np.ceil(level * values) / values if values else level
            confidence, correct = level[question], (rng.random(len(level)) < right(level))[question]
            clusters = question if samples > 1 else None
            searched = coverage_at_accuracy(confidence, correct, 1 - RISK)
            fixed = fix_threshold(confidence, correct, RISK, clusters=clusters, seed=trial).threshold
            for way, threshold in enumerate((fixed, searched.guaranteed.threshold, searched.observed.threshold)):
                above = grid >= threshold
                coverage[trial, way] = above.mean()
                broken[trial, way] = above.any() and 1 - chance[above].mean() > RISK
        cells = []
        for way in range(3):
            ends = [float(end[0]) for end in wilson_interval([broken[:, way].sum()], [trials.number])]
            share = 100 * broken[:, way].mean()
            cells += [f"{share:.1f} ({100 * ends[0]:.1f}-{100 * ends[1]:.1f})", f"{100 * coverage[:, way].mean():.0f}"]
        print(f"| {name} |", " | ".join(cells), "|", flush=True)


CANDIDATES, PROMISED = 10, 0.9
ROWS = (1, 9)  # of a hard question and of an easy one, where questions have several, which are alike


def _sharpened(power: float) -> Callable[[Floats], Floats]:
    def said(true: Floats) -> Floats:
        powers: Floats = true**power
        shares: Floats = powers / powers.sum(axis=1, keepdims=True)
        return shares

    return said


def _in_quarters(true: Floats) -> Floats:
    parts: Floats = np.floor(4 * true) + 0.25
    shares: Floats = parts / parts.sum(axis=1, keepdims=True)
    return shares


SAID: dict[str, Callable[[Floats], Floats]] = {  # what a model says where these are the chances to be right
    "calibrated": lambda true: true,
    "overconfident, squared": _sharpened(2.0),
    "underconfident, roots": _sharpened(0.5),
    "discrete, many ties": _in_quarters,
    "useless, one for all": lambda true: np.full_like(true, 1 / true.shape[1]),
}
CLUSTERED = {"easy questions ninefold, by question": True, "easy questions ninefold, taken for independent": False}


def print_sets(trials: Trials) -> None:
    """Coverage and size of answer sets, by rule."""
    print_head("world", *(f"{rule}: {column}" for rule in SET_RULES for column in ("coverage", "low", "size")))
    for place, (name, said) in enumerate(SAID.items()):
        found = [
            _set_trial(np.random.default_rng([50, place, trial]), trials.instances, said)
            for trial in range(trials.number)
        ]
        _print_sets(name, np.array(found))
    for name, by_question in CLUSTERED.items():
        rngs = (np.random.default_rng([51, trial]) for trial in range(trials.number))
        _print_sets(name, np.array([_clustered_trial(rng, trials.instances // 5, by_question) for rng in rngs]))


def _set_trial(rng: np.random.Generator, instances: int, said: Callable[[Floats], Floats]) -> list[tuple[float, ...]]:
    """Of each rule: coverage, whether it is too low, mean size."""
    true = rng.dirichlet(np.full(CANDIDATES, 0.4), instances)
    right = (rng.random((instances, 1)) > np.cumsum(true, axis=1)[:, :-1]).sum(axis=1)
    fixing = np.arange(instances) < instances // 2
    return [_of_sets(rule, said(true), right, fixing, rng.random(instances), None) for rule in SET_RULES]


def _clustered_trial(rng: np.random.Generator, questions: int, by_question: bool) -> list[tuple[float, ...]]:
    """The same of questions that are hard or easy, with rows that are alike."""
    easy = rng.random(questions) < 0.5
    true = np.where(
        easy[:, None],
        rng.dirichlet(np.full(CANDIDATES, 0.1), questions),
        rng.dirichlet(np.full(CANDIDATES, 2.0), questions),
    )
    right = (rng.random((questions, 1)) > np.cumsum(true, axis=1)[:, :-1]).sum(axis=1)
    question = np.repeat(np.arange(questions), np.where(easy, ROWS[1], ROWS[0]))
    fixing, u = question < questions // 2, rng.random(questions)
    return [
        _of_sets(rule, true[question], right[question], fixing, u[question], question, by_question)
        for rule in SET_RULES
    ]


def _of_sets(
    rule: SetRule,
    said: Floats,
    right: Ints,
    fixing: Mask,
    u: Floats,
    question: Ints | None,
    by_question: bool = True,
) -> tuple[float, float, float]:
    offsets = np.arange(0, said.size + 1, CANDIDATES)
    scores = set_scores(said.ravel(), offsets, rule, u)
    of_right = scores[offsets[:-1] + right]
    clusters = None if question is None or not by_question else question[fixing]
    limit = np.nextafter(PROMISED, 0) if rule == "naive" else conformal_threshold(of_right[fixing], PROMISED, clusters)
    sets = answer_sets(scores, offsets, right, limit, question).at(~fixing)
    if question is not None:
        return sets.coverage.value, float("nan"), sets.mean_size
    law = np.cumsum(covered_law(int(fixing.sum()), sets.units, PROMISED))
    return sets.coverage.value, float(law[int(sets.covered.sum())] <= BELOW), sets.mean_size


def _print_sets(name: str, found: Floats) -> None:
    """A row; `found` is [trials, rules, numbers]."""
    cells = []
    for coverage, low, size in zip(*np.moveaxis(found, 2, 0).transpose(0, 2, 1), strict=True):
        error = 2 * coverage.std() / np.sqrt(len(coverage))
        too_low = "-" if np.isnan(low[0]) else f"{100 * low.mean():.1f}"
        cells += [f"{100 * coverage.mean():.1f} ±{100 * error:.1f}", too_low, f"{size.mean():.2f}"]
    print(f"| {name} |", " | ".join(cells), "|", flush=True)


CHECKED = (100, 200, 500, 1000, 2000, 5000)


def print_checks(trials: Trials) -> None:
    """Thresholds by the number of answers that fixed them."""
    worlds, risks = ("calibrated", "overconfident", "underconfident"), (0.2, 0.1)
    print_head(
        "answers checked",
        *(f"{world}, risk {risk}: {what}" for world in worlds for risk in risks for what in ("found", "coverage")),
    )
    grid = np.linspace(0, 1, 2001)
    for checked in CHECKED:
        cells = []
        for place, world in enumerate(worlds):
            right = SELECTIVE[world][0]
            for risk in risks:
                coverage = []
                for trial in range(trials.number):
                    rng = np.random.default_rng([52, place, checked, round(100 * risk), trial])
                    confidence = rng.random(checked)
                    correct = rng.random(checked) < right(confidence)
                    coverage.append((grid >= fix_threshold(confidence, correct, risk, seed=trial).threshold).mean())
                cells += [f"{100 * np.mean(np.array(coverage) > 0):.0f}", f"{100 * np.mean(coverage):.0f}"]
        print(f"| {checked:,} |", " | ".join(cells), "|", flush=True)
    cells = []
    for world in worlds:
        wrong = 1 - SELECTIVE[world][0](grid)
        for risk in risks:
            low_enough = [(grid >= t).mean() for t in grid if wrong[grid >= t].mean() <= risk]
            cells += ["", f"{100 * max(low_enough, default=0):.0f}"]
    print("| all |", " | ".join(cells), "|", flush=True)


# Mean confidence minus accuracy of each of eight groups, the range of confidence, the answers of a question, all alike,
# and how often each group occurs.
EVEN, UNEVEN = np.full(8, 1 / 8), np.array([1, 1, 1, 2, 2, 3, 4, 6]) / 20
GROUP_GAPS = {
    "no gaps": (np.zeros(8), (0.2, 0.8), 1, EVEN),
    "one group too sure by 0.2": (np.array([0.2, *[0.0] * 7]), (0.2, 0.8), 1, EVEN),
    "gaps from -0.15 to 0.15": (np.linspace(-0.15, 0.15, 8), (0.2, 0.8), 1, EVEN),
    "no gaps, three answers alike": (np.zeros(8), (0.2, 0.8), 3, EVEN),
    "no gaps, all but sure": (np.zeros(8), (0.9, 1.0), 1, EVEN),
    "no gaps, groups of 29 to 175": (np.zeros(8), (0.2, 0.8), 1, UNEVEN),
}


def print_groups(trials: Trials) -> None:
    """How often the true gaps of all groups lie within their intervals, and how often the test finds a gap."""
    print_head("world", "all within the simultaneous intervals", "all within plain ones", "p < 0.05")
    for place, (name, (gaps, ends, alike, shares)) in enumerate(GROUP_GAPS.items()):
        rng = np.random.default_rng([50, place])
        happened = []
        for resampling in trials:
            questions = trials.instances // alike
            group = rng.choice(8, questions, p=shares)
            confidence = rng.uniform(*ends, questions)
            correct = rng.random(questions) < confidence - gaps[group]
            rows = [np.repeat(values, alike) for values in (confidence, correct, group)]
            clusters = np.repeat(np.arange(questions), alike) if alike > 1 else None
            found = group_gaps(rows[0], rows[1], rows[2], resampling, clusters)
            plain = mean_error(confidence - correct, group)
            truth = {str(at): gap for at, gap in enumerate(gaps)}
            tested = [own for own in found.groups if not np.isnan(own.gap.low)]
            happened.append(
                [
                    all(own.gap.low <= truth[own.name] <= own.gap.high for own in tested),
                    all(abs(own.gap.value - truth[own.name]) <= 1.96 * plain[int(own.name)] for own in tested),
                    found.p_value < BELOW,
                ]
            )
        cells = []
        for share, count in zip(np.mean(happened, axis=0), np.sum(happened, axis=0), strict=True):
            low, high = (100 * float(end[0]) for end in wilson_interval([count], [trials.number]))
            cells.append(f"{100 * share:.1f} ({low:.1f}-{high:.1f})")
        print(f"| {name} |", " | ".join(cells), "|", flush=True)


# By kind of world: the gap of an instance, of what is known of it: a number from 1 to 29, a letter.
TREE_WORLDS: dict[str, Callable[[Floats, Letters], Floats]] = {
    "no gaps": lambda number, letter: np.zeros(len(number)),
    "too sure by 0.2 above 20": lambda number, letter: np.where(number > 20, 0.2, 0.0),
    "0.15 in three of ten letters, else -0.05": lambda number, letter: np.where(letter < "d", 0.15, -0.05),
}


def print_trees(trials: Trials) -> None:
    """How often the gaps of all groups that a tree finds lie within their intervals, and how often p finds one."""
    print_head("world", "groups", "all within", "p < 0.05", "groups", "all within", "p < 0.05")
    for place, (name, gap_of) in enumerate(TREE_WORLDS.items()):
        rng = np.random.default_rng([53, place])
        happened = []
        for resampling in trials:
            n = trials.instances
            number = rng.integers(1, 30, n).astype(float)
            letter: Letters = np.array(list("abcdefghij"))[rng.integers(10, size=n)]
            confidence, gap = rng.uniform(0.2, 0.8, n), gap_of(number, letter)
            correct = rng.random(n) < confidence - gap
            noise = rng.random(n)
            half = rng.permutation(n) < n // 2
            row: list[float] = []
            # A tree that sees the instances which it groups: all are there twice, once in each half.
            once, twice = (
                [
                    Feature("number", np.tile(number, k)),
                    Feature("letter", np.tile(letter, k)),
                    Feature("noise", np.tile(noise, k)),
                ]
                for k in (1, 2)
            )
            for names in (
                gap_tree(confidence - correct, once, half),
                gap_tree(np.tile(confidence - correct, 2), twice, np.arange(2 * n) < n)[:n],
            ):
                kept = {str(of): names == of for of in np.unique(names)}
                found = gaps_of(confidence, correct, kept, resampling)
                tested = [own for own in found.groups if not np.isnan(own.gap.low)]
                held = all(own.gap.low <= gap[kept[own.name]].mean() <= own.gap.high for own in tested)
                row += [len(kept), held, found.p_value < BELOW]
            happened.append(row)
        means = np.mean(happened, axis=0)
        cells = [f"{mean:.1f}" if at % 3 == 0 else f"{100 * mean:.1f}" for at, mean in enumerate(means)]
        print(f"| {name} |", " | ".join(cells), "|", flush=True)


def mean_error(values: Floats, group: Ints) -> Floats:
    """The standard error of each group's mean, [groups]."""
    size = np.bincount(group, minlength=8)
    mean, square = (np.bincount(group, power, 8) / size for power in (values, values**2))
    return np.sqrt((square - mean**2) / (size - 1))


TABLES = {
    "tests": print_tests,
    "verdicts": print_verdicts,
    "relations": print_relations,
    "intervals": print_intervals,
    "bands": print_bands,
    "equivalence": print_equivalence,
    "within": print_within,
    "thresholds": print_thresholds,
    "sets": print_sets,
    "checks": print_checks,
    "groups": print_groups,
    "trees": print_trees,
}

if __name__ == "__main__":
    print_table(__doc__, TABLES, Trials(583, 200, 200))
