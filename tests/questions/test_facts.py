"""Facts as questions: ids, options, other wordings, and what is left out."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from labelled_runs import named_probe, named_run

from calprobe.errors import UsageError
from calprobe.interop.exports import candidate_tables
from calprobe.probes import Instance, Probe, Relation, load_probe
from calprobe.questions import Question, QuestionOptions, load_questions
from calprobe.questions.facts import fact_id, fact_pool
from calprobe.questions.forms import forms_for
from calprobe.runs.run import Run, open_run


def every(probe: Probe, options: QuestionOptions) -> list[Question]:
    pool = fact_pool(probe, options)
    return [pool.question(place) for place in range(pool.size)]


def test_a_fact_of_mini_as_choice_and_open() -> None:
    mini = load_probe("mini")
    asked = {question.id: question for question in every(mini, QuestionOptions())}
    france = next(fact for fact in mini.relation("capital").instances if fact.subject == "France")
    question = asked[fact_id("capital", france.index)]
    assert question.text == "What is the capital of France?"
    assert question.wordings == tuple(form.replace("[X]", "France") for form in forms_for(mini)["capital"])
    assert len(question.options) == 4
    assert question.labels == ("A", "B", "C", "D")
    assert question.options[question.answer or 0] == "Paris"
    assert question.group == "capital"
    opened = {each.id: each for each in every(mini, QuestionOptions(as_="open"))}
    assert opened.keys() == asked.keys()
    assert opened[question.id] == Question(
        question.id, question.text, "open", accepted=("Paris",), group="capital", paraphrases=question.paraphrases
    )


@pytest.mark.parametrize("n_options", [2, 4, 10])
def test_options_are_distinct_candidates_with_the_right_one(n_options: int) -> None:
    mini = load_probe("mini")
    for question in every(mini, QuestionOptions(n_options=n_options)):
        relation = mini.relation(question.group)
        fact = relation.instances[int(question.id.rpartition("/")[2])]
        assert len(question.options) == min(n_options, len(relation.candidates))
        assert len({option.casefold() for option in question.options}) == len(question.options)
        assert set(question.options) <= set(relation.candidates)
        assert question.options[question.answer or 0] == relation.candidates[fact.answer_idx]


def test_ids_are_those_of_a_scored_runs_export(tmp_path: Path) -> None:
    """The columns relation and instance of an export of the same probe."""
    run = open_run(named_run(tmp_path / "run"))
    assert isinstance(run, Run)
    exported = {
        fact_id(relation, instance)
        for table in candidate_tables(run)
        for relation, instance in zip(table["relation"].to_pylist(), table["instance"].to_pylist(), strict=True)
    }
    assert {question.id for question in every(named_probe(), QuestionOptions(as_="open"))} == exported


def test_the_draw_of_options_depends_on_seed_and_fact_alone() -> None:
    whole = {question.id: question for question in load_questions(["mini"])[0].questions}
    part = load_questions(["mini"], QuestionOptions(draw=50))[0].questions
    assert all(whole[question.id] == question for question in part)
    other = load_questions(["mini"], QuestionOptions(seed=1))[0].questions
    assert sum(whole[question.id].options != question.options for question in other) > 500


def test_the_right_option_stands_at_every_place_as_often() -> None:
    mini = load_probe("mini")
    places = Counter(q.answer for seed in range(5) for q in every(mini, QuestionOptions(seed=seed)))
    expected = sum(places.values()) / 4
    assert sorted(place for place in places if place is not None) == [0, 1, 2, 3]
    assert sum((count - expected) ** 2 / expected for count in places.values()) < 16.3  # chi-squared, p = 0.001


def test_every_candidate_is_drawn_as_often() -> None:
    facts = tuple(Instance(number, f"X{number}", 3) for number in range(3000))
    probe = Probe("p", (Relation("P36", tuple("abcdefghij"), facts),), "f")
    counts = Counter(option for question in every(probe, QuestionOptions()) for option in question.options)
    assert counts.pop("d") == 3000
    assert sum((count - 1000) ** 2 / 1000 for count in counts.values()) < 26  # chi-squared with 8 degrees, p = 0.001


def test_no_option_is_another_answer_of_the_subject_or_reads_the_same() -> None:
    candidates = ("Rome", "rome ", "Paris", "Berlin", "Vienna")
    facts = (Instance(0, "X", 0), Instance(1, "x ", 2), Instance(2, "Y", 3))
    probe = Probe("p", (Relation("P36", candidates, facts),), "f")
    for seed in range(200):
        first, second, third = every(probe, QuestionOptions(seed=seed))
        assert set(first.options) == {"Rome", "Berlin", "Vienna"}
        assert set(second.options) == {"Paris", "Berlin", "Vienna"}
        assert len(third.options) == 4
        assert {"Rome", "rome "} - set(third.options)
    opened = every(probe, QuestionOptions(as_="open"))
    assert [question.accepted for question in opened] == [("Rome", "Paris"), ("Paris", "Rome"), ("Berlin",)]


def test_an_instances_own_answer_space_is_drawn_from() -> None:
    facts = (Instance(0, "X", 1, candidates=("red", "blue")), Instance(1, "Y", 0, candidates=("old", "new")))
    probe = Probe("p", (Relation("P36", (), facts),), "f")
    assert [set(question.options) for question in every(probe, QuestionOptions())] == [{"red", "blue"}, {"old", "new"}]


def test_what_is_left_out_is_noted() -> None:
    facts = (Instance(0, "X", 0), Instance(1, " ", 0), Instance(2, "Z", 1), Instance(3, "Z", 0))
    relations = (Relation("P36", ("a", "b"), facts), Relation("P9999", ("a", "b"), facts))
    pool = fact_pool(Probe("p", relations, "f"), QuestionOptions())
    assert [pool.question(place).id for place in range(pool.size)] == ["P36/0"]
    assert pool.notes == (
        "Left out because there are no question forms: 1 relation (P9999).",
        "Left out because the subject has no label or there is no wrong option: 3 facts.",
        "Fewer than 4 options for some facts, for lack of candidates: P36.",
    )
    opened = fact_pool(Probe("p", relations, "f"), QuestionOptions(as_="open"))
    assert [opened.question(place).id for place in range(opened.size)] == ["P36/0", "P36/2", "P36/3"]


def test_a_probe_that_cannot_be_asked() -> None:
    relation = Relation("r", (), (Instance(0, "X", 0, candidates=("a", "b")),), scored="completion")
    with pytest.raises(UsageError, match=r"p has texts to be completed, not facts: it cannot be asked as questions"):
        fact_pool(Probe("p", (relation,), "f"), QuestionOptions())
    with pytest.raises(UsageError, match=r"no question forms for the relations of p .r."):
        fact_pool(Probe("p", (Relation("r", ("a",), (Instance(0, "X", 0),)),), "f"), QuestionOptions())


@pytest.mark.proof
def test_bear_and_bear_big(shared: Path) -> None:
    (bear,) = load_questions([shared / "bear" / "BEAR"])
    assert len(bear.questions) == 7731
    assert len({question.group for question in bear.questions}) == 60
    assert {len(question.wordings) for question in bear.questions} == {5}
    (big,) = load_questions([shared / "bear" / "BEAR-big"], QuestionOptions(draw=300, seed=3, n_options=10))
    assert len(big.questions) == 300
    assert any(note.startswith("Left out because there are no question forms: 18 relations (") for note in big.notes)
    assert all(len(set(question.options)) == len(question.options) for question in (*bear.questions, *big.questions))
