"""Answer sets of runs: against loops over the scores, by relation, from labels, and answers withheld."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import calprobe
from calprobe.analysis import SetOptions, answer_sets
from calprobe.cells.candidates import Candidates, GroupedCell, run_cells
from calprobe.cells.opening import open_runs
from calprobe.cells.table import table_cell
from calprobe.errors import UsageError
from calprobe.interop.score_tables import ScoredAnswers
from calprobe.measures.halves import half_of
from calprobe.measures.options import DEFAULT_OPTIONS
from calprobe.metrics import conformal_threshold, covered_law
from calprobe.studies.sets.layouts import set_sentences, set_tables
from calprobe.studies.sets.numbers import cells_answer_sets, expected_coverage, unit_draws
from calprobe.studies.sets.results import USUAL_RULES

RUNS = Path(__file__).resolve().parents[1] / "golden" / "runs"
OPTIONS = SetOptions(coverage=0.8)


def probabilities(run: str) -> list[tuple[str, np.ndarray, int]]:
    """Relation, probabilities of template 0 and the right place of each instance."""
    table = calprobe.open_run(RUNS / run).table()
    row = [template.number for template in table.templates].index(0)
    found = []
    for at, (start, end) in enumerate(zip(table.offsets[:-1], table.offsets[1:], strict=True)):
        weights = np.exp(table.scores[row, start:end] - table.scores[row, start:end].max())
        found.append((str(table.relation[at]), weights / weights.sum(), int(table.answer_idx[at])))
    return found


def test_sets_of_a_run_of_scores_are_those_of_loops() -> None:
    units = probabilities("clm")
    half = np.random.default_rng([0, 2]).permutation(len(units)) < math.ceil(len(units) / 2)
    strange = np.array([1 - shares[answer] for _, shares, answer in units])
    place = math.ceil(0.8 * (half.sum() + 1))
    limit = np.sort(strange[half])[place - 1]
    (found,) = answer_sets(RUNS / "clm", options=OPTIONS).sets
    lac = found.rules[0]
    assert (found.score, lac.rule, lac.calibrated) == ("base", "lac", half.sum())
    assert lac.threshold == pytest.approx(limit)
    rest = [unit for unit, inside in zip(units, half, strict=True) if not inside]
    sizes = [int((1 - shares <= limit + 1e-12).sum()) for _, shares, _ in rest]
    assert lac.sets.mean_size == pytest.approx(np.mean(sizes))
    covered = [1 - shares[answer] <= limit + 1e-12 for _, shares, answer in rest]
    assert lac.sets.coverage.value == np.mean(covered)
    law = covered_law(int(half.sum()), len(rest), 0.8)
    assert lac.expected is not None
    assert lac.expected.p_low == pytest.approx(law[: sum(covered) + 1].sum())


def candidates_with_failures(failed: int, units: int = 200) -> GroupedCell:
    """Eight candidates each, the first of which is right; the last units have no probabilities."""
    shares = np.random.default_rng(0).dirichlet(np.ones(8), units)
    shares[units - failed :] = np.nan
    answers = ScoredAnswers({"probability": np.nan_to_num(shares[:, 0])}, np.ones(units, np.int64))
    found = Candidates(np.arange(units), shares.ravel(), np.arange(units + 1) * 8, np.zeros(units, np.int64))
    return GroupedCell(table_cell(answers, "table"), "", np.full(units, ""), found)


@pytest.mark.parametrize("failed", [0, 10, 60, 199, 200])
@pytest.mark.parametrize("coverage", [0.6, 0.9])
def test_no_case_without_probabilities_is_covered(failed: int, coverage: float) -> None:
    cell = candidates_with_failures(failed)
    answered = ~np.isnan(cell.source.probabilities[::8])  # type: ignore[union-attr]
    checked = ~half_of(cell.cell.units, 0)
    found = cells_answer_sets([cell], None, SetOptions(coverage, USUAL_RULES))
    unscored = int((~answered & ~checked).sum())
    for rule in found.sets[0].rules:
        assert rule.sets.coverage.value <= answered[checked].mean()
        assert rule.unscored == unscored
        assert math.isinf(rule.threshold) == (unscored > 100 - math.ceil(101 * coverage))
        assert (rule.expected is None) == math.isinf(rule.threshold)
    (said,) = set_sentences(found)
    assert "that takes" not in said
    assert (f"{unscored} of the 100 cases to fix it on have no probabilities" in said) == (rule.expected is None)


def test_too_few_cases_are_told_as_that() -> None:
    found = cells_answer_sets([candidates_with_failures(0, units=10)], None, SetOptions(0.9))
    assert next(set_sentences(found)).endswith("that takes 9 cases or more to fix a threshold on, here are 5 cases.")
    assert found.sets[0].rules[0].expected is not None


def test_relations_have_thresholds_of_their_own() -> None:
    options = SetOptions(coverage=0.5, rules=("lac",), by="relation")
    (found,) = answer_sets(RUNS / "clm", options=options).sets
    one, own = found.rules
    assert (one.title, own.title) == ("lac", "lac by relation")
    units = probabilities("clm")
    half = np.random.default_rng([0, 2]).permutation(len(units)) < math.ceil(len(units) / 2)
    for name, group in own.groups.items():
        inside = [1 - shares[a] for (relation, shares, a), h in zip(units, half, strict=True) if h and relation == name]
        assert group.threshold == pytest.approx(conformal_threshold(inside, 0.5))
        assert one.groups[name].threshold == one.threshold
    assert sum(group.sets.units for group in own.groups.values()) == own.sets.units
    assert own.expected is not None
    assert [table.label for table in set_tables(answer_sets(RUNS / "clm", options=options))] == [
        "sets",
        "set-sizes",
        "set-groups",
    ]


def test_another_run_checks_all_of_them() -> None:
    (found,) = answer_sets(RUNS / "clm", RUNS / "mlm", OPTIONS).sets
    assert (found.on, found.rules[0].calibrated) == (str(RUNS / "mlm"), 32)
    assert found.rules[0].sets.units == len(probabilities("mlm"))


def test_label_probabilities_make_sets_of_labels() -> None:
    found = answer_sets(RUNS / "audit", options=SetOptions(coverage=0.5))
    assert {sets.score for sets in found.sets} == {"label"}
    for sets in found.sets:
        assert all(rule.sets.mean_options == 4 for rule in sets.rules)
        assert sets.rules[0].sets.units + sets.rules[0].calibrated > 0


def test_draws_depend_on_the_unit_alone() -> None:
    (cell,) = run_cells("clm", open_runs(RUNS / "clm")[str(RUNS / "clm")], DEFAULT_OPTIONS)
    units = cell.cell.units
    draws = unit_draws(units, 0)
    moved = np.random.default_rng(0).permutation(len(units))[:7]
    assert (unit_draws(units.at(moved), 0) == draws[moved]).all()
    assert (unit_draws(units, 1) != draws).all()
    assert 0.2 < draws.mean() < 0.8
    assert len(set(draws.tolist())) == len(units)


def test_wrong_answers_are_withheld_as_promised() -> None:
    options = SetOptions(coverage=0.6, estimators=("margin",))
    (found,) = answer_sets(RUNS / "clm", options=options).withheld
    confidence = calprobe.confidences(RUNS / "clm")
    margin, right = (
        confidence.query("estimator == 'margin'")[name].to_numpy(float) for name in ("confidence", "correct")
    )
    half = np.random.default_rng([0, 2]).permutation(len(margin)) < math.ceil(len(margin) / 2)
    limit = conformal_threshold(np.where(right == 1, -np.inf, margin)[half], 0.6)
    assert found.limit == limit
    given = margin[~half] > limit
    assert (found.answered, found.wrong) == (given.sum(), (given & (right[~half] == 0)).sum())
    assert found.coverage.value == 1 - found.wrong / found.units


def test_free_answers_are_withheld_by_their_frequency() -> None:
    found = answer_sets(RUNS / "wording", options=SetOptions(coverage=0.5))
    assert {each.score for each in found.withheld} == {"frequency.majority"}
    for each in found.withheld:
        assert not each.clustered  # one answer a question
        assert 0 <= each.answered <= each.units
    assert "right or withheld (promised 50 %" in next(iter(set_sentences(found)))


def test_expected_coverage_of_groups_adds_up() -> None:
    assert expected_coverage([(9, 0)], [], 0.9) is None
    both = expected_coverage([(19, 30), (39, 50)], np.arange(80) < 74, 0.9)
    assert both is not None
    assert both.mean == pytest.approx((18 / 20 * 30 + 36 / 40 * 50) / 80)
    rng = np.random.default_rng(0)
    drawn = rng.binomial(30, rng.beta(18, 2, 20000)) + rng.binomial(50, rng.beta(36, 4, 20000))
    assert both.p_low == pytest.approx((drawn <= 74).mean(), abs=0.02)
    assert both.low * 80 == pytest.approx(np.quantile(drawn, 0.025), abs=1)
    assert both.high * 80 == pytest.approx(np.quantile(drawn, 0.975), abs=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"coverage": 1.0}, "--coverage must lie between 0 and 1; got 1.0"),
        ({"rules": ("best",)}, "--rule: no 'best'; there are lac, aps"),
        ({"by": "group"}, "--by group: .* runs of scores have relation"),
        ({"estimators": ("temperature",)}, "fitted to the answers themselves"),
        ({"estimators": ("margins",)}, "margin"),
        ({"by": "relation", "estimators": ("margin",)}, "is of sets of candidates"),
    ],
)
def test_mistakes_are_refused(options: dict, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        answer_sets(RUNS / "clm", options=SetOptions(**options))
