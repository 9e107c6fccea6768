"""`ask --draw N --draw-rule relation` asks the facts that `score --limit N` scores."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from question_files import EVERY_KIND, write_questions

from calprobe.errors import UsageError
from calprobe.probes import load_probe
from calprobe.probes.relation_sample import sampled_instances
from calprobe.questions import QuestionOptions, load_questions
from calprobe.questions.facts import fact_id

MINI = load_probe("mini")


def asked(count: int, seed: int = 0, **options: object) -> list[str]:
    chosen = QuestionOptions(draw=count, draw_rule="relation", seed=seed, **options)  # type: ignore[arg-type]
    return [question.id for question in load_questions(["mini"], chosen)[0].questions]


def scored(count: int, seed: int) -> list[str]:
    parts = (sampled_instances(relation, count, seed) for relation in MINI.relations)
    return [fact_id(part.name, instance.index) for part in parts for instance in part.instances]


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 40), st.integers(0, 5), st.sampled_from(["choice", "open"]))
def test_the_same_facts_are_asked_and_scored(count: int, seed: int, as_: str) -> None:
    every = {question.id for question in load_questions(["mini"], QuestionOptions(as_=as_))[0].questions}  # type: ignore[arg-type]
    assert asked(count, seed, as_=as_) == [name for name in scored(count, seed) if name in every]


def test_groups_and_examples_change_no_relation_s_facts() -> None:
    assert asked(3, groups=("capital", "month")) == [
        name for name in asked(3) if name.startswith(("capital/", "month/"))
    ]
    assert asked(3, shots=2) == asked(3)


def test_the_source_says_how_the_facts_were_drawn() -> None:
    (found,) = load_questions(["mini"], QuestionOptions(draw=2, draw_rule="relation", seed=4))
    assert (found.source.rule, found.source.seed, found.source.available) == ("relation", 4, 583)
    assert found.source.places


def test_questions_of_a_file_are_of_no_relations(tmp_path: Path) -> None:
    file = write_questions(tmp_path / "mine.jsonl", EVERY_KIND)
    with pytest.raises(UsageError, match="--draw-rule relation: mine has no facts of relations"):
        load_questions([file], QuestionOptions(draw=1, draw_rule="relation"))
