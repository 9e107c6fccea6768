"""Answers one by one: those of a loop over the scores, in the order of confidence, with their texts."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from labelled_runs import named_run

import calprobe
from calprobe.analysis import ReportOptions, Shown, ShowOptions, report, show
from calprobe.confidence import confidences
from calprobe.errors import UsageError
from calprobe.metrics import Resampling
from calprobe.runs import open_run
from calprobe.studies.scored.answer_sentences import answers_text, headline_of, right_in
from calprobe.studies.scored.answers_table import answers_table

ALL = 10_000


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return named_run(tmp_path_factory.mktemp("runs") / "run")


def by_loop(run: Path, row: int) -> list[tuple[str, int, int, int, float]]:
    """Relation, line number, right answer, predicted answer and its probability under one template."""
    table = open_run(run).table()
    found = []
    for i, (start, end) in enumerate(pairwise(table.offsets.tolist())):
        weights = np.exp(table.scores[row, start:end])
        place = int(np.argmax(weights))
        found.append(
            (
                str(table.relation[i]),
                int(table.instance[i]),
                int(table.answer_idx[i]),
                place,
                weights[place] / weights.sum(),
            )
        )
    return found


@pytest.mark.parametrize("template", [0, 1, 2])
def test_wrong_answers_of_a_template(run: Path, template: int) -> None:
    shown = show(run, ShowOptions(template=template, top=ALL))
    expected = sorted((one for one in by_loop(run, template) if one[2] != one[3]), key=lambda one: -one[4])
    assert [(a.relation, a.instance, a.answer_idx, a.place) for a in shown.answers] == [one[:4] for one in expected]
    assert [a.confidence for a in shown.answers] == pytest.approx([one[4] for one in expected])
    assert (shown.instances, shown.selected) == (9, len(expected))
    assert shown.confident == sum(one[4] > 0.5 for one in expected)
    first = shown.answers[0]
    assert first.subject == f"{first.relation} subject {first.instance}"
    assert first.predicted == f"{first.relation} answer {first.place}"
    assert first.answer == f"{first.relation} answer {first.answer_idx}"
    wordings = ("{0} is called {1}.", "{1} is what {0} is called.", "One calls {0} {1}.")
    assert first.statement == wordings[template].format(first.subject, first.predicted)


def test_each_template_beside_the_answer(run: Path) -> None:
    loops = [by_loop(run, row) for row in range(3)]
    for answer in show(run, ShowOptions(right=True, top=None)).answers:
        at = [one[:2] for one in loops[0]].index((answer.relation, answer.instance))
        assert [(one.place, one.agrees, one.correct) for one in answer.templates] == [
            (own[at][3], own[at][3] == loops[0][at][3], own[at][3] == own[at][2]) for own in loops
        ]
        assert [one.confidence for one in answer.templates] == pytest.approx([own[at][4] for own in loops])


def test_right_and_wrong_make_all(run: Path) -> None:
    def names(shown: Shown) -> set[tuple[str, int]]:
        return {(answer.relation, answer.instance) for answer in shown.answers}

    wrong, right = show(run, ShowOptions(top=None)), show(run, ShowOptions(wrong=False, right=True, top=None))
    both = show(run, ShowOptions(right=True, top=None))
    assert not names(wrong) & names(right)
    assert names(wrong) | names(right) == names(both)
    assert len(both.answers) == both.selected == both.instances == 9
    base = report(run, ReportOptions(resampling=Resampling(0))).runs[0].accuracy
    assert base is not None
    assert len(right.answers) / 9 == pytest.approx(base.value)


def test_order_and_top(run: Path) -> None:
    every = show(run, ShowOptions(right=True, top=None)).answers
    sure = [answer.confidence for answer in every]
    assert sure == sorted(sure, reverse=True)
    assert show(run, ShowOptions(right=True, top=3)).answers == every[:3]
    least = [answer.confidence for answer in show(run, ShowOptions(right=True, surest=False, top=None)).answers]
    assert least == sorted(sure)


def test_relations_and_estimators(run: Path) -> None:
    shown = show(run, ShowOptions(right=True, relations=("P36",), estimator="average_min", top=None))
    assert {answer.relation for answer in shown.answers} == {"P36"}
    assert shown.instances == 2
    frame = confidences(open_run(run))
    for answer in shown.answers:
        own = frame[(frame["relation"] == "P36") & (frame["instance"] == answer.instance)].set_index("estimator")
        assert answer.place == own.at["average_min", "prediction"]
        assert answer.confidence == own.at["average_min", "confidence"]
        assert {name: one.confidence for name, one in answer.estimators.items()} == own["confidence"].to_dict()
        assert {name: one.place for name, one in answer.estimators.items()} == own["prediction"].to_dict()


def test_the_statement_is_of_a_template_that_gives_the_answer(run: Path) -> None:
    for answer in show(run, ShowOptions(right=True, estimator="consistency_max", top=None)).answers:
        agreeing = [one.template for one in answer.templates if one.agrees]
        assert answer.template == agreeing[0]


def test_what_the_paraphrases_change(run: Path) -> None:
    loops = [by_loop(run, row) for row in range(3)]
    wrong = [at for at, one in enumerate(loops[0]) if one[2] != one[3]]
    wordings = show(run).wordings
    assert wordings is not None
    assert wordings.templates == (0, 1, 2)
    assert wordings.same == sum(len({own[at][3] for own in loops}) == 1 for at in wrong)
    assert wordings.right_elsewhere == sum(any(own[at][2] == own[at][3] for own in loops) for at in wrong)


def test_answers_that_are_missing_are_counted_among_the_wrong_ones(run: Path) -> None:
    shown = show(run, ShowOptions(estimator="average_vote_2", top=None))
    none = [answer for answer in shown.answers if answer.place < 0]
    assert 0 < len(none) < shown.selected
    assert shown.unanswered == shown.to_json()["no_answer"] == len(none)
    assert f"are wrong by average_vote_2 ({len(none)} of them without an answer), " in headline_of(shown)
    assert "without an answer" not in headline_of(show(run))


def test_each_wrong_answer_says_how_many_templates_are_right(run: Path) -> None:
    loops = {one[:2]: [by_loop(run, row)[at] for row in range(3)] for at, one in enumerate(by_loop(run, 0))}
    shown = show(run, ShowOptions(top=None))
    table = answers_table(shown)
    place = [column.title for column in table.columns].index("right in")
    for answer, row in zip(shown.answers, table.rows, strict=True):
        right = sum(one[2] == one[3] for one in loops[answer.relation, answer.instance])
        assert row.cells[place] == right_in(answer) == f"{right} of 3"
    assert f"given by {right_in(shown.answers[0])} templates" in answers_text(shown, 1000)


def test_one_template_has_no_others(tmp_path: Path) -> None:
    shown = show(named_run(tmp_path / "run", (0,)), ShowOptions(top=None))
    assert shown.wordings is None
    assert {len(answer.templates) for answer in shown.answers} == {1}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"estimator": "marginn"}, "has no estimator marginn; did you mean margin?"),
        ({"template": 7}, r"--template 7: .* has 0, 1, 2"),
        ({"relations": ("P31",)}, "has no P31; did you mean P3"),
    ],
)
def test_what_a_run_does_not_have(run: Path, options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        show(run, ShowOptions(**options))  # type: ignore[arg-type]


def test_an_estimator_or_a_template() -> None:
    with pytest.raises(UsageError, match="leave out --template or --estimator"):
        ShowOptions(estimator="margin", template=0)


def test_the_frame_answers_in_one_line(run: Path) -> None:
    frame = calprobe.answers(run)
    expected = by_loop(run, 0)
    assert frame["predicted"].tolist() == [f"{name} answer {place}" for name, _, _, place, _ in expected]
    assert frame["correct"].tolist() == [answer == place for _, _, answer, place, _ in expected]
    said = calprobe.answers(run).set_index("subject").at["P30 subject 2", "predicted"]
    assert said == f"P30 answer {next(one[3] for one in expected if one[:2] == ('P30', 2))}"
    assert list(frame.columns[:8]) == [
        *("relation", "instance", "subject", "answer", "predicted", "statement", "correct", "confidence"),
    ]
    assert frame["base"].tolist() == frame["confidence_0"].tolist() == frame["confidence"].tolist()
    assert calprobe.answers(run, "margin")["confidence"].tolist() == frame["margin"].tolist()
    assert calprobe.answers(run, template=2)["predicted"].tolist() == frame["predicted_2"].tolist()
