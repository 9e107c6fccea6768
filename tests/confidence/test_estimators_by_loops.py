"""Every estimator of a run against plain loops over its definition; and what no estimator may depend on."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from call_counts import python_calls
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_softmax

from calprobe.confidence import (
    Confidence,
    Distributions,
    available_estimators,
    estimate,
    fit_temperature,
    fit_top_temperature,
)
from calprobe.runs import ScoreTable, TemplateRecord

FREE = st.floats(-20, 0)
TIES = st.sampled_from([-1.0, -2.0, -5.0])
WITH_GAPS = st.sampled_from([-1.0, -2.0, -5.0, math.nan, -math.inf])


def run_templates(n_paraphrases: int) -> tuple[TemplateRecord, ...]:
    """Paraphrases, then the two verbal markers and a percentage."""
    numbers = range(n_paraphrases, n_paraphrases + 3)
    markers = [("verbal", "possibly"), ("verbal", "certainly"), ("numeric", "75")]
    return (
        *(TemplateRecord(number, "paraphrase") for number in range(n_paraphrases)),
        *(TemplateRecord(number, kind, marker) for number, (kind, marker) in zip(numbers, markers, strict=True)),
    )


@st.composite
def tables(draw: st.DrawFn) -> ScoreTable:
    templates = run_templates(draw(st.integers(1, 6)))
    widths = draw(st.lists(st.integers(1, 6), min_size=1, max_size=8))
    value = draw(st.sampled_from([FREE, TIES, WITH_GAPS]))
    scores = draw(st.lists(value, min_size=len(templates) * sum(widths), max_size=len(templates) * sum(widths)))
    answers = [draw(st.integers(0, width - 1)) for width in widths]
    lines = draw(st.permutations(range(len(widths))))
    relations = draw(st.lists(st.sampled_from(["P30", "P36"]), min_size=len(widths), max_size=len(widths)))
    return ScoreTable(
        np.array(scores).reshape(len(templates), -1),
        np.cumsum([0, *widths]),
        np.array(answers),
        np.array(relations),
        np.array(lines),
        templates,
    )


Answer = tuple[int, float]
FAILED: Answer = (-1, 0.0)


def base(p: list[float]) -> Answer:
    return p.index(max(p)), max(p)


def aggregated(name: str, answers: list[Answer]) -> int:
    """The answer of an aggregation, -1 where a vote failed."""
    if name in ("min", "max"):
        confidences = [confidence for _, confidence in answers]
        return answers[confidences.index(min(confidences) if name == "min" else max(confidences))][0]
    predictions = [prediction for prediction, _ in answers]
    votes = {prediction: predictions.count(prediction) for prediction in predictions}
    first = [prediction for prediction, count in votes.items() if count == max(votes.values())]
    return first[0] if len(first) == 1 and votes[first[0]] >= int(name.removeprefix("vote_")) else -1


def by_definition(name: str, paraphrases: list[list[float]], default: list[float], marked: list[float]) -> Answer:
    """An estimator's answer for one instance; p of each paraphrase, of the default template, of the marker's own."""
    family, _, rest = name.partition("_")
    reads = {"average": paraphrases, "consistency": paraphrases, "mixture": paraphrases, "marker": [marked]}
    reads["fixed"] = [default, *paraphrases]
    if any(math.isnan(p[0]) for p in reads.get(family, [default])):
        return FAILED
    if family in ("average", "consistency"):
        answers = [base(p) for p in paraphrases]
        chosen = aggregated(rest, answers)
        agreeing = [confidence for prediction, confidence in answers if prediction == chosen]
        return chosen, (math.fsum(agreeing) if family == "average" else len(agreeing)) / len(answers)
    if family == "mixture":
        return base([sum(shares) / len(paraphrases) for shares in zip(*paraphrases, strict=True)])
    prediction, largest = base(marked if family == "marker" else default)
    if family == "fixed":
        shares = [p[prediction] if rest == "mean" else float(base(p)[0] == prediction) for p in paraphrases]
        return prediction, math.fsum(shares) / len(shares)
    k = len(default)
    if family == "margin":
        return prediction, largest - max((p for at, p in enumerate(default) if at != prediction), default=0.0)
    if family == "entropy":
        spread = -math.fsum(p * math.log(p) for p in default if p > 0)
        return prediction, 1 - spread / math.log(k) if k > 1 else 1.0
    if family == "chance":
        return prediction, (largest - 1 / k) / (1 - 1 / k) if k > 1 else 1.0
    return prediction, largest


def scaled_by_definition(table: ScoreTable, fit_one: Callable[..., float]) -> list[float]:
    """Base with a fitted temperature for every instance, -1 where it fails: five folds by relation and line."""
    spaces = [table.scores[0, a:b] for a, b in pairwise(table.offsets)]
    n = len(spaces)
    ordered = sorted(range(n), key=lambda i: (table.relation[i], table.instance[i]))
    fold_of_rank = np.random.default_rng(0).permutation(n) % min(5, n)
    fold = {i: fold_of_rank[rank] for rank, i in enumerate(ordered)}
    found = []
    for i in range(n):
        others = [j for j in range(n) if fold[j] != fold[i]]
        offsets = np.cumsum([0, *(len(spaces[j]) for j in others)])
        fit = np.concatenate([spaces[j] for j in others]) if others else []
        scaled = spaces[i] / fit_one(fit, offsets, table.answer_idx[others])
        found.append(math.exp(log_softmax(scaled).max()) if np.isfinite(spaces[i].max()) else -1.0)
    return found


@given(tables())
def test_every_estimator_is_what_its_definition_says(table: ScoreTable) -> None:
    found = estimate(table, "first")
    shared = table.shares_candidates
    assert list(found) == [estimator.name for estimator in available_estimators(table.templates, shared=shared)]
    found.pop("pmi", None)  # of other instances too, see test_prior.py
    p = Distributions.from_table(table).probabilities
    n_paraphrases = sum(template.kind == "paraphrase" for template in table.templates)
    marker_rows = {f"marker_{template.marker}": row for row, template in enumerate(table.templates)}
    fits = {"temperature": fit_temperature, "temperature_top": fit_top_temperature}
    scaled = {name: scaled_by_definition(table, fit) for name, fit in fits.items()}
    for name, confidence in found.items():
        for i, (start, end) in enumerate(pairwise(table.offsets)):
            of = [p[row, start:end].tolist() for row in range(len(table.templates))]
            prediction, expected = by_definition(name, of[:n_paraphrases], of[0], of[marker_rows.get(name, 0)])
            if name in scaled and prediction >= 0:
                expected = scaled[name][i]
            assert confidence.confidence[i] == pytest.approx(expected, abs=1e-9 if name in scaled else 1e-12)
            assert confidence.prediction[i] == prediction
            assert confidence.failed[i] == (prediction == -1)
            assert confidence.correct[i] == (prediction == table.answer_idx[i])
        assert ((confidence.confidence >= 0) & (confidence.confidence <= 1)).all()


def reordered(table: ScoreTable, order: list[int]) -> ScoreTable:
    columns = np.concatenate([np.arange(table.offsets[i], table.offsets[i + 1]) for i in order])
    offsets = np.cumsum([0, *np.diff(table.offsets)[order]])
    of_each = (array[order] for array in (table.answer_idx, table.relation, table.instance))
    return ScoreTable(table.scores[:, columns], offsets, *of_each, table.templates)


@given(tables(), st.randoms(use_true_random=False))
def test_the_order_of_instances_changes_nothing(table: ScoreTable, random: object) -> None:
    order = list(range(table.n_instances))
    random.shuffle(order)  # type: ignore[attr-defined]
    before, after = estimate(table), estimate(reordered(table, order))
    for name in before:
        assert after[name].prediction.tolist() == before[name].prediction[order].tolist()
        assert after[name].correct.tolist() == before[name].correct[order].tolist()
        assert after[name].confidence == pytest.approx(before[name].confidence[order], abs=1e-9)


@given(tables(), st.integers(2, 7))
def test_the_same_template_again_agrees_with_itself(table: ScoreTable, times: int) -> None:
    spaces = Distributions.from_scores(np.repeat(table.scores[:1], times, axis=0), table.offsets, table.answer_idx)
    found = {e.name: e(spaces) for e in available_estimators([TemplateRecord(t, "paraphrase") for t in range(times)])}
    complete = ~found["base"].failed
    for name, confidence in found.items():
        if name.startswith(("average", "consistency", "mixture")):
            assert confidence.prediction.tolist() == found["base"].prediction.tolist()
            expected = complete if name.startswith("consistency") else found["base"].confidence
            assert confidence.confidence == pytest.approx(expected.astype(float), abs=1e-12)


@given(tables())
def test_a_stricter_vote_only_fails_more(table: ScoreTable) -> None:
    found = estimate(table)
    for family in ("average", "consistency"):
        votes: list[Confidence] = [c for name, c in found.items() if name.startswith(f"{family}_vote_")]
        for loose, strict in pairwise(votes):
            assert (strict.failed >= loose.failed).all()
            assert (strict.confidence[~strict.failed] == loose.confidence[~strict.failed]).all()
            assert (strict.prediction[~strict.failed] == loose.prediction[~strict.failed]).all()


def test_estimating_all_of_bear_loops_over_no_instances() -> None:
    rng = np.random.default_rng(0)
    n, n_candidates = 7731, 209_499
    widths = rng.integers(4, 51, n)
    widths[-1] += n_candidates - widths.sum()
    paraphrases = tuple(TemplateRecord(number, "paraphrase") for number in range(5))
    verbal = tuple(TemplateRecord(5 + place, "verbal", ("possibly", "certainly")[place]) for place in range(2))
    numeric = tuple(TemplateRecord(7 + place, "numeric", str(25 * place)) for place in range(5))
    table = ScoreTable(
        scores=-rng.exponential(5, (12, n_candidates)),
        offsets=np.cumsum([0, *widths]),
        answer_idx=rng.integers(0, widths),
        relation=np.sort(rng.choice([f"P{number}" for number in range(60)], n)),
        instance=np.arange(n),
        templates=paraphrases + verbal + numeric,
    )
    assert python_calls(estimate, table) < n
    assert len(estimate(table)) == 28
