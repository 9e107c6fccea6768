"""The study of graders: each number against its metric on the run's own arrays, tables, choices and refusals."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import asked_replies as made
import numpy as np
import pytest
from scipy.stats import spearmanr

from calprobe.cells.asked import Asked
from calprobe.errors import UsageError
from calprobe.measures.options import ReportOptions
from calprobe.metrics import Resampling, auroc, brier, ece
from calprobe.metrics.judged import judged_accuracy
from calprobe.questions import Question
from calprobe.runs.grades import StoredGrade
from calprobe.studies.asked.asked_choice import choose_asked
from calprobe.studies.asked.asked_report import AskedReport
from calprobe.studies.asked.asked_tables import asked_tables
from calprobe.studies.asked.figures import run_figures
from calprobe.studies.asked.report_asked import report_asked
from calprobe.studies.graders.layouts import grader_sentences
from calprobe.studies.graders.results import CellGraders

N, BY_HAND = 120, 60


@cache
def graded_run() -> tuple[Asked, dict[str, np.ndarray]]:
    """Answers of two lengths, two stated confidences, a judge that errs, and half of the answers graded by hand."""
    rng = np.random.default_rng(0)
    truth, long = rng.random(N) < 0.5, rng.random(N) < 0.4
    judged = np.where(rng.random(N) < 0.15, ~truth, truth)
    probability = np.where(judged, rng.uniform(0.5, 1, N), rng.uniform(0, 0.5, N)).round(3)
    sure = [np.clip(0.5 + 0.3 * (truth - 0.5) + rng.normal(0, spread, N), 0, 1).round(2) for spread in (0.1, 0.3)]
    questions = [Question(f"q{at}", "Which capital?", "open", accepted=("Paris",)) for at in range(N)]
    texts = ["It is Paris" if right else "Rome" for right in truth]
    texts = [f"{text}{', I think so' if of else ''}" for text, of in zip(texts, long, strict=True)]
    replies = [
        made.reply(question.id, text, token_ids=tuple(range(len(text.split()))))
        for question, text in zip(questions, texts, strict=True)
    ]
    stated = [
        made.reply(question.id, f"{value:.2f}", stage=f"stated:{name}")
        for name, values in zip(("decimal", "other"), sure, strict=True)
        for question, value in zip(questions, values, strict=True)
    ]
    grades = {
        reply.key: StoredGrade(
            reply.key,
            "",
            *("quiz", reply.question, "plain", 0, 0),
            automatic=bool(judged[at]),
            rule="judge",
            score=float(probability[at]),
            imported=bool(truth[at]) if at < BY_HAND else None,
        )
        for at, reply in enumerate(replies)
    }
    other = replace(made.DECIMAL, name="other")
    given = made.prompts(made.PLAIN, stated=(made.DECIMAL, other))
    run = replace(made.asked(questions, [*replies, *stated], given), grades=grades)
    lengths = np.array([len(text.split()) for text in texts])
    columns = {"truth": truth, "judged": judged, "lengths": lengths, "probability": probability}
    return run, columns | {"stated_decimal": sure[0], "stated_other": sure[1]}


@cache
def report(resamples: int = 60, graders: tuple[str, ...] = ("all",)) -> AskedReport:
    return report_asked([graded_run()[0]], ReportOptions(resampling=Resampling(resamples), graders=graders))


def cell(**options: int) -> CellGraders:
    (found,) = report(**options).runs[0].studies["graders"].cells
    assert isinstance(found, CellGraders)
    return found


def test_confidences_under_each_grader() -> None:
    found, columns = cell(), graded_run()[1]
    assert list(found.graders) == ["exact", "contains", "includes", "rouge", "judge", "imported"]
    sides = {"judge": (columns["judged"], slice(None)), "imported": (columns["truth"], slice(BY_HAND))}
    for grader, (right, kept) in sides.items():
        numbers = found.graders[grader]
        assert numbers.answers == len(right[kept])
        assert numbers.accuracy.value == pytest.approx(right[kept].mean())
        for name in ("stated_decimal", "stated_other"):
            metrics = numbers.estimators[name]
            assert metrics["auroc"].value == auroc(columns[name][kept], right[kept]).value
            assert metrics["brier"].value == pytest.approx(brier(columns[name][kept], right[kept]).value)
            assert metrics["auroc"].low < metrics["auroc"].value < metrics["auroc"].high
    assert found.graders["contains"].accuracy.value == columns["truth"].mean()
    assert found.graders["exact"].accuracy.value == 0


def test_orders_errors_and_lengths() -> None:
    found, columns = cell(), graded_run()[1]
    pairs = {(pair.first, pair.second): pair for pair in found.pairs}
    assert len(pairs) == 15
    pair = pairs["judge", "imported"]
    agree = columns["judged"][:BY_HAND] == columns["truth"][:BY_HAND]
    assert (pair.answers, pair.agree.value) == (BY_HAND, pytest.approx(agree.mean()))
    assert set(pair.order.names) == {"stated_decimal", "stated_other"}
    assert pair.order.best == ("stated_decimal", "stated_decimal")
    assert found.length == "tokens"
    rho = spearmanr(columns["stated_decimal"], columns["lengths"]).statistic
    assert found.with_length["stated_decimal"].value == pytest.approx(rho)
    assert found.graders["judge"].right_with_length.value == pytest.approx(
        spearmanr(columns["judged"], columns["lengths"]).statistic
    )
    hand = np.where(np.arange(N) < BY_HAND, columns["truth"].astype(float), np.nan)
    expected = judged_accuracy(columns["judged"], hand, Resampling(0))
    errors = found.errors["judge"]
    assert errors.accuracy.accuracy.value == expected.accuracy.value
    assert errors.confidences["stated_decimal"].auroc_by_hand.value == pytest.approx(
        found.graders["imported"].estimators["stated_decimal"]["auroc"].value
    )
    assert errors.scored == BY_HAND
    own = columns["probability"][:BY_HAND], columns["truth"][:BY_HAND]
    assert errors.score["ece"].value == pytest.approx(ece(*own).value)
    assert errors.score["auroc"].value == pytest.approx(auroc(*own).value)
    assert found.errors.keys() == found.graders.keys() - {"imported"}


def test_graders_of_most_frequent_answers_agree_on_these_alone() -> None:
    said = [["Paris", "Paris", "Rome"], ["It is Paris", "It is Paris", "Rome"], ["Rome"] * 3]
    questions = [Question(f"q{at}", "Which capital?", "open", accepted=("Paris",)) for at in range(len(said))]
    replies = [
        made.reply(f"q{at}", text, sample=sample) for at, texts in enumerate(said) for sample, text in enumerate(texts)
    ]
    options = ReportOptions(resampling=Resampling(0), graders=("exact", "contains"))
    (found,) = report_asked([made.asked(questions, replies)], options).runs[0].studies["graders"].cells
    by_reading = {pair.reading: (pair.answers, pair.agree.value) for pair in found.pairs}
    # Two of nine answers contain Paris and are not it, and one of three that are the most frequent.
    assert by_reading == {"answers": (9, pytest.approx(7 / 9)), "majority": (3, pytest.approx(2 / 3))}


def test_tables_sentences_figure_and_json() -> None:
    tables = [table for table in asked_tables(report()) if table.kind == "graders"]
    labels = [table.label.removeprefix("asked-").removesuffix("-quiz") for table in tables]
    assert [label.rpartition("run-")[2] for label in labels] == [
        *("graders", "grader-accuracy", "grader-pairs", "grader-length", "grader-errors"),
        *("grader-corrected", "grader-judge"),
    ]
    corrected = {row.keys["grader"] for row in tables[5].rows}
    assert corrected == {"contains", "includes", "rouge", "judge"}  # exact matching finds no right answer
    assert tables[0].lead[0].startswith("plain: stated_decimal ranks best by ")
    assert "imported" in tables[0].lead[0]
    # Two rules find the same, and share a sentence; rouge and the judge have their own.
    assert " by contains and includes (" in tables[0].lead[0]
    assert len(tables[0].lead) == 3
    assert tables[0].rows[0].keys == {"variant": "plain", "estimator": "stated_decimal"}
    (figure,) = [figures for figures in run_figures(report().runs[0]) if figures.kind == "graders"]
    (panel,) = figure.panels
    assert panel.sets == tuple(cell().graders)
    json = report().runs[0].to_json()["graders"]["quiz"]["plain"]
    assert json["graders"]["judge"]["n"] == N
    assert json["pairs"][-1]["graders"] == ["judge", "imported"]
    assert set(json["errors"]["judge"]) == {"accuracy", "confidences", "judge_n", "judge_probability"}


def test_graders_that_a_run_lacks_are_refused_before_anything_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("calprobe.studies.asked.report_asked.report_cell", lambda *_: pytest.fail("computed"))
    with pytest.raises(UsageError, match="--graders scibench: no answers of these runs have such grades; there are ex"):
        report_asked([graded_run()[0]], ReportOptions(graders=("exact", "scibench")))


def test_what_is_asked_for_alone() -> None:
    found = cell(resamples=0, graders=("judge", "exact"))
    assert list(found.graders) == ["exact", "judge"]
    assert found.errors == {}
    chosen = choose_asked(report(), ["stated_other"], None).runs[0].studies["graders"].cells[0]
    assert chosen.estimators == ("stated_other",)
    assert set(chosen.with_length) == {"stated_other"}
    assert "graders" not in report_asked([graded_run()[0]], ReportOptions(resampling=Resampling(0))).runs[0].studies
    read: list[Asked] = []
    with pytest.raises(UsageError, match="--graders: no 'jugde'; did you mean judge"):  # before any run is read
        report_asked((read.append(run) or run for run in [graded_run()[0]]), ReportOptions(graders=("exact", "jugde")))
    assert read == []


def test_choices_have_their_length_alone() -> None:
    questions, replies = made.answered({"plain": ["A", "The answer is B", "A", "Answer: A"]}, [0, 0, 1, 0])
    replies = [replace(reply, token_ids=None, tokens_out=len(reply.text)) for reply in replies]
    options = ReportOptions(resampling=Resampling(0), graders=("all",))
    (found,) = report_asked([made.asked(questions, replies)], options).runs[0].studies["graders"].cells
    assert list(found.graders) == ["last_marker"]
    assert found.pairs == ()
    assert list(grader_sentences(found)) == ["plain: one grader, last_marker, and so nothing to compare."]
    assert found.length == "tokens"
