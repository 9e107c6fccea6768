"""Asked runs compared: by hand, by the paired bootstrap of single estimators, and by what must change nothing."""

from __future__ import annotations

import json
from dataclasses import replace

import asked_replies as made
import numpy as np
import pytest

from calprobe.cells.asked import Asked, read_sets
from calprobe.errors import UsageError
from calprobe.measures.options import DEFAULT_OPTIONS, CompareOptions, ReportOptions
from calprobe.metrics import ACCURACY, Resampling, holm, mcnemar, paired_differences, standard_metrics
from calprobe.studies.asked.compare_asked import compare_asked
from calprobe.studies.asked.compared import AskedComparison, CellPair
from calprobe.studies.asked.compared_figure import compared_forest
from calprobe.studies.asked.compared_layouts import compared_tables

QUICK = CompareOptions(scores=ReportOptions(resampling=Resampling(50)))


def run(label: str, seed: int, n: int = 40, variants: tuple[str, ...] = ("plain", "other")) -> Asked:
    """Random letters, right ones more often, and stated confidences of which some are words."""
    rng = np.random.default_rng(seed)
    gold = [at % 4 for at in range(n)]
    letters, stated = {}, {}
    for variant in variants:
        letters[variant] = ["ABCD"[g] if rng.random() < 0.5 else "ABCD"[rng.integers(4)] for g in gold]
        stated[variant] = [str(round(rng.random(), 1)) if rng.random() < 0.8 else "sure" for _ in gold]
    questions, replies = made.answered(letters, gold, stated)
    return made.asked(questions, replies, label=label)


def saying(of: Asked, label: str, stated: str) -> Asked:
    """The run with one stated confidence throughout."""
    replies = tuple(replace(own, text=stated) if own.stage.startswith("stated") else own for own in of.replies)
    return replace(of, label=label, replies=replies)


def only(found: AskedComparison, at: int = 0) -> CellPair:
    return found.pairs[0].cells[at]


def test_the_same_answers_with_confidences_that_differ_by_rounding_do_not_differ() -> None:
    """As those of one model in batches of another size: every d* of the Brier score has the same sign."""
    first = run("a", 1)
    off = [
        replace(
            own,
            label_scores=replace(own.label_scores, logprobs=np.add(own.label_scores.logprobs, [4e-5, 0, 0, 0])),
        )
        for own in first.replies
        if own.label_scores is not None
    ]
    other = replace(first, label="b", replies=(*off, *(own for own in first.replies if own.label_scores is None)))
    metrics = only(compare_asked([first, other], replace(QUICK, estimators=("label",)))).estimators["label"]
    assert {(own.difference.value, own.difference.p_value) for own in metrics.values()} == {(0.0, 1.0)}


def test_accuracy_is_compared_on_the_rows_that_both_have() -> None:
    questions, first = made.answered({"plain": ["A", "B", "C", "A"]}, [0, 1, 2, 3])
    _, second = made.answered({"plain": ["A", "A", "C", "D"]}, [0, 1, 2, 3])
    failed = replace(second[0], finish="error", error="500", text="")
    runs = [made.asked(questions, first, label="a"), made.asked(questions, [failed, *second[1:]], label="b")]
    cell = only(compare_asked(runs, QUICK))
    assert (cell.questions, cell.rows, cell.alone) == (3, 3, (1, 0))
    accuracy = cell.contrasts[0]
    assert (accuracy.estimator, accuracy.metric) == ("last_marker", "accuracy")
    # On q1, q2, q3 the first is right, right, wrong; the second wrong, right, right.
    assert (accuracy.first.value, accuracy.second.value) == pytest.approx((2 / 3, 2 / 3))
    shares = cell.agreement["last_marker"]
    assert (shares.both_right, shares.first_right, shares.second_right) == pytest.approx((1 / 3, 1 / 3, 1 / 3))
    assert shares.same_prediction == pytest.approx(1 / 3)
    assert shares.mcnemar_p == mcnemar(1, 1)


def test_differences_are_those_of_the_paired_bootstrap() -> None:
    runs = [run("a", 1), run("b", 2)]
    found = compare_asked(runs, QUICK)
    both = [next(read_sets(each, DEFAULT_OPTIONS)).cells["other"].confidences["stated_decimal"] for each in runs]
    kept = both[0].read & both[1].read
    metrics = [metric for metric in standard_metrics() if metric.name in ("brier", "ece", "auroc")]
    samples = {name: (own.confidence[kept], own.correct[kept]) for name, own in zip("ab", both, strict=True)}
    wanted = paired_differences(metrics, samples, [("a", "b")], Resampling(50))["a", "b"]
    cell = only(found, 1)
    assert cell.first == cell.second == "other"
    assert cell.counts["stated_decimal"] == kept.sum() < cell.rows
    got = {own.metric: own.difference for own in cell.contrasts if own.estimator == "stated_decimal"}
    assert got == wanted


def test_every_p_value_is_corrected() -> None:
    found = list(compare_asked([run("a", 1), run("b", 2)], QUICK).contrasts)
    p_values = np.array([own.difference.p_value for own in found])
    np.testing.assert_array_equal([own.p_holm for own in found], holm(p_values))
    assert {own.metric for own in found if np.isnan(own.p_holm)} == {"auroc"}  # where few answers are right


def test_by_default_one_estimator_of_each_kind_is_compared_and_others_by_name() -> None:
    runs = [run("a", 1), run("b", 2)]
    found = compare_asked(runs, QUICK)
    assert {own.estimator for own in found.contrasts} == {"last_marker", "label", "stated_decimal"}
    of_few = [own for own in found.contrasts if np.isnan(own.difference.p_value)]
    assert len(list(found.contrasts)) == 2 * (1 + 2 * 3), "two variants: accuracy; Brier, ECE, AUROC of two estimators"
    assert found.tests == 2 * 7 - len(of_few)
    assert found.correction == "max-t"
    assert found.by_name == ("--estimator label_raw,label_answer", "--reader first_char")
    named = replace(QUICK, estimators=("label_raw", "label_answer"), metrics=("ace",), correction="holm")
    read = replace(QUICK.scores, readers=("first_char", "last_marker"))
    more = compare_asked(runs, replace(named, scores=read))
    assert {(own.estimator, own.metric) for own in more.contrasts} == {
        ("first_char", "accuracy"),
        ("last_marker", "accuracy"),
        ("label_raw", "ace"),
        ("label_answer", "ace"),
    }
    assert (more.correction, more.by_name) == ("holm", ())


def test_where_the_reply_has_another_form_the_label_probability_is_that_of_the_answer() -> None:
    runs = [run(name, seed, variants=("plain", "reasoned")) for name, seed in (("a", 1), ("b", 2))]
    cells = {cell.first: cell for cell in compare_asked(runs, QUICK).pairs[0].cells}
    of = {name: {own.estimator for own in cell.contrasts} for name, cell in cells.items()}
    assert of["plain"] == {"last_marker", "label", "stated_decimal"}
    assert of["reasoned"] == {"last_marker", "label_answer", "stated_decimal"}


def test_a_large_difference_is_significant_by_default() -> None:
    one = run("a", 1, n=60, variants=("one", "two", "three", "four"))
    found = compare_asked([saying(one, "a", "0.6"), saying(one, "b", "0.0")])
    brier = [own for own in found.contrasts if (own.estimator, own.metric) == ("stated_decimal", "brier")]
    assert found.tests == 28
    assert all(own.second.value - own.first.value > 0.1 for own in brier)
    assert all(own.p_corrected < 0.05 for own in brier)


def test_what_chance_makes_of_errors_stands_below_them() -> None:
    found = compare_asked([run("a", 1), run("b", 2)], QUICK)
    own = next(own for own in found.contrasts if (own.estimator, own.metric) == ("stated_decimal", "ece"))
    assert own.by_chance is not None
    (table,) = compared_tables(found)
    labels = [row.label for row in table.rows]
    at = labels.index("stated_decimal ECE")
    assert labels[at + 1 : at + 3] == ["stated_decimal ECE if cal.", "stated_decimal ECE p"]
    assert table.rows[at + 1].cells[:2] == tuple(side.size for side in own.by_chance)
    assert table.rows[at + 2].cells[:2] == tuple(side.p for side in own.by_chance)
    assert all(0 < side.size.low < side.size.value < side.size.high for side in own.by_chance)
    assert own.to_json()["p_calibrated"] == [side.p for side in own.by_chance]


def test_a_run_and_itself_do_not_differ_and_the_other_order_turns_signs() -> None:
    one, two = run("a", 1), run("b", 2)
    for own in compare_asked([one, replace(one, label="again")], QUICK).contrasts:
        assert own.difference.value == 0 or np.isnan(own.difference.value)
    forth, back = (list(compare_asked(each, QUICK).contrasts) for each in ([one, two], [two, one]))
    for own, other in zip(forth, back, strict=True):
        assert own.difference.value == pytest.approx(-other.difference.value)
        assert own.difference.low == pytest.approx(-other.difference.high, nan_ok=True)


def test_variants_of_one_run() -> None:
    one = run("a", 1, variants=("plain", "other", "reasoned"))
    found = compare_asked([one], QUICK)
    assert found.within
    assert [(cell.first, cell.second) for cell in found.pairs[0].cells] == [("other", "plain"), ("reasoned", "plain")]
    named = compare_asked([one], QUICK, variants=[("plain", "other")])
    assert only(named).contrasts[0].difference.value == pytest.approx(-only(found).contrasts[0].difference.value)
    within = json.loads(json.dumps(named.to_json()))["within"]
    assert within["variants"]["quiz"][0]["n"] == 40
    assert set(within["variants"]["quiz"][0]["estimators"]["label"]) == {"brier", "ece", "auroc"}
    by = compare_asked([one], replace(QUICK, baseline="other"))
    assert [cell.second for cell in by.pairs[0].cells] == ["other", "other"]


def test_questions_of_one_id_with_other_words_are_not_compared() -> None:
    one, two = run("a", 1), run("b", 2)
    (own,) = two.sets
    changed = (replace(own.questions[0], text="Another?"), *own.questions[1:])
    found = compare_asked([one, replace(two, sets=(replace(own, questions=changed),))], QUICK)
    assert only(found).questions == 39
    assert "quiz: 1 question of one id, with other words or answers" in found.pairs[0].left_out


def test_samples_of_a_question_are_drawn_together() -> None:
    runs = []
    for label, seed in (("a", 1), ("b", 2)):
        one = run(label, seed, variants=("plain",))
        more = tuple(replace(own, sample=1, key=f"{own.key} 1") for own in one.replies)
        runs.append(replace(one, replies=(*one.replies, *more)))
    cell = only(compare_asked(runs, QUICK))
    assert (cell.questions, cell.rows) == (40, 80)
    assert np.isnan(cell.agreement["last_marker"].mcnemar_p)
    opened = [next(read_sets(each, DEFAULT_OPTIONS)) for each in runs]
    right = [own.cells["plain"].answers["last_marker"].correct for own in opened]
    samples = {name: (own.astype(np.float64), own) for name, own in zip("ab", right, strict=True)}
    questions = opened[0].cells["plain"].units.clusters
    wanted = paired_differences([ACCURACY], samples, [("a", "b")], Resampling(50), questions)["a", "b"]
    assert cell.contrasts[0].difference == wanted["accuracy"]
    assert wanted != paired_differences([ACCURACY], samples, [("a", "b")], Resampling(50))["a", "b"]


def test_tables_and_figure_have_every_number() -> None:
    found = compare_asked([run("a", 1), run("b", 2)], replace(QUICK, margin=0.05))
    (table,) = compared_tables(found)
    errors = [own for own in found.contrasts if own.metric == "ece"]
    assert len(table.rows) == len(list(found.contrasts)) + 2 * len(errors)
    assert [column.title for column in table.columns] == ["A", "B", "A - B", "p ±.05", "p", "max-T p"]
    figure = compared_forest(found)
    assert [row.label for row in figure.rows] == ["a − b\nquiz, plain", "a − b\nquiz, other"]
    assert list(figure.panels) == ["accuracy", "brier", "ece", "auroc"]


@pytest.mark.parametrize(
    ("options", "variants", "said"),
    [
        (replace(QUICK, metrics=("breir",)), None, "--metric: no 'breir'; did you mean brier"),
        (replace(QUICK, estimators=("margin",)), None, "no estimator margin .*; give some of label_raw"),
        (QUICK, [("plain", "othr")], "--variants: no 'othr'; did you mean other"),
        (replace(QUICK, pairs=(("a", "b"),)), None, "pairs: 'b' is none of the runs"),
    ],
)
def test_what_is_not_there_is_named(options: CompareOptions, variants: list[tuple[str, str]] | None, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        compare_asked([run("a", 1), run("c", 2)], options, variants=variants)


def test_runs_without_a_common_question_are_refused() -> None:
    with pytest.raises(UsageError, match="a and b have no question in common under one variant; give --variants A:B"):
        compare_asked([run("a", 1, variants=("plain",)), run("b", 2, variants=("other",))], QUICK)
