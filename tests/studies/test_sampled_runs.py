"""Estimators of repeated samples in a report: which correctness each reading takes, what failed, what has no scale."""

from __future__ import annotations

import math
from dataclasses import replace

import asked_replies as made
import numpy as np
import pytest

from calprobe.cells.asked import Asked
from calprobe.measures.options import ReportOptions
from calprobe.metrics import Resampling, auroc
from calprobe.metrics.ranking import AUROC
from calprobe.questions.types import Question
from calprobe.runs.alternatives import Alternatives
from calprobe.runs.replies import Reply
from calprobe.studies.asked.asked_choice import choose_asked
from calprobe.studies.asked.cell_results import CellReport
from calprobe.studies.asked.confidence_layouts import confidence_table
from calprobe.studies.asked.frames import confidences_frame
from calprobe.studies.asked.map_layouts import maps_table
from calprobe.studies.asked.perturbation_figures import perturbation_panels
from calprobe.studies.asked.report_asked import report_asked, report_asked_run
from calprobe.studies.asked.sample_layouts import uncertainty_table, unequal_samples
from calprobe.studies.asked.shown_replies import ReplyChoice, choose_replies, shown_replies
from calprobe.studies.wording.layouts import itself_table, wording_table

OPTIONS = ReportOptions(resampling=Resampling(20))
# Of each question: its samples' texts. The accepted answer is `right`.
SAID = {
    "q0": ["right", "Right.", "the right", "wrong"],
    "q1": ["wrong", "other", "right", "wrong"],
    "q2": ["right", "right", "right", "right"],
    "q9": ["no", "nope", "right", "wrong"],  # four answers tie, and "right" is not drawn
}


def run(said: dict[str, list[str]] = SAID, **more: object) -> Asked:
    questions = [Question(name, f"What of {name}?", "open", accepted=("right",)) for name in said]
    replies = [
        made.reply(name, text, sample=place, logprobs=(-0.1 * (place + 1), -0.3), **more)
        for name, texts in said.items()
        for place, text in enumerate(texts)
    ]
    return made.asked(questions, replies)


def cell(asked: Asked, options: ReportOptions = OPTIONS) -> CellReport:
    return report_asked_run(asked, options).sets["quiz"].cells["plain"]


def confidences(asked: Asked, name: str, options: ReportOptions = OPTIONS) -> dict[tuple[str, int], float]:
    frame = confidences_frame(asked, options)
    own = frame[(frame.estimator == name) & frame.confidence.notna()]
    return {(q, s): c for q, s, c in zip(own.question, own["sample"], own.confidence, strict=True)}


def test_frequency_by_hand() -> None:
    found = confidences(run(), "frequency")
    assert [found["q0", at] for at in range(4)] == [0.75, 0.75, 0.75, 0.25]
    assert [found["q1", at] for at in range(4)] == [0.5, 0.25, 0.25, 0.5]
    headline = confidences(run(), "frequency.majority")
    # One row a question, of the most frequent answer: of equally frequent ones, which have one share, one is drawn.
    assert headline == {("q0", 0): 0.75, ("q1", 0): 0.5, ("q2", 0): 1.0, ("q9", 0): 0.25}


def test_rows_of_a_question_have_the_text_of_the_answer_that_they_speak_of() -> None:
    """The first sample says another answer than the most frequent one, and the greedy one a third."""
    asked = run({"q0": ["wrong", "right", "right", ""], "q1": ["right", "other", "other", "right"]})
    asked = replace(asked, replies=(*asked.replies, made.reply("q0", "greedy", stage="greedy")))
    frame = confidences_frame(asked, OPTIONS).set_index(["estimator", "question", "sample"]).sort_index()
    assert frame.loc[("frequency", "q0")].answer.tolist()[:3] == ["wrong", "right", "right"]
    row = frame.loc[("frequency.majority", "q0", 0)]
    assert (row.answer, row.correct, row.confidence) == ("right", True, 0.5)
    assert frame.loc[("frequency.majority", "q0")].answer.isna().tolist() == [False, True, True, True]
    assert frame.loc[("answer_entropy.greedy", "q0", 0)].answer == "greedy"
    for question in ("q0", "q1"):
        row = frame.loc[("frequency.majority", question, 0)]
        assert (row.answer == "right") == row.correct


def test_the_reply_that_is_shown_is_the_one_that_the_confidence_speaks_of() -> None:
    asked = run({"q0": ["right", "wrong", "wrong", "wrong"], "q1": ["wrong", "right", "right", ""]})
    every = shown_replies(asked, OPTIONS, "frequency.majority")
    sure = {(one.question, one.sample): one for one in every.replies if not math.isnan(one.confidence)}
    assert {place: (one.answer, one.confidence, one.correct) for place, one in sure.items()} == {
        ("q0", 1): ("wrong", 0.75, False),
        ("q1", 1): ("right", 0.5, True),
    }
    (first,) = choose_replies(every, ReplyChoice(top=1)).replies
    assert (first.reply, first.confidences["frequency.majority"]) == ("wrong", 0.75)


def test_empty_replies_make_answers_less_frequent_and_failed_requests_do_not() -> None:
    asked = run({"q0": ["right", "right", "", "right"], "q1": ["a", "b", "c", "d"]})
    gone = replace(asked.replies[3], text="", finish="error", error="gone")
    asked = replace(asked, replies=(*asked.replies[:3], gone, *asked.replies[4:]))
    found = confidences(asked, "frequency")
    assert found["q0", 0] == pytest.approx(2 / 3)  # of three replies, one of them empty; a failed request is none
    assert ("q0", 2) not in found
    report = cell(asked).estimators["frequency"]
    assert report.reasons == {"no answer": 1}
    assert report.coverage.value == pytest.approx(6 / 7)


def test_readings_pair_one_uncertainty_with_other_answers() -> None:
    report = cell(run())
    entropies = {"q0": _entropy(3, 1), "q1": _entropy(2, 1, 1), "q2": 0.0, "q9": math.log(4)}
    found = confidences(run(), "answer_entropy")
    assert found == pytest.approx({(name, at): value for name, value in entropies.items() for at in range(4)})
    sure = 1 - np.array(list(entropies.values())) / 2
    pooled = np.repeat(sure, 4), np.array([1, 1, 1, 0, 0, 0, 1, 0, 1, 1, 1, 1, 0, 0, 1, 0])
    assert report.estimators["answer_entropy"].metrics["auroc"].value == pytest.approx(float(auroc(*pooled)))
    majority = sure, np.array([1, 0, 1, 0])  # of q3 one that is drawn
    assert report.estimators["answer_entropy.majority"].metrics["auroc"].value == float(auroc(*majority))
    assert "answer_entropy.greedy" not in report.estimators  # the run has no greedy answers


def _entropy(*counts: int) -> float:
    p = np.array(counts) / sum(counts)
    return float(-(p * np.log(p)).sum())


def test_greedy_answers_are_labels_of_their_own() -> None:
    asked = run()
    right = {"q0": False, "q1": False, "q2": True, "q9": True}
    greedy = [made.reply(name, "right" if own else "x", stage="greedy") for name, own in right.items()]
    report = cell(replace(asked, replies=(*asked.replies, *greedy)))
    found = report.estimators["answer_entropy.greedy"]
    assert found.rows == 4
    values = 1 - np.array([_entropy(3, 1), _entropy(2, 1, 1), 0.0, math.log(4)]) / 2
    assert found.metrics["auroc"].value == float(auroc(values, list(right.values())))


def test_a_greedy_answer_with_a_conclusion_is_graded_by_that() -> None:
    sums = [Question(f"n{at}", "2 + 3?", "number", number=5.0) for at in range(2)]
    own = [
        (name, text, stage, sample)
        for name, concluded in (("n0", "5"), ("n1", "6"))
        for stage, text in (("greedy", "Is it 4? No, 7."), ("greedy_final", concluded))
        for sample in (0,)
    ]
    own += [
        (q.id, text, stage, at)
        for q in sums
        for at in (0, 1)
        for stage, text in (("answer", "It is 7."), ("final", "5"))
    ]
    replies = [made.reply(name, text, stage=stage, sample=sample) for name, text, stage, sample in own]
    frame = confidences_frame(made.asked(sums, replies), OPTIONS)
    found = frame[(frame.estimator == "answer_entropy.greedy") & frame.confidence.notna()]
    assert dict(zip(found.question, found.correct, strict=True)) == {"n0": True, "n1": False}
    assert confidences(made.asked(sums, replies), "frequency") == {(q.id, at): 1.0 for q in sums for at in (0, 1)}


def test_variants_of_samples_have_a_figure_of_accuracy_and_auroc() -> None:
    plain = run()
    other = made.in_variant([replace(own, key=f"o{own.key}") for own in plain.replies], "other")
    both = replace(plain, replies=(*plain.replies, *other), prompts=made.prompts(made.PLAIN, made.OTHER))
    found = report_asked_run(both, OPTIONS)
    (panel,) = perturbation_panels(found)
    assert (panel.title, panel.groups) == ("quiz: answer_entropy", ("plain", "other"))
    cell = found.sets["quiz"].cells["plain"]
    assert panel.values[0] == panel.values[1]
    assert panel.values[0] == (cell.accuracy["short"].value, cell.estimators["answer_entropy"].metrics["auroc"])
    assert perturbation_panels(report_asked_run(plain, OPTIONS)) == ()


def family(said: dict[str, list[str]] = SAID) -> Asked:
    """Two members; each has two samples of a question, and a greedy answer of its own."""
    plain = run({name: texts[:2] for name, texts in said.items()})
    other = made.in_variant([replace(own, key=f"o{own.key}") for own in plain.replies], "other")
    greedy = [
        made.reply(name, text, stage="greedy", variant=variant)
        for name in said
        for variant, text in (("plain", "right"), ("other", "wrong"))
    ]
    gone = [replace(own, text="", finish="error", error="gone") for own in other[:1]]
    asked = replace(plain, replies=(*plain.replies, *gone, *other[1:], *greedy))
    return replace(
        asked, prompts=replace(made.prompts(made.PLAIN, made.OTHER), perturbations={"both": ("plain", "other")})
    )


def test_each_member_of_a_family_has_its_own_greedy_answer() -> None:
    frame = confidences_frame(family(), OPTIONS)
    found = frame[(frame.estimator == "answer_entropy.greedy") & frame.confidence.notna()]
    right = {(q, bool(c)) for q, c in zip(found.question, found.correct, strict=True)}
    assert right == {(name, own) for name in SAID for own in (True, False)} - {("q0", False)}  # its sample is gone
    assert len(found) == 7


def test_a_family_keeps_the_reasons_of_failures() -> None:
    report = report_asked_run(family(), OPTIONS).sets["quiz"].cells["both"]
    assert dict(report.failure_reasons) == {"gone": 1}
    assert dict(report.failures) == {"answer": 1}


def test_several_kinds_of_questions_are_read_off_their_conclusions() -> None:
    questions = [Question("n", "2 + 3?", "number", number=5.0), Question("o", "Who?", "open", accepted=("Ann",))]
    replies = [
        made.reply(name, text, stage=stage, sample=at)
        for name, concluded in (("n", "5"), ("o", "Ann"))
        for at in (0, 1)
        for stage, text in (("answer", "Hm. Perhaps 7, or Bob."), ("final", concluded))
    ]
    report = cell(made.asked(questions, replies))
    assert {name: own.value.value for name, own in report.accuracy.items()} == {"conclusion": 1.0}


def test_claims_with_one_sample_each_are_not_sampled() -> None:
    claims = [
        Question(f"q0#{label}", "So?", "choice", ("Yes", "No"), ("Yes", "No"), answer=at, of="q0")
        for at, label in enumerate("AB")
    ]
    replies = [made.reply(claim.id, "Yes", stage=stage) for claim in claims for stage in ("answer", "final")]
    assert not {name for name in cell(made.asked(claims, replies)).estimators if name.startswith(("freq", "answer_"))}


def test_what_has_no_scale_has_metrics_of_its_order_alone() -> None:
    report = cell(run())
    of_order = {"accuracy", "auroc", "aurc", "e_aurc", "augrc", "prr", "prr_50"}
    assert of_order == set(report.estimators["lexsim"].metrics)
    assert "ece" in report.estimators["sequence"].metrics
    assert math.isnan(report.estimators["lexsim"].brier_bounds[0])
    table = uncertainty_table(report_asked_run(run(), OPTIONS).sets["quiz"], [AUROC])
    assert [row.label for row in table.rows] == ["perplexity", "answer_entropy", "lexsim"]
    assert [column.heading for column in table.columns] == ["pooled", "majority"]
    found = report_asked_run(run(), OPTIONS).to_json()["sets"]["quiz"]["variants"]["plain"]
    assert found["confidences"]["lexsim"]["scale"] == "uncertainty"
    assert set(found["estimators"]["lexsim"]["auroc"]) == {"value", "ci95"}


def test_a_table_says_where_an_order_rests_on_few_questions() -> None:
    own = report_asked_run(run(), OPTIONS).sets["quiz"]
    assert own.cells["plain"].estimators["frequency"].rarer == 3
    for table in (uncertainty_table(own, [AUROC]), confidence_table(own, [AUROC])):
        assert "(plain 2): AUROC, AURC and PRR rest on them" in table.notes[-1]  # of one row a question
    many = {name: replace(found, rarer=10) for name, found in own.cells["plain"].estimators.items()}
    rich = replace(own, cells={"plain": replace(own.cells["plain"], estimators=many)})
    assert not any("rarer" in note for note in uncertainty_table(rich, [AUROC]).notes)


def test_different_numbers_of_samples_are_warned_of_and_a_few_failures_are_not() -> None:
    """A question that is sampled once says its answer in all of its samples."""
    few = SAID | {f"r{n}": ["wrong"] for n in range(4)}
    (report,) = report_asked([run(few)], OPTIONS).runs
    cells = [report.sets["quiz"].cells["plain"]]
    assert [text.partition(". ")[0] for text in unequal_samples(cells)] == [
        "Warning: questions have different numbers of samples (plain 1 to 4)"
    ]
    for table in (confidence_table(report.sets["quiz"], []), uncertainty_table(report.sets["quiz"], [AUROC])):
        assert set(unequal_samples(cells)) <= set(table.notes)
    lacks_one = SAID | {"q2": ["right", "right", "right"]}
    assert not list(unequal_samples([cell(run(lacks_one))]))


def test_calibrated_uncertainties_are_confidences() -> None:
    said = {f"q{at:02}": ["right"] * 4 if at % 2 else ["a", "a", "b", "right"] for at in range(40)}
    said |= {f"q{at:02}": ["a"] * 4 for at in (1, 3, 5, 7)}  # four against the rule
    asked = run(said)
    for method in ("isotonic", "logistic"):
        report = cell(asked, replace(OPTIONS, calibrate=method))
        found = report.estimators[f"answer_entropy.majority.{method}"]
        assert found.metrics["brier"].value == pytest.approx(4 / 40, abs=0.03)
        assert found.scale == "probability"
        name = f"answer_entropy.majority.{method}"
        assert report.maps.keys() == {own for own in report.estimators if own.endswith(f".{method}")}
        (whole,) = report_asked([asked], replace(OPTIONS, calibrate=method)).runs
        assert whole.to_json()["sets"]["quiz"]["variants"]["plain"]["maps"][name] == report.maps[name].to_json()
        table = maps_table(whole.sets["quiz"])
        row = next(row for row in table.rows if row.keys["estimator"] == name)
        if method == "logistic":
            assert row.cells[0] == report.maps[name].all.parameters["a"]
            b = [fold.parameters["b"] for fold in report.maps[name].folds]
            assert row.cells[4:] == (min(b), max(b))
            assert max(b) < 0
        else:
            assert row.cells == (2, 2, 2)
        (few,) = choose_asked(report_asked([asked], replace(OPTIONS, calibrate=method)), ["frequency"], None).runs
        assert not any(own.maps for own in few.reports())


def test_forms_are_computed_where_they_are_asked_for_by_name() -> None:
    assert "answer_entropy.miller_madow" not in cell(run()).estimators
    wanted = replace(OPTIONS, forms=("answer_entropy.miller_madow.majority", "variance_total.one_hot"))
    found = confidences(run(), "answer_entropy.miller_madow", wanted)
    assert found["q1", 0] == pytest.approx(_entropy(2, 1, 1) + 2 / 8)
    assert confidences(run(), "variance_total.one_hot", wanted)["q0", 0] == pytest.approx(1 - (9 + 1) / 16)


def test_the_order_of_replies_changes_nothing() -> None:
    asked = run()
    turned = replace(asked, replies=asked.replies[::-1])
    before, after = (report_asked_run(own, OPTIONS).to_json()["sets"] for own in (asked, turned))
    assert after == before


def test_sequence_is_of_the_reply_alone() -> None:
    found = confidences(run(), "sequence")
    assert found["q0", 0] == pytest.approx(math.exp(-0.2))
    report = cell(run(reasoning="Let me think."))
    assert report.estimators["sequence"].reasons == {"tokens of a thought among those of the reply": 16}
    assert "sequence" not in cell(_without_logprobs(run())).estimators


def _without_logprobs(asked: Asked) -> Asked:
    return replace(asked, replies=tuple(replace(own, logprobs=None) for own in asked.replies))


def test_a_single_answer_to_a_choice_has_none_of_these() -> None:
    questions, replies = made.answered({"plain": ["A", "B"]}, [0, 0])
    known = [replace(own, logprobs=(-0.1,)) for own in replies]
    names = cell(made.asked(questions, known)).estimators
    assert not {"sequence", "frequency", "answer_entropy"} & set(names)


def test_labels_and_numbers_mean_what_they_are() -> None:
    questions = [made.choice("q0"), made.choice("q1")]
    said = {"q0": "AAAB", "q1": "ABCD"}
    replies: list[Reply] = [
        made.reply(name, letter, sample=at) for name, own in said.items() for at, letter in enumerate(own)
    ]
    asked = made.asked(questions, replies)
    assert confidences(asked, "eigv") == pytest.approx(
        {**{("q0", at): 2.0 for at in range(4)}, **{("q1", at): 4.0 for at in range(4)}}
    )
    assert confidences(asked, "num_classes")["q1", 0] == 4


def test_uncertainties_of_two_runs_are_compared_by_their_order_question_by_question() -> None:
    from calprobe.measures.options import CompareOptions
    from calprobe.studies.asked.compare_asked import compare_asked

    shuffled = {name: texts[::-1] for name, texts in SAID.items()}  # other samples stand for the majority
    pair = [run(), replace(run(shuffled), label="other")]
    names = ("answer_entropy", "answer_entropy.majority")
    found = compare_asked(pair, CompareOptions(scores=OPTIONS, estimators=names))
    contrasts = {(own.estimator, own.metric): own for cells in found.pairs[0].cells for own in cells.contrasts}
    assert contrasts["answer_entropy.majority", "auroc"].difference.value == 0
    assert ("answer_entropy", "ece") not in contrasts
    counts = found.pairs[0].cells[0].counts
    assert counts["answer_entropy.majority"] == len(SAID)


def paraphrased(sensitive: bool, first: int = 1) -> Asked:
    """Forty questions in two wordings, four samples each; the second one turns a sensitive model's answers.

    Wordings are numbered from `first` on: 0 is the question itself.
    """
    questions = [Question(f"q{at:02}", "Which?", "open", accepted=("right",)) for at in range(40)]
    replies = [
        made.reply(own.id, "wrong" if sensitive and wording > first else said, paraphrase=wording, sample=sample)
        for own in questions
        for wording in (first, first + 1)
        for sample, said in enumerate(("right", "right", "right", "wrong"))
    ]
    return made.asked(questions, replies)


def test_the_share_of_the_wording_is_reported() -> None:
    (found,) = cell(paraphrased(True)).wording
    assert found.points == "one_hot"  # nobody has judged pairs
    assert found.share.unbiased > 0.5
    assert found.p == 1 / 21
    (other,) = cell(paraphrased(False)).wording
    assert other.share.ratio_of_sums == pytest.approx(0)
    assert other.share.by_chance == pytest.approx(1 / 7)
    assert other.p == 1.0
    assert cell(run()).wording == ()
    report = report_asked_run(paraphrased(True), OPTIONS)
    assert report.to_json()["sets"]["quiz"]["variants"]["plain"]["wording"]["one_hot"]["p"] == found.p
    (row,) = wording_table({name: cell.wording for name, cell in report.sets["quiz"].cells.items()}).rows
    assert row.cells[0] == 40


def test_samples_that_were_not_read_agree_with_no_other() -> None:
    """All questions have as many samples: one of which most were not read is the least sure."""
    said = {f"q{at}": ["wrong", "", "", ""] if at < 4 else ["right", "right", "right", "wrong"] for at in range(8)}
    report = cell(run(said), replace(OPTIONS, forms=("num_classes.equal", "variance_total.one_hot")))
    for name in ("answer_entropy", "lexsim"):
        assert report.estimators[f"{name}.majority"].metrics["auroc"].value == 1
    found = confidences(run(said), "answer_entropy")
    assert found["q0", 0] == pytest.approx(math.log(4))
    assert found["q4", 0] == pytest.approx(_entropy(3, 1))
    assert confidences(run(said), "num_classes.equal", replace(OPTIONS, forms=("num_classes.equal",)))["q0", 0] == 4
    assert confidences(run(said), "lexsim")["q0", 0] == 0


def test_likelihoods_are_those_of_replies_and_classes_those_of_answers() -> None:
    """Nine replies in their own words say 42, one says 41; all are equally probable."""
    question = Question("q0", "How many?", "number", number=42)
    texts = [f"By way {at} it is {41 if at == 9 else 42}" for at in range(10)]
    replies = [made.reply("q0", text, sample=at, logprobs=(-0.2,)) for at, text in enumerate(texts)]
    found = confidences(
        made.asked([question], replies),
        "semantic_entropy.likelihood",
        replace(OPTIONS, forms=("semantic_entropy.likelihood",)),
    )
    assert found["q0", 0] == pytest.approx(_entropy(9, 1))


def test_unread_replies_of_equal_text_are_classes_of_their_own_by_likelihood_too() -> None:
    """Three replies that are equally probable, of which the two without a number have one text."""
    question = Question("q0", "How many?", "number", number=42)
    texts = ["It is 42", "No idea", "No idea"]
    replies = [made.reply("q0", text, sample=at, logprobs=(-0.2,)) for at, text in enumerate(texts)]
    name = "semantic_entropy.likelihood"
    found = confidences(made.asked([question], replies), name, replace(OPTIONS, forms=(name,)))
    assert found["q0", 0] == pytest.approx(_entropy(1, 1, 1))


def test_numbers_are_equal_within_rounding_and_in_their_unit() -> None:
    questions = [
        Question("q0", "How long?", "number", number=3.14159, unit="m"),
        Question("q1", "How long?", "number", number=2, unit="m"),
        Question("q2", "How many?", "number", number=1000),
    ]
    said = {"q0": ["3.14 m", "3.142", "314.16 cm", "9 m"], "q1": ["2 m", "2 km", "2 m", "2 s"], "q2": ["999", "1000"]}
    replies = [made.reply(name, text, sample=at) for name, own in said.items() for at, text in enumerate(own)]
    found = confidences(made.asked(questions, replies), "frequency")
    assert [found["q0", at] for at in range(4)] == [0.75, 0.75, 0.75, 0.25]
    assert [found["q1", at] for at in range(4)] == [0.5, 0.25, 0.5, 0.25]
    assert [found["q2", at] for at in range(2)] == [0.5, 0.5]


def test_uncertainties_that_are_equal_up_to_rounding_are_ties() -> None:
    """Of labels, whose classes are perfect clusters, these measures count classes, and nothing else."""
    rng = np.random.default_rng(0)
    questions = [made.choice(f"q{at}") for at in range(30)]
    replies = [
        replace(made.reply(own.id, f"Answer: {made.LETTERS[label]}"), key=f"{own.id}.{sample}", sample=sample)
        for own in questions
        for sample, label in enumerate(rng.choice(4, 24, p=rng.dirichlet(np.ones(4))))
    ]
    (found,) = report_asked_run(made.asked(questions, replies), OPTIONS).cells
    values = {name: found.confidences[name].confidence for name in ("num_classes", "eigv", "eccentricity")}
    counts = len(set(values["num_classes"].tolist()))
    assert [len(set(own.tolist())) for own in values.values()] == [counts] * 3


def test_identical_strings_have_a_frequency_of_their_own() -> None:
    found = (
        confidences(run(), "frequency", OPTIONS),
        confidences(run(), "frequency.exact", replace(OPTIONS, forms=("frequency.exact",))),
    )
    assert [own["q0", 0] for own in found] == [0.75, 0.25]
    assert [own["q2", 0] for own in found] == [1.0, 1.0]


def test_wordings_of_one_sample_each_have_no_variance_within() -> None:
    options = replace(OPTIONS, forms=("variance_within.one_hot", "variance_between.one_hot"))
    once = replace(paraphrased(True), replies=tuple(own for own in paraphrased(True).replies if not own.sample))
    assert {"variance_within.one_hot", "variance_between.one_hot"} <= cell(paraphrased(True), options).estimators.keys()
    found = cell(once, options).estimators.keys()
    assert "variance_within.one_hot" not in found
    assert "variance_between.one_hot" in found


def test_the_question_itself_stands_apart_from_its_other_wordings() -> None:
    """Right in three of four samples; every answer to the other wording is wrong, as one of four here is."""
    options = replace(OPTIONS, resampling=Resampling(0))
    found = cell(paraphrased(True, first=0), options).itself
    assert found is not None
    assert (found.questions, found.itself.samples, found.others.samples) == (40, 4, 4)
    assert (found.itself.accuracy.value, found.others.accuracy.value, found.accuracy.value) == (0.75, 0, -0.75)
    # Of two samples drawn from three right and one wrong, half are equal; of one of these and a wrong one, a quarter.
    assert (found.itself.agreement.value, found.others.agreement.value, found.agreement.value) == (0.5, 0.25, -0.25)
    assert cell(run(), options).itself is None
    assert all(own.itself is None for own in report_asked_run(family(), options).sets["quiz"].cells.values())
    (report,) = report_asked([paraphrased(True, first=0)], options).runs
    assert [
        row.label for row in itself_table({name: cell.itself for name, cell in report.sets["quiz"].cells.items()}).rows
    ] == ["question", "other wordings", "difference"]
    assert report.to_json()["sets"]["quiz"]["variants"]["plain"]["question_itself"]["questions"] == 40


@pytest.mark.parametrize("right", ["A", "D"])
def test_a_model_that_knows_nothing_has_no_skill_wherever_the_right_label_stands(right: str) -> None:
    """Two samples tie in three of four questions; the first in the alphabet had an AUROC of .91 for D and .40 for A."""
    rng = np.random.default_rng(0)
    questions = [
        Question(f"q{at}", "?", "choice", tuple("wxyz"), tuple("ABCD"), answer="ABCD".index(right)) for at in range(400)
    ]
    replies = [
        made.reply(question.id, str(rng.choice(list("ABCD"))), sample=sample)
        for question in questions
        for sample in range(2)
    ]
    asked = made.asked(questions, replies)
    metrics = cell(asked).estimators["frequency.majority"].metrics
    assert metrics["accuracy"].value == pytest.approx(0.25, abs=0.05)
    assert metrics["auroc"].value == pytest.approx(0.5, abs=0.08)
    backwards = replace(asked, replies=tuple(reversed(asked.replies)))
    assert cell(backwards).estimators["frequency.majority"].metrics["auroc"].value == metrics["auroc"].value


def test_a_mean_of_equal_values_is_that_value() -> None:
    said = {"q0": ["right"] * 7 + ["a", "b", "c"], "q1": ["right"] * 9 + ["a"]}
    assert confidences(run(said), "frequency.majority") == {("q0", 0): 0.7, ("q1", 0): 0.9}


NEAR, FAR, OWN = math.exp(-1.5), math.exp(-0.2), math.exp(-0.375)


def _sums() -> Asked:
    """One question with three samples, 5, 5 and 6, and a greedy 6; numbers need no judge."""
    logprobs = [(-0.1, -0.3), (-0.2, -0.2), (-1.0, -2.0)]
    question = Question("n0", "2 + 3?", "number", number=5.0)
    replies = [
        made.reply("n0", text, sample=at, logprobs=logs)
        for at, (text, logs) in enumerate(zip("556", logprobs, strict=True))
    ]
    return made.asked([question], [*replies, made.reply("n0", "6", stage="greedy", logprobs=(-0.5, -0.25))])


@pytest.mark.parametrize(
    ("name", "expected"),
    [  # minus the log-probability times the share of the others that say something else
        ("cocoa.sequence", [0.4 * 1 / 2, 0.4 * 1 / 2, 3.0 * 2 / 2]),
        ("cocoa.sequence.greedy", [0.75 * 2 / 3]),
        ("cocoa.perplexity", [0.2 * 1 / 2, 0.2 * 1 / 2, 1.5 * 2 / 2]),
        ("cocoa.perplexity.rouge.majority", [0.2 * 1 / 2]),
        # Of the different replies 5 and 6 and the greedy 6, by the mean log-probability of their tokens.
        ("semantic_density.greedy", [(NEAR + OWN) / (NEAR + FAR + OWN)]),
    ],
)
def test_an_answer_beside_the_other_samples_by_hand(name: str, expected: list[float]) -> None:
    found = confidences(_sums(), name, replace(OPTIONS, forms=(name,)))
    assert list(found.values()) == pytest.approx(expected)


def test_the_rarer_answer_is_the_less_sure_one_by_each_estimator() -> None:
    for name in ("cocoa.sequence", "cocoa.perplexity.rouge", "semantic_density"):
        sure = confidences(_sums(), name, replace(OPTIONS, forms=(name,)))
        assert (sure["n0", 2] < sure["n0", 0]) == (name == "semantic_density")


def test_stated_confidence_stands_beside_the_frequency_of_its_answer() -> None:
    question = made.choice("q0")
    said = [("A", "0.9"), ("A", "0.6"), ("B", "0.2"), ("A", "no idea")]
    replies = [
        own
        for at, (letter, confidence) in enumerate(said)
        for own in (
            made.reply("q0", f"Answer: {letter}", sample=at),
            made.reply("q0", confidence, stage="stated:decimal", sample=at),
        )
    ]
    found = cell(made.asked([question], replies)).faithfulness["stated_decimal"]
    assert found.instances == 3
    assert found.mean.value == pytest.approx(1 - (0.15 + 0.15 + 0.05) / 3)
    assert found.conditional.value == pytest.approx((0.85 + 0.95) / 2)
    assert found.excess.value == pytest.approx((1.7 - 1.75) / 3)
    assert not cell(run()).faithfulness


def test_greedy_answers_come_without_the_entropy_of_their_tokens() -> None:
    tokens = [Alternatives.of([[("5", 1, -0.1), ("6", 2, -2.5)]], [entropy], complete=True) for entropy in (0.2, 0.6)]
    question = Question("n0", "2 + 3?", "number", number=5.0)
    samples = [made.reply("n0", text, sample=at, alternatives=tokens[at]) for at, text in enumerate("56")]
    asked = made.asked([question], [*samples, made.reply("n0", "6", stage="greedy")])
    options = replace(OPTIONS, forms=("cocoa.token_entropy.rouge",))
    assert confidences(asked, "cocoa.token_entropy.rouge", options) == pytest.approx({("n0", 0): 0.2, ("n0", 1): 0.6})
    assert "cocoa.token_entropy.rouge.majority" in cell(asked, options).estimators
    assert "cocoa.token_entropy.rouge.greedy" not in cell(asked, options).estimators
