"""Numbers of asked cells, sets and runs: by hand, by closed forms, and by the rules of failure."""

from __future__ import annotations

from dataclasses import replace

import asked_replies as made
import numpy as np
import pytest

from calprobe.cells.asked import Asked
from calprobe.errors import UsageError
from calprobe.measures.options import ReportOptions
from calprobe.metrics import Resampling, brier, ece
from calprobe.show.tables.types import value_of
from calprobe.studies.asked.accuracy_layouts import answers_table
from calprobe.studies.asked.asked_tables import asked_tables, heading
from calprobe.studies.asked.confidence_layouts import stated_table
from calprobe.studies.asked.figures import matrix_values, pictures
from calprobe.studies.asked.report_asked import report_asked, report_asked_run
from calprobe.studies.asked.results import AskedRunReport, SetReport

QUICK = Resampling(20)
OPTIONS = ReportOptions(resampling=QUICK)


def report(asked: Asked, options: ReportOptions = OPTIONS) -> AskedRunReport:
    return report_asked_run(asked, options)


def four_rows() -> Asked:
    """Right answers A, A, A, A; replies A, B, nothing, A; stated 0.9, 0.5, 0.8, and words."""
    questions, replies = made.answered(
        {"plain": ["A", "B", "no idea", "A"]}, [0, 0, 0, 0], {"plain": ["0.9", "0.5", "0.8", "very sure"]}
    )
    return made.asked(questions, replies)


def test_a_cell_by_hand() -> None:
    cell = report(four_rows()).sets["quiz"].cells["plain"]
    assert (cell.rows, cell.failed, cell.chance, cell.reader) == (4, 0, 0.25, "last_marker")
    accuracy = cell.accuracy["last_marker"]
    assert accuracy.value.value == 0.5  # what was not read is incorrect
    assert accuracy.of_read.value == pytest.approx(2 / 3)  # or left out
    assert (accuracy.unread, accuracy.reasons) == (1, {"none": 1})
    stated = cell.estimators["stated_decimal"]
    assert stated.rows == 3
    assert stated.coverage.value == 0.75
    assert stated.reasons == {"none": 1}
    squared = [(0.9 - 1) ** 2, 0.5**2, 0.8**2]
    assert stated.metrics["brier"].value == pytest.approx(sum(squared) / 3)
    assert stated.brier_bounds == pytest.approx((sum(squared) / 4, (sum(squared) + 1) / 4))
    assert stated.metrics["accuracy"].value == pytest.approx(1 / 3)


def test_bounds_of_brier_are_those_of_the_best_and_the_worst_filling() -> None:
    asked = four_rows()
    cell = report(asked).sets["quiz"].cells["plain"]
    low, high = cell.estimators["stated_decimal"].brier_bounds
    correct = [True, False, False, True]
    fillings = [float(brier([0.9, 0.5, 0.8, own], correct)) for own in np.linspace(0, 1, 11)]
    assert (min(fillings), max(fillings)) == pytest.approx((low, high))


def test_signed_overconfidence_by_hand() -> None:
    found = report(four_rows()).sets["quiz"].cells["plain"].overconfidence["stated_decimal"]
    # On the three rows with both: stated 0.9, 0.5, 0.8; right 1, 0, 0; label 2/3 where a letter was said, else 1/4.
    assert found.rows == 3
    assert found.accuracy.value == pytest.approx(2.2 / 3 - 1 / 3)
    assert found.label is not None
    assert found.label.value == pytest.approx(2.2 / 3 - (2 / 3 + 2 / 3 + 1 / 4) / 3)
    assert found.ece_gap is not None
    stated = float(ece([0.9, 0.5, 0.8], [True, False, False]))
    label = float(ece([2 / 3, 2 / 3, 1 / 4], [True, False, True]))  # the label's own answers: A, B, A
    assert found.ece_gap.value == pytest.approx(stated - label)
    assert (found.distinct, found.mode_share) == (3, pytest.approx(1 / 3))
    assert found.accuracy_unread.value == 1.0


@pytest.mark.parametrize("letter", ["A", "B"])
def test_answers_that_are_all_right_or_all_wrong_have_one_gap_in_all_tables(letter: str) -> None:
    questions, replies = made.answered({"plain": [letter] * 12}, [0] * 12, {"plain": ["0.9"] * 12})
    cell = report(made.asked(questions, replies)).sets["quiz"].cells["plain"]
    over, gap = (
        cell.overconfidence["stated_decimal"].accuracy,
        cell.estimators["stated_decimal"].metrics["confidence_gap"],
    )
    assert (over.value, over.low, over.high) == (gap.value, gap.low, gap.high)
    assert over.low < over.high
    assert (over.p_value < 0.1) == (letter == "B")  # of 20 resamples


def test_confidences_that_are_equal_but_for_rounding_are_ties() -> None:
    """.95 of the mass of all labels, by masses whose quotients differ in their last digit."""
    questions = [made.choice(f"q{at}") for at in range(9)]
    masses = [[0.95 * total, *[total * 0.05 / 3] * 3] for total in np.linspace(0.9, 0.999, 9)]
    quotients = {own[0] / sum(own) for own in masses}
    assert len(quotients) > 1
    replies = [
        made.reply(question.id, "AB"[at % 2], label_scores=made.scores(own))
        for at, (question, own) in enumerate(zip(questions, masses, strict=True))
    ]
    replies += [made.reply(question.id, "99.9%", stage="stated:percent") for question in questions]
    questions = [replace(question, answer=at % 2) for at, question in enumerate(questions)]
    cell = report(made.asked(questions, replies)).sets["quiz"].cells["plain"]
    assert cell.estimators["label"].metrics["auroc"].value == 0.5
    assert cell.overconfidence["stated_percent"].mode == 0.999


def test_stated_confidence_and_label_may_be_of_different_answers_where_the_reply_reasons_first() -> None:
    letters = {"plain": ["A", "B"], "reasoned": ["The answer is A.", "So B"]}
    stated = {"plain": ["0.9", "0.5"], "reasoned": ["0.8", "0.7"]}
    table = stated_table(report(made.asked(*made.answered(letters, [0, 0], stated))).sets["quiz"])
    assert any(note.startswith("Under reasoned label is read at the first position") for note in table.notes)
    assert not any("label is read" in note for note in stated_table(report(four_rows()).sets["quiz"]).notes)


def test_normalisation_shift_is_the_size_of_the_difference_of_both_eces() -> None:
    rng = np.random.default_rng(5)
    gold = rng.integers(4, size=60).tolist()
    questions = [made.choice(f"q{at}", answer) for at, answer in enumerate(gold)]
    masses = rng.dirichlet(np.ones(5), size=60)[:, :4]
    replies = [made.reply(f"q{at}", "A", label_scores=made.scores(own)) for at, own in enumerate(masses)]
    run = report(made.asked(questions, replies))
    cell = run.sets["quiz"].cells["plain"]
    correct = masses.argmax(axis=1) == np.array(gold)
    raw = float(ece(masses.max(axis=1), correct))
    normalised = float(ece((masses / masses.sum(axis=1, keepdims=True)).max(axis=1), correct))
    assert cell.shift is not None
    assert cell.shift.value == pytest.approx(abs(raw - normalised))
    assert cell.shift.low <= cell.shift.value <= cell.shift.high
    (plain, every) = run.shifts
    assert (plain.of, every.of, every.cells) == ("plain", "all", 1)
    assert every.mean.value == every.median == every.largest == pytest.approx(cell.shift.value)
    assert np.isnan(every.mean.low)  # a description of these cells
    assert cell.off_label is not None
    assert cell.off_label.mean.value == pytest.approx(1 - masses.sum(axis=1).mean())
    assert cell.off_label.all_seen == 1.0
    assert cell.off_label.mass_seen == pytest.approx(1.0)


def test_a_window_is_told_by_its_coverage() -> None:
    questions = [made.choice("q0"), made.choice("q1")]
    replies = [
        made.reply("q0", "A", label_scores=made.scores([0.4, 0.2, 0.1, 0.1], ranks=[[0, 1, 2, 3]])),
        made.reply("q1", "A", label_scores=made.scores([0.4, 0.2, 0.1, 0.1], ranks=[[0, 1, 2, 300]])),
    ]
    asked = made.asked(questions, replies)
    of_set = report(asked, ReportOptions(window=200, resampling=QUICK)).sets["quiz"]
    off_label = of_set.cells["plain"].off_label
    assert off_label is not None
    assert off_label.all_seen == 0.5
    assert off_label.mass_seen == pytest.approx((1 + 0.7 / 0.8) / 2)
    # Of the mass outside, a label that was not seen has some: the table says so, and how much was seen.
    seen = {"all seen": 0.5, "mass seen": off_label.mass_seen}
    assert outside_of(of_set) == {"outside seen": pytest.approx(0.25), **seen}
    assert "at most that is on no label" in answers_table(of_set).notes[0]
    exact = report(asked).sets["quiz"]
    assert outside_of(exact) == {"outside": pytest.approx(0.2)}
    assert "of anything but a label." in answers_table(exact).notes[0]


def outside_of(of_set: SetReport) -> dict[str, float | None]:
    """What the table of answers says of the mass off the labels, by the titles of its columns."""
    table = answers_table(of_set)
    names = ("off_label", "all_labels_seen", "mass_seen")
    pairs = zip(table.columns, table.rows[0].cells, strict=True)
    return {column.title: value_of(cell) for column, cell in pairs if column.keys["metric"] in names}


def test_a_window_needs_ranks() -> None:
    least = replace(made.scores([0.4, 0.2, 0.0, 0.0]), least=np.log([0.1]))  # an import that has two of four labels
    asked = made.asked([made.choice("q0")], [made.reply("q0", "A", label_scores=least)])
    with pytest.raises(UsageError, match="no ranks of labels"):
        report(asked, ReportOptions(window=200, resampling=QUICK))


def test_failed_requests_are_in_no_number() -> None:
    questions = [made.choice(f"q{at}") for at in range(3)]
    replies = [
        made.reply("q0", "A"),
        made.reply("q1", "B"),
        made.reply("q2", "", finish="error", error="gone"),
        made.reply("q0", "0.5", stage="stated:decimal"),
        made.reply("q1", "", stage="stated:decimal", finish="error", error="gone"),
    ]
    run = report(made.asked(questions, replies))
    cell = run.sets["quiz"].cells["plain"]
    assert (cell.rows, cell.failed) == (2, 1)
    assert cell.accuracy["last_marker"].value.value == 0.5
    assert cell.estimators["stated_decimal"].coverage.value == 1.0  # a failed request is no unread statement
    assert cell.failures == {"answer": 1, "stated:decimal": 1}
    assert run.disclosure.to_json()["failed_requests"] == {"quiz": {"plain": 2}}
    lines = dict(run.disclosure.lines())
    assert lines["failures"].startswith(
        "2 requests failed (stated:decimal 1, answer 1; 2 times: gone) and are left out"
    )
    assert lines["failures"].endswith("unread answers: last_marker 0")
    named = report(
        made.asked(questions, replies), ReportOptions(readers=("last_marker", "first_char"), resampling=QUICK)
    )
    assert dict(named.disclosure.lines())["failures"].endswith("unread answers: last_marker 0, first_char 0")
    one = report(made.asked(questions, replies[:4]))
    assert dict(one.disclosure.lines())["failures"].startswith(
        "1 request failed (answer 1; 1 time: gone) and is left out"
    )
    assert cell.failure_reasons == {"gone": 2}
    assert heading(run)[0].endswith(", 2 requests failed")


def test_a_failed_request_behind_the_cue_is_no_wrong_answer() -> None:
    asked = spread_run()
    found = [
        replace(own, label_scores=None, finish="error") if (own.stage, own.question) == ("final", "q1") else own
        for own in asked.replies
    ]
    found.append(made.reply("q1", "0.5", variant="reasoned", stage="stated:decimal"))
    for readers in (None, ("constrained",)):
        failed = made.asked(asked.sets[0].questions, found)
        own = report(failed, ReportOptions(readers=readers, resampling=QUICK)).sets["quiz"]
        accuracy = own.cells["reasoned"].accuracy["constrained"]
        assert accuracy.value.value == 1.0  # the wrong one of q1 is not known
        assert (accuracy.asked, accuracy.unread) == (4, 0)
        assert own.cells["reasoned"].failures == {"final": 1}
    assert own.cells["reasoned"].estimators["stated_decimal"].rows == 0  # of an answer that is not known
    repair = next(each for each in report(failed).sets["quiz"].repairs if each.reader == "constrained")
    assert (repair.rows, repair.repaired, repair.reference) == pytest.approx((4, 1.0, 0.5))


def spread_run() -> Asked:
    letters = {
        "plain": ["A", "A", "A", "A", "B"],
        "other": ["A", "A", "B", "B", "B"],
        "reasoned": ["The answer is A.", "So B", "The answer is A.", "I think A", "Hm"],
    }
    questions, replies = made.answered(letters, [0, 0, 0, 0, 0])
    for place, first in enumerate([0.9, 0.2, 0.9, 0.7, 0.6]):
        mass = [first, 1 - first, 0, 0]
        replies.append(made.reply(f"q{place}", "", variant="reasoned", stage="final", label_scores=made.scores(mass)))
    return made.asked(questions, replies)


def test_spread_leaves_out_variants_of_another_form() -> None:
    own = report(spread_run()).sets["quiz"]
    assert own.format_changes == ("reasoned",)
    found = own.spread["last_marker"]
    assert found.variants == ("plain", "other")
    assert found.value.value == pytest.approx(0.4)
    assert found.accuracy == pytest.approx(0.6)
    assert (found.chance, found.rows) == (0.25, 5)


def test_drops_repairs_and_recovered_shares_by_hand() -> None:
    own = report(spread_run()).sets["quiz"]
    drops = {drop.reader: drop for drop in own.drops}
    assert drops["first_char"].baseline == "plain"
    assert drops["first_char"].paired.value == pytest.approx(0.8)  # first_char reads no answer of the reasoned replies
    assert drops["first_char"].relative == pytest.approx(1.0)
    constrained = next(repair for repair in own.repairs if repair.reader == "constrained")
    assert (constrained.first, constrained.repaired, constrained.reference) == pytest.approx((0.0, 0.8, 0.6))
    assert constrained.recovered.value == pytest.approx(0.8 / 0.6)
    assert (constrained.right_to_wrong, constrained.wrong_to_right, constrained.previously_right) == (0, 4, 0)
    marker = next(repair for repair in own.repairs if repair.reader == "last_marker")
    assert marker.repaired == pytest.approx(own.cells["reasoned"].accuracy["last_marker"].value.value)
    assert constrained.unread_by_other == own.cells["reasoned"].accuracy["last_marker"].unread


def test_repairs_are_of_variants_that_have_replies_to_read() -> None:
    asked = spread_run()
    labels = [replace(own, stage="label", text="") if own.variant == "plain" else own for own in asked.replies]
    found = report(made.asked(asked.sets[0].questions, labels)).sets["quiz"]
    repair = next(each for each in found.repairs if each.reader == "constrained")
    assert repair.reference == pytest.approx(0.4)  # of `other` alone
    only = report(made.asked(asked.sets[0].questions, [own for own in labels if own.variant != "other"]))
    assert only.sets["quiz"].repairs == ()


def test_both_averages_of_recovered_shares() -> None:
    first, second = spread_run(), spread_run()
    found = report_asked([first, Asked("b", "other", second.sets, second.replies, second.prompts)], OPTIONS)
    assert found.across is not None
    shares = {own.reader: own for own in found.across.recovered}
    assert shares["constrained"].ratio_of_means == pytest.approx(0.8 / 0.6)
    assert shares["constrained"].mean_of_ratios == pytest.approx(0.8 / 0.6)
    assert shares["constrained"].cells == 2


def test_means_leave_out_variants_below_the_threshold() -> None:
    letters = {"plain": ["A"] * 4, "other": ["A", "A", "B", "B"]}
    stated = {"plain": ["0.9", "0.9", "0.9", "unsure"], "other": ["0.5"] * 4}
    questions, replies = made.answered(letters, [0] * 4, stated)
    asked = made.asked(questions, replies)
    (found,) = report(asked).sets["quiz"].means
    assert (found.variants, found.left_out) == (("other",), ("plain",))
    assert found.accuracy == 0.5
    assert found.over_accuracy == pytest.approx(0.0)
    (all_,) = report(asked, ReportOptions(threshold=0.5, resampling=QUICK)).sets["quiz"].means
    assert all_.variants == ("plain", "other")
    assert all_.accuracy == 0.75
    below = report(asked).disclosure.below_threshold
    assert below == ("quiz plain stated_decimal",)


def test_variants_are_read_as_if_no_other_had_been_asked() -> None:
    letters = {"plain": ["A"] * 4, "other": ["A", "A", "B", "B"]}
    asked = made.asked(*made.answered(letters, [0] * 4))
    for chosen, accuracy in ((("plain",), 1.0), (("other",), 0.5)):
        options = ReportOptions(variants=chosen, resampling=QUICK)
        (found,) = report(asked, options).sets["quiz"].cells.values()
        assert (found.variant, found.accuracy["last_marker"].value.value) == (chosen[0], accuracy)
    with pytest.raises(UsageError, match="no 'plane' in run; did you mean plain"):
        report(asked, ReportOptions(variants=("plane",)))


def test_all_lines_of_a_reliability_diagram_are_of_the_same_variants() -> None:
    letters = {"plain": ["A"] * 4, "other": ["A", "A", "B", "B"]}
    stated = {"plain": ["0.9", "0.9", "0.9", "unsure"], "other": ["0.5"] * 4}
    questions, replies = made.answered(letters, [0] * 4, stated)
    run = report(made.asked(questions, replies))
    lines = {line.estimator: line for line in pictures(run, OPTIONS).calibration.lines}
    assert list(lines) == ["label", "stated_decimal"]
    assert [line.instances for line in lines.values()] == [4, 4]  # `plain` is read too seldom


def test_tables_of_several_sets_say_which_follows() -> None:
    one = spread_run()
    other = replace(one.sets[0], name="other")
    moved = tuple(replace(own, set="other") for own in one.replies)
    tables = asked_tables(
        report_asked([replace(one, sets=(*one.sets, other), replies=(*one.replies, *moved))], OPTIONS)
    )
    headings = {table.keys.get("set"): table.heading[-1] for table in tables if table.heading}
    assert headings == {"quiz": "quiz:", "other": "other:"}
    assert not any("quiz:" in table.heading for table in asked_tables(report_asked([one], OPTIONS)))


def test_a_reliability_diagram_leaves_out_what_is_nowhere_read_well_enough() -> None:
    questions, replies = made.answered({"plain": ["A"] * 4}, [0] * 4, {"plain": ["0.9", "0.9", "unsure", "unsure"]})
    run = report(made.asked(questions, replies))
    assert [line.estimator for line in pictures(run, OPTIONS).calibration.lines] == ["label"]


def test_graded_replies_have_a_spread_and_a_drop() -> None:
    questions = [made.choice(f"q{at}") for at in range(4)]
    right = {"plain": (1, 1, 1, 0), "other": (1, 0, 0, 0), "reasoned": (0, 0, 0, 1)}
    replies = [
        made.reply(own.id, "x", variant=name, correct=bool(known))
        for name, several in right.items()
        for own, known in zip(questions, several, strict=True)
    ]
    found = report(made.asked(questions, replies)).sets["quiz"]
    assert found.spread["given"].value.value == pytest.approx(0.5)
    assert [(drop.reader, drop.paired.value) for drop in found.drops] == [("given", 0.5)]


def test_below_the_threshold_are_the_variants_that_means_leave_out() -> None:
    letters = {"plain": ["A"] * 4, "reasoned": ["A"] * 4}
    questions, replies = made.answered(letters, [0] * 4, {"reasoned": ["unsure"] * 4})
    failed = [made.reply(own.id, stage="stated:decimal", finish="error", error="gone") for own in questions]
    run = report(made.asked(questions, [*replies, *failed]))
    assert run.sets["quiz"].means[0].left_out == ("plain",)  # its parse rate is undefined
    assert run.disclosure.below_threshold == ("quiz plain stated_decimal",)  # `reasoned` is in no mean anyway


def test_a_reader_without_replies_is_refused_and_other_readers_of_cells_are_named() -> None:
    questions, replies = made.answered({"plain": ["A"] * 2}, [0, 0])
    options = ReportOptions(readers=("constrained",), resampling=QUICK)
    with pytest.raises(UsageError, match="--reader constrained: there are no replies that it reads; there is last_m"):
        report_asked([made.asked(questions, replies)], options)
    found = report_asked([spread_run()], options).runs[0]
    assert found.disclosure.read_by == {"quiz reasoned": "constrained"}
    assert dict(found.disclosure.lines())["answers"].startswith("read by last_marker, quiz reasoned by constrained; ")


def test_a_matrix_names_the_reader_of_every_cell() -> None:
    asked = spread_run()
    options = ReportOptions(readers=("constrained",), resampling=QUICK)
    title, _, _ = next(iter(matrix_values(report(asked, options))))
    assert title == "Accuracy by last_marker, constrained"


def test_no_run_is_called_as_a_key_of_the_report() -> None:
    first, second = spread_run(), spread_run()
    with pytest.raises(UsageError, match="cannot be called 'across'"):
        report_asked([first, replace(second, label="across")], OPTIONS)


def test_another_reader_is_run_over_the_same_replies() -> None:
    asked = spread_run()
    found = report(asked, ReportOptions(readers=("first_char", "last_marker"), resampling=QUICK)).sets["quiz"]
    assert list(found.cells["plain"].accuracy) == ["first_char", "last_marker"]
    assert found.cells["plain"].reader == "first_char"
    with pytest.raises(UsageError, match="no 'first_cha'; did you mean first_char"):
        report(asked, ReportOptions(readers=("first_cha",), resampling=QUICK))


def test_label_probabilities_alone_have_the_most_probable_label_as_answer() -> None:
    questions = [made.choice("q0", 0), made.choice("q1", 0)]
    replies = [
        made.reply("q0", "", stage="label", label_scores=made.scores([0.4, 0.2, 0.1, 0.1])),
        made.reply("q1", "", stage="label", label_scores=made.scores([0.1, 0.2, 0.1, 0.1])),
    ]
    cell = report(made.asked(questions, replies)).sets["quiz"].cells["plain"]
    assert list(cell.accuracy) == ["label_argmax"]
    assert cell.accuracy["label_argmax"].value.value == 0.5
    assert list(cell.estimators) == ["label_raw", "label"]


def test_the_order_of_replies_and_a_second_reading_change_nothing() -> None:
    asked = spread_run()
    back = Asked(asked.label, asked.model, asked.sets, asked.replies[::-1], asked.prompts)
    one, other = (report(own).to_json()["sets"]["quiz"] for own in (asked, back))
    for variant, cell in one["variants"].items():
        assert other["variants"][variant] == cell
    assert one["spread"]["last_marker"]["value"] == other["spread"]["last_marker"]["value"]


def test_samples_of_a_question_are_resampled_together() -> None:
    rng = np.random.default_rng(6)
    right = rng.integers(2, size=40)
    questions = [made.choice(f"q{at:02}", 0) for at in range(40)]
    one = [made.reply(f"q{at:02}", "AB"[1 - own]) for at, own in enumerate(right)]
    many = [made.reply(own.question, own.text, sample=sample) for own in one for sample in range(8)]
    alone = report(made.asked(questions, one)).sets["quiz"].cells["plain"].accuracy["last_marker"].value
    together = report(made.asked(questions, many)).sets["quiz"].cells["plain"].accuracy["last_marker"].value
    assert together.value == alone.value
    assert (together.low, together.high) == pytest.approx((alone.low, alone.high))


def test_the_json_has_the_keys_of_the_contract() -> None:
    found = report_asked([spread_run()], OPTIONS).to_json()
    run = found["run"]
    assert {"model", "kind", "questions", "partial", "disclosure", "sets"} <= run.keys()
    assert run["kind"] == "asked"
    own = run["sets"]["quiz"]
    cell = own["variants"]["plain"]
    assert {"n", "chance", "accuracy", "coverage", "off_label", "estimators", "shift", "overconfidence"} <= cell.keys()
    assert cell["accuracy"]["last_marker"].keys() == {"value", "ci95"}
    assert cell["estimators"]["label"]["ece"].keys() == {"value", "ci95"}
    assert own["spread"]["last_marker"]["value"] == pytest.approx(0.4)
    assert run["disclosure"]["format_changes"] == ["reasoned"]


def test_frames_have_a_row_for_each_number() -> None:
    frame = report_asked([spread_run()], OPTIONS).frame()
    picked = frame[(frame.variant == "plain") & (frame.estimator == "last_marker") & (frame.metric == "accuracy")]
    assert picked.value.tolist() == [0.8]
    assert set(frame[frame.estimator == "label"].variant) == {"plain", "other", "reasoned"}
