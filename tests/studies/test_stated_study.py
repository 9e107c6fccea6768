"""The study of stated confidence on scripted models: every number has the value that is known in closed form."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from stated_samples import (
    CALIBRATED,
    Scripted,
    calibrated,
    constant,
    copies_gold,
    ignores_reversal,
    saying,
    scripted_run,
)

from calprobe.cells.asked import Asked, read_sets
from calprobe.measures.options import ReportOptions
from calprobe.metrics import Resampling, brier, smooth_ece
from calprobe.metrics.bootstrap import draw_samples
from calprobe.metrics.consistency import largest_deviation
from calprobe.metrics.ranking import AURC
from calprobe.metrics.stated2025 import smooth_ece_relplot10
from calprobe.prompts.types import Stated
from calprobe.runs.replies import LabelScores, Reply
from calprobe.studies.asked.report_asked import report_asked_run
from calprobe.studies.stated.drawn import Drawn, over_prompts
from calprobe.studies.stated.figures import stated_pictures
from calprobe.studies.stated.layouts import correlation_tables, reliability_table
from calprobe.studies.stated.numbers import stated_run
from calprobe.studies.stated.reliability import reliability_metrics
from calprobe.studies.stated.results import StatedRun, StatedScope

OPTIONS = ReportOptions(resampling=Resampling(0))
DRAWN = ReportOptions(resampling=Resampling(40))
FORWARD = (
    "probability_1",
    "probability_percent",
    "probability_10",
    "confidence_1",
    "certainty_1",
    "expression",
    "letter",
)
REVERSED = ("reversed_1", "reversed_percent", "reversed_10")
BRIER = (0.09 + 0.25 + 0.09) / 3  # of the calibrated plan: mean of v (1 - v)
AUROC = 192.5 / 225  # of its 15 right and 15 wrong answers
CLOSE = pytest.approx


def study(asked: Asked, options: ReportOptions = OPTIONS) -> StatedRun:
    cells = [cell for own in read_sets(asked, options) for cell in own.cells.values()]
    found = stated_run(asked, cells, options)
    assert found is not None
    return found


def only(run: StatedRun, kind: str = "set", way: str = "ok") -> StatedScope:
    (found,) = [own for own in run.scopes if own.kind == kind and own.way == way]
    return found


def of(rule: object, plan: object = CALIBRATED) -> StatedScope:
    return only(study(scripted_run({"facts": Scripted(plan, rule)})))  # type: ignore[arg-type]


def test_a_calibrated_model_is_consistent_faithful_and_reliable() -> None:
    found = of(calibrated)
    assert found.answers == 30
    assert [own.msd.value for own in found.deviations.values()] == [0.0] * 5
    assert all(own.pearson.value == CLOSE(1) and own.spearman.value == CLOSE(1) for own in found.pairs)
    assert len(found.pairs) == 45
    for name in (*FORWARD, *REVERSED, "mean"):
        own, fidelity = found.reliability[name].metrics, found.fidelity[name]
        assert own["brier"].value == CLOSE(BRIER)
        assert own["brier_skill"].value == CLOSE(1 - BRIER / 0.25)
        assert own["ece_values"].value == CLOSE(0, abs=1e-12)
        assert own["ece"].value == CLOSE(0, abs=1e-12)
        assert own["auroc"].value == CLOSE(AUROC)
        assert own["accuracy"].value == CLOSE(0.5)
        assert (fidelity.rate.value, fidelity.ties.value, fidelity.neutral.value) == (1.0, 0.0, 1.0)
        assert (fidelity.answers, found.reliability[name].coverage) == (30, 1.0)
    for own in found.reversals:
        assert (own.answers, own.compared) == (30, 20)  # 10 of 0.5, which tell nothing
        assert (own.same_number.value, own.turned.value, own.nearer.value) == (0.0, 1.0, 0.0)
        assert own.pearson.value == CLOSE(1)
        assert not own.ignored


def test_mean_confidence_by_condition_and_by_right_and_wrong() -> None:
    found = of(calibrated).conditions
    assert list(found) == ["original", "target", "counterfactual", "abstain1"]
    # Right answers: 1 of 0.1, 5 of 0.5, 9 of 0.9; wrong ones the other way round.
    means = {"all": 0.5, "right": (0.1 + 2.5 + 8.1) / 15, "wrong": (0.9 + 2.5 + 0.9) / 15}
    assert {split: own["mean"].value.value for split, own in found["original"].items()} == CLOSE(means)
    assert {split: own["letter"].value.value for split, own in found["original"].items()} == CLOSE(means)
    for condition, value in (("target", 0.95), ("counterfactual", 0.02), ("abstain1", 0.02)):
        assert [own["mean"].value.value for own in found[condition].values()] == CLOSE([value] * 3)
    assert found["target"]["wrong"]["mean"].answers == 15


def test_the_distribution_of_confidences_by_condition() -> None:
    asked = scripted_run({"facts": Scripted(CALIBRATED, calibrated)})
    cells = [cell for own in read_sets(asked, OPTIONS) for cell in own.cells.values()]
    pictures = stated_pictures(study(asked), cells, OPTIONS)
    (found,) = pictures.distributions
    shares = dict(zip(found.variants, found.values, strict=True))
    # A third each of 0.1, 0.5 and 0.9, which are upper ends of bins; 0.95 lies in the last bin.
    np.testing.assert_allclose(shares["original"], [1 / 3, 0, 0, 0, 1 / 3, 0, 0, 0, 1 / 3, 0])
    np.testing.assert_allclose(shares["target"], [0] * 9 + [1])
    assert [kind for kind, _ in pictures.drawn()][-1] == "distribution"


def test_a_group_of_prompts_has_the_means_of_its_members() -> None:
    run = study(scripted_run({"facts": Scripted(CALIBRATED, calibrated), "more": Scripted(CALIBRATED, constant)}))
    for scope in run.of("ok"):
        for group in scope.deviations.values():
            rates = [scope.fidelity[name].rate.value for name in group.prompts]
            scores = [scope.reliability[name].metrics["brier"].value for name in group.prompts]
            assert group.fidelity is not None
            assert group.brier is not None
            assert (group.fidelity.value, group.brier.value) == CLOSE((np.mean(rates), np.mean(scores)))
        every, mean = scope.deviations["All"], scope.reliability["mean"].metrics["brier"]
        assert (every.fidelity, every.brier) == (scope.fidelity["mean"].rate, mean)


def test_the_overview_has_three_qualities_of_each_group() -> None:
    asked = scripted_run({"facts": Scripted(CALIBRATED, calibrated)})
    cells = [cell for own in read_sets(asked, OPTIONS) for cell in own.cells.values()]
    run = study(asked)
    (found,) = stated_pictures(run, cells, OPTIONS).overviews
    groups = only(run).deviations
    assert found.groups == tuple(groups)
    assert found.values == tuple((own.msd, own.fidelity, own.brier) for own in groups.values())


def test_a_constant_model_is_consistent_and_means_nothing() -> None:
    run = study(scripted_run({"facts": Scripted(CALIBRATED, constant)}))
    found = only(run)
    assert [own.msd.value for own in found.deviations.values()] == [0.0] * 5
    assert all(np.isnan(own.pearson.value) for own in found.pairs)
    for name in ("expression", "reversed_10", "mean"):
        own, fidelity = found.reliability[name].metrics, found.fidelity[name]
        assert own["brier"].value == CLOSE(0.5 * 0.01 + 0.5 * 0.81)
        assert own["brier_skill"].value == CLOSE(1 - 0.41 / 0.25)
        assert [own["ece"].value, own["ece_values"].value] == CLOSE([0.4, 0.4])
        assert own["auroc"].value == 0.5
        assert (fidelity.rate.value, fidelity.ties.value, fidelity.neutral.value) == (0.0, 1.0, 0.5)
    use = found.values["letter"]
    assert (use.distinct, use.mode, use.mode_share, use.entropy, use.constant) == (1, 0.9, 1.0, 0.0, True)
    (warning,) = run.warnings
    assert warning.startswith("facts: always the same confidence under probability_1, ")


def test_what_chance_makes_of_errors_stands_beside_them() -> None:
    run = study(scripted_run({"facts": Scripted(CALIBRATED, constant)}), DRAWN)
    for name in ("letter", "mean"):
        found = only(run).reliability[name].metrics
        for error in ("ece", "ece_values"):
            assert found[error].value == CLOSE(0.4)
            # Of 30 answers with 0.9 that are calibrated, 12 more wrong ones than expected are in none of 40 draws.
            assert 0 < found[f"{error}_if_calibrated"].value < 0.1
            assert found[f"{error}_p"].value == CLOSE(1 / 41)
    metrics = reliability_metrics(DRAWN)
    titles = [column.title for column in reliability_table(run, metrics).columns]
    assert titles[titles.index("ECE") :][:3] == ["ECE", "ECE if cal.", "ECE p"]
    many = replace(run, scopes=tuple(replace(scope, answers=1000) for scope in run.scopes))
    assert "ECE p" not in [column.title for column in reliability_table(many, metrics).columns]


def test_a_scale_that_was_not_reversed_is_found() -> None:
    run = study(scripted_run({"facts": Scripted(CALIBRATED, ignores_reversal)}))
    found = only(run)
    for own in found.reversals:
        assert (own.same_number.value, own.turned.value, own.nearer.value) == (1.0, 0.0, 1.0)
        assert own.pearson.value == CLOSE(-1)
        assert own.ignored
    assert [own.prompt for own in found.reversals] == list(REVERSED)
    # Seven confidences c and three 1 - c: they differ by 0.8 on the two levels that are not 0.5.
    deviation = np.std([0.9] * 7 + [0.1] * 3, ddof=1)
    assert found.deviations["All"].msd.value == CLOSE(2 / 3 * deviation)
    assert found.deviations["All"].share.value == CLOSE(2 / 3 * deviation / largest_deviation(10))
    assert found.deviations["reversed"].msd.value == 0
    for name in REVERSED:
        own = found.reliability[name].metrics
        assert own["auroc"].value == CLOSE(1 - AUROC)
        assert own["ece_values"].value == CLOSE(2 / 3 * 0.8)
        assert own["brier"].value == CLOSE((2 * (0.9 * 0.81 + 0.1 * 0.01) + 0.25) / 3)
    assert any("reversed_1, reversed_percent, reversed_10 got the numbers" in text for text in run.warnings)


def test_a_model_that_is_as_sure_of_any_answer_as_of_the_right_one() -> None:
    plan = [(0.2 if at % 4 < 2 else 0.8, at % 2 == 0) for at in range(40)]  # confidence and right: independent
    found = of(copies_gold, plan)
    fidelity = found.fidelity["mean"]
    assert (fidelity.rate.value, fidelity.ties.value, fidelity.neutral.value) == (0.0, 1.0, 0.5)
    for splits in found.conditions.values():
        assert [own["mean"].value.value for own in splits.values()] == CLOSE([0.5] * 3)
    own = found.reliability["certainty_1"].metrics
    assert own["auroc"].value == 0.5
    assert own["ece_values"].value == CLOSE(0.3)
    assert own["brier"].value == CLOSE((0.04 + 0.64) / 2)


def test_macro_is_the_mean_of_sets_and_pooled_their_union() -> None:
    plan = [(0.9, at < 5) for at in range(20)]
    run = study(scripted_run({"a": Scripted(CALIBRATED, calibrated), "b": Scripted(plan, constant)}), DRAWN)
    macro, pooled = only(run, "macro"), only(run, "pooled")
    name = "probability_10"
    of_b = (0.25 * 0.01) + 0.75 * 0.81
    assert macro.reliability[name].metrics["brier"].value == CLOSE((BRIER + of_b) / 2)
    assert pooled.reliability[name].metrics["brier"].value == CLOSE((30 * BRIER + 20 * of_b) / 50)
    assert macro.fidelity[name].rate.value == CLOSE(0.5)
    assert pooled.fidelity[name].rate.value == CLOSE(0.6)
    # Between the sets alone: 0.9 is right 9 of 10 times in one and 5 of 20 times in the other.
    assert pooled.reliability[name].answers == pooled.answers == 50
    brier_ = macro.reliability["mean"].metrics["brier"]
    assert brier_.low < brier_.value < brier_.high
    assert macro.values == {}


@pytest.mark.parametrize("right", [True, False])
def test_answers_that_are_all_right_or_all_wrong_leave_the_accuracy_open(right: bool) -> None:
    """So do the mean over prompts, which are of the same answers, and that over sets, which know more together."""
    plan = [(0.9, right)] * 15
    run = study(scripted_run({name: Scripted(plan, constant) for name in "ab"}), DRAWN)
    reach = {n: 1 - 0.025 ** (1 / n) for n in (15, 30)}
    for scope, n in ((run.scopes[0], 15), (only(run, "macro"), 30), (only(run, "pooled"), 30)):
        for name in ("probability_10", "mean"):
            accuracy, gap = (scope.reliability[name].metrics[metric] for metric in ("accuracy", "confidence_gap"))
            ends = (1 - reach[n], 1) if right else (0, reach[n])
            assert (accuracy.low, accuracy.high) == CLOSE(ends)
            assert (gap.low, gap.high) == CLOSE((0.9 - ends[1], 0.9 - ends[0]))


def test_what_could_not_be_read_leaves_its_own_numbers_alone() -> None:
    asked = scripted_run(
        {"facts": Scripted(CALIBRATED, calibrated)}, change=saying("no idea", "stated:probability_1", ["q0", "q1"])
    )
    run = study(asked)
    found = only(run)
    assert (found.deviations["scale"].answers, found.deviations["linguistic"].answers) == (28, 30)
    assert found.reliability["probability_1"].coverage == CLOSE(28 / 30)
    assert found.reliability["letter"].coverage == 1
    assert (found.fidelity["probability_1"].answers, found.fidelity["letter"].answers) == (28, 30)
    assert found.reliability["mean"].answers == 28
    complete = only(run, way="complete")
    assert {own.answers for own in complete.reliability.values()} == {28}
    right = [own for place, (_, own) in enumerate(CALIBRATED) if place > 1]
    said = [own for place, (own, _) in enumerate(CALIBRATED) if place > 1]
    assert complete.reliability["letter"].metrics["brier"].value == CLOSE(float(brier(said, right)))


@pytest.mark.parametrize(("kept", "shown"), [(10, True), (9, False)])
def test_a_correlation_of_few_answers_is_not_shown(kept: int, shown: bool) -> None:
    unread = [f"q{place}" for place in range(5, 35 - kept)]
    asked = scripted_run(
        {"facts": Scripted(CALIBRATED, calibrated)}, change=saying("no idea", "stated:probability_1", unread)
    )
    run = study(asked)
    found = only(run)
    assert np.isnan(found.pearson("probability_1", "letter")) != shown
    cells = [row.cells for row in next(correlation_tables(run)).rows if row.keys["prompt"] == "probability_1"]
    assert all((own[[prompt.name for prompt in run.prompts].index("letter")] is not None) == shown for own in cells)
    (pair,) = [own for own in found.pairs if {own.first, own.second} == {"probability_1", "letter"}]
    assert (pair.answers, np.isnan(pair.pearson.value)) == (kept, False)  # as in the JSON


def test_lenient_replies_are_a_second_line() -> None:
    change = saying("90%", "stated:probability_1", [f"q{at}" for at in range(20, 30)])
    run = study(scripted_run({"facts": Scripted(CALIBRATED, calibrated)}, change=change))
    strict, lenient = only(run), only(run, way="lenient")
    assert strict.reliability["probability_1"].answers == 20
    assert lenient.reliability["probability_1"].answers == 30
    assert lenient.reliability["probability_1"].metrics["brier"].value == CLOSE(BRIER)


def test_counterfactuals_that_are_no_other_answers_are_dropped() -> None:
    given = {"q0": "Gold 0.", "q1": "other 1", "q2": "gold 3"}  # right; the model's own; another answer

    def change(own: Reply) -> Reply:
        return replace(own, given=given.get(own.question)) if own.stage.endswith("@counterfactual") else own

    found = only(study(scripted_run({"facts": Scripted(CALIBRATED, calibrated)}, change=change))).fidelity
    assert {(own.answers, own.dropped) for own in found.values()} == {(28, 2)}


def test_conditions_are_of_the_same_answers_and_prompts() -> None:
    """A prompt that is never read behind counterfactuals, answers that one condition lacks, and repeated ones."""

    def change(own: Reply) -> Reply:
        if own.stage == "stated:letter@counterfactual" or (own.stage == "stated:certainty_1" and own.question == "q9"):
            return replace(own, text="no idea")
        if own.question == "q0" and own.stage.endswith("@counterfactual"):
            return replace(
                own, given="gold 0", text="0.9" if own.stage.startswith("stated:probability_1@") else own.text
            )
        return own

    found = only(study(scripted_run({"facts": Scripted(CALIBRATED, calibrated)}, change=change)))
    for splits in found.conditions.values():
        assert "letter" not in splits["all"]
        assert [splits["all"][name].answers for name in ("probability_1", "certainty_1")] == [29, 28]
        assert (splits["all"]["mean"].answers, splits["all"]["mean"].prompts) == (28, 9)
    assert found.conditions["counterfactual"]["all"]["probability_1"].value.value == CLOSE(0.02)
    said = [own for place, (own, _) in enumerate(CALIBRATED) if place]
    assert found.conditions["original"]["all"]["probability_1"].value.value == CLOSE(np.mean(said))
    assert (found.fidelity["mean"].prompts, found.reliability["mean"].prompts) == (9, 10)


@pytest.mark.parametrize("n_wrong", [9, 10])
def test_a_mean_over_prompts_has_no_interval_where_the_order_of_few_answers_has_none(n_wrong: int) -> None:
    confidence, correct = np.random.default_rng(0).random((2, 60)), np.arange(60) >= n_wrong
    samples = {str(place): (values, correct) for place, values in enumerate(confidence)}
    drawn = draw_samples([AURC], samples, Resampling(50), None)
    mean = over_prompts([Drawn(by_name["aurc"], 60, AURC) for by_name in drawn.values()]).estimate
    assert not np.isnan(mean.value)
    assert np.isnan(mean.low) == (n_wrong < 10)


def test_a_mean_over_prompts_and_sets_is_of_the_prompts_that_all_sets_have() -> None:
    """Of b's prompt `letter`, which is the only one that says 0.9, nothing is read."""

    def rule(confidence: float, right: bool, prompt: Stated, condition: str) -> float:
        return 0.9 if prompt.name == "letter" else 0.5

    def change(own: Reply) -> Reply:
        return replace(own, text="no idea") if own.set == "b" and "letter" in own.stage else own

    models = {name: Scripted(CALIBRATED, rule) for name in "ab"}
    run = study(scripted_run(models, change=change))
    macro = only(run, "macro")
    assert "letter" not in macro.reliability
    assert (macro.reliability["mean"].prompts, macro.reliability["mean"].metrics["brier"].value) == (9, CLOSE(0.25))
    for splits in macro.conditions.values():
        assert (splits["all"]["mean"].prompts, splits["all"]["mean"].value.value) == (9, CLOSE(0.5))
    assert macro.fidelity["mean"].prompts == 9
    assert [own.reliability["mean"].prompts for own in run.of("ok", "set")] == [10, 9]


def test_an_answer_whose_request_failed_is_no_wrong_answer() -> None:
    """The first reader reads conclusions, and those of ten answers never came."""
    asked = scripted_run({"facts": Scripted(CALIBRATED, calibrated)})
    assert asked.prompts is not None
    concluded = replace(asked.prompts.variants[0], conclusion="So?")
    finals = [
        replace(own, stage="final", key=f"f{own.key}")
        if int(own.question[1:]) < 20
        else replace(own, stage="final", key=f"f{own.key}", text="", finish="error", error="timeout")
        for own in asked.replies
        if own.stage == "answer"
    ]
    prompts = replace(asked.prompts, variants=(concluded,))
    found = only(study(replace(asked, replies=(*asked.replies, *finals), prompts=prompts)))
    own = found.reliability["letter"]
    assert (own.answers, own.coverage) == (20, 1.0)
    assert own.metrics["accuracy"].value == CLOSE(6 / 20)
    assert {each.answers for each in (*found.fidelity.values(), found.conditions["target"]["all"]["mean"])} == {20}


def test_answers_that_say_nothing_are_left_out_of_a_second_line() -> None:
    asked = scripted_run(
        {"facts": Scripted(CALIBRATED, calibrated)}, change=saying("I don't know.", "answer", ["q1", "q2"])
    )
    run = study(asked)
    assert only(run).reliability["letter"].answers == 30
    found = only(run, way="answered")
    assert (found.reliability["letter"].answers, found.fidelity["letter"].answers) == (28, 28)
    assert found.reliability["letter"].coverage == 1


def test_expected_values_over_a_scale_are_a_way_of_their_own() -> None:
    none = np.array([-np.inf])
    scores = LabelScores(("1", "9"), ((1,), (2,)), np.array([0]), np.log([[0.25, 0.75]]), none)

    def change(own: Reply) -> Reply:
        return replace(own, label_scores=scores) if own.stage.startswith("stated:probability_10") else own

    run = study(scripted_run({"facts": Scripted(CALIBRATED, calibrated)}, change=change))
    found = only(run, way="expected")
    assert list(found.reliability) == ["probability_10", "mean"]
    assert found.values["probability_10"].mode == CLOSE(0.25 * 0.1 + 0.75 * 0.9)
    assert found.reliability["mean"].metrics["brier"].value == CLOSE((0.3**2 + 0.7**2) / 2)
    assert found.fidelity["probability_10"].ties.value == 1
    assert only(run).reliability["probability_10"].metrics["brier"].value == CLOSE(BRIER)


def test_no_order_of_replies_and_no_other_run_changes_a_number() -> None:
    asked = scripted_run({"facts": Scripted(CALIBRATED, ignores_reversal)})
    turned = Asked(asked.label, asked.model, asked.sets, tuple(reversed(asked.replies)), asked.prompts)
    first, second = (study(own, DRAWN).to_json() for own in (asked, turned))
    conditions = [run["variants"]["direct"]["ok"]["sets"]["facts"].pop("conditions") for run in (first, second)]
    assert conditions[0] == conditions[1]
    assert json.dumps(first, allow_nan=False) == json.dumps(second, allow_nan=False)


def test_the_papers_errors_are_there_under_compat_alone() -> None:
    asked = scripted_run({"facts": Scripted(CALIBRATED, constant)})
    plain = only(study(asked)).reliability["letter"].metrics
    assert "smooth_ece_relplot10" not in plain
    assert "ece_lower_edges" not in plain
    paper = (
        only(study(asked, ReportOptions(compat="stated2025", resampling=Resampling(0)))).reliability["letter"].metrics
    )
    right = [own for _, own in CALIBRATED]
    assert paper["smooth_ece_relplot10"].value == CLOSE(smooth_ece_relplot10([0.9] * 30, right))
    assert paper["ece_lower_edges"].value == CLOSE(0.4)
    assert paper["smooth_ece"].value == CLOSE(float(smooth_ece([0.9] * 30, right)))


def test_a_run_of_two_phrasings_is_no_study() -> None:
    import asked_replies as made

    questions, replies = made.answered({"plain": ["A", "B"]}, [0, 0], {"plain": ["0.9", "0.5"]})
    assert report_asked_run(made.asked(questions, replies), OPTIONS).stated is None
