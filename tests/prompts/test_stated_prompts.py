"""Prompts that ask for a confidence: scales, directions, expressions, groups; calprobe's own set and the published."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from asked_questions import free, lettered, number, worded

from calprobe.answers import read_on_scale
from calprobe.errors import ProbeFormatError
from calprobe.prompts import PromptSet, load_prompts

TABLE = {"Never": 0.0, "Perhaps": 0.5, "Surely": 1.0}
# Of the study: 13 expressions in the order of the letters.
PUBLISHED = (0.02, 0.05, 0.1, 0.1, 0.2, 0.25, 0.5, 0.6, 0.7, 0.7, 0.8, 0.9, 0.95)


def load(folder: Path, stated: dict[str, Any], **more: Any) -> PromptSet:
    path = folder / "mine.json"
    path.write_text(json.dumps({"variants": {"a": "{input}"}, "stated": stated} | more, indent=1), encoding="utf-8")
    return load_prompts(path)


def test_the_own_set_has_ten_prompts_in_four_groups() -> None:
    prompts = load_prompts("stated")
    assert [(each.name, each.scale) for each in prompts.stated] == [
        ("probability_1", "x"),
        ("probability_percent", "x/100"),
        ("probability_10", "x/10"),
        ("confidence_1", "x"),
        ("certainty_1", "x"),
        ("expression", "expressions"),
        ("letter", "letters"),
        ("reversed_1", "1 - x"),
        ("reversed_percent", "1 - x/100"),
        ("reversed_10", "1 - x/10"),
    ]
    assert {name: len(members) for name, members in prompts.groups.items()} == {
        "scale": 3,
        "lexical": 3,
        "linguistic": 2,
        "reversed": 3,
    }
    assert [each.name for each in prompts.stated if each.is_reversed] == list(prompts.groups["reversed"])
    assert tuple(prompts.stated[5].expressions.values()) == PUBLISHED
    assert len(prompts.abstentions) == 3
    assert prompts.reads_by_scale
    assert not load_prompts("audit").reads_by_scale


def test_the_own_set_asks_questions_of_every_form() -> None:
    (variant,) = load_prompts("stated").variants
    assert len({variant.of(each).user for each in (lettered(4), worded("good", "bad"), number(3), free("Ann"))}) == 4
    assert not variant.final


def test_the_texts_of_the_own_set_show_their_expressions() -> None:
    _, _, _, _, _, expression, letter, *_ = load_prompts("stated").stated
    assert ", ".join(expression.expressions) + "." in expression.text
    lines = letter.text.splitlines()[1:]
    assert lines == [f"{chr(97 + place)}: {each}" for place, each in enumerate(letter.expressions)]


def test_the_published_file_loads_as_it_is(shared: Path) -> None:
    prompts = load_prompts(shared / "prompts" / "stated.json")
    assert [variant.name for variant in prompts.variants] == ["answer"]
    scales = {each.name: each.scale for each in prompts.stated}
    own = load_prompts("stated")
    assert list(scales.values()) == [each.scale for each in own.stated]
    assert (scales["CT(1)"], scales["L."], scales["L. MC"]) == ("x", "expressions", "letters")
    assert prompts.stated[5].expressions == own.stated[5].expressions
    assert [len(members) for members in prompts.groups.values()] == [3, 3, 2, 3]
    assert prompts.groups["Lex"] == ("P(1)", "CT(1)", "CF(1)")
    assert prompts.abstentions[0] == "I don't know the answer"
    forward = prompts.forward_of("RP(%)")
    assert forward is not None
    assert forward.name == "P(%)"
    assert prompts.forward_of("P(1)") is None


def test_a_prompt_may_have_a_table_of_its_own(tmp_path: Path) -> None:
    own = {"No": 0.1, "Yes": 0.9}
    stated = {
        "all": {"text": "How?", "scale": "expressions"},
        "own": {"text": "How?", "scale": "1 - expressions", "expressions": own},
    }
    prompts = load(tmp_path, stated, expressions=TABLE)
    assert [dict(each.expressions) for each in prompts.stated] == [TABLE, own]
    assert (prompts.stated[1].is_reversed, prompts.stated[1].forward_scale) == (True, "expressions")
    reading = read_on_scale("yes", prompts.stated[1].scale, prompts.stated[1].expressions)
    assert reading.value == 0.1


def test_a_map_is_of_letters_where_the_text_lists_letters(tmp_path: Path) -> None:
    texts = {"plain": "One of: Never, Perhaps, Surely", "listed": "One of:\na) Never\nb) Perhaps\nc) Surely"}
    stated = {name: {"text": text, "scale": "map (table 1)"} for name, text in texts.items()}
    prompts = load(tmp_path, stated, expressions=TABLE)
    assert [each.scale for each in prompts.stated] == ["expressions", "letters"]


def test_groups_change_no_word_and_abstentions_do(tmp_path: Path) -> None:
    stated = {"a": {"text": "How?", "scale": "x"}, "b": {"text": "How sure?", "scale": "x/10"}}
    first = load(tmp_path, stated).fingerprint
    assert load(tmp_path, stated, groups={"both": ["a", "b"]}).fingerprint == first
    assert load(tmp_path, stated, abstentions=["I don't know."]).fingerprint != first


HOW = {"text": "How?", "scale": "x"}
WRONG: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"a@target": HOW}, {}, "stated.a@target is a name with @"),
    ({"a": {"text": "How?", "scale": "letters"}}, {}, 'stated.a needs "expressions"'),
    ({"a": HOW | {"expressions": TABLE}}, {}, "stated.a.expressions has no meaning on the scale 'x'"),
    ({}, {"expressions": {"Never": 0}}, "expressions must have two expressions or more"),
    ({}, {"expressions": TABLE | {"Odd": 1.5}}, "expressions.Odd must be a number from 0 to 1; got 1.5"),
    ({}, {"expressions": TABLE | {"never": 1}}, "expressions.never is empty, or there twice"),
    (
        {"a": {"text": "How?", "scale": "letters"}},
        {"expressions": {f"e{n}": n / 30 for n in range(27)}},
        "27 expressions, more than there are letters",
    ),
    ({"a": HOW}, {"groups": {"g": ["a", "b"]}}, "groups.g must be a list of two or more of the prompts a"),
    ({"a": HOW, "b": HOW}, {"groups": {"g": ["a", "a"]}}, "groups.g must be a list of two or more of the prompts a, b"),
    ({"a": HOW}, {"abstentions": "none"}, "abstentions must be a list of texts"),
    ({"a": HOW}, {"abstentions": [], "replaced_answers": []}, "is another name of 'abstentions'"),
    ({"a": HOW}, {"answer": "{input}"}, "answer is another name of 'variants'"),
]


@pytest.mark.parametrize(("stated", "more", "message"), WRONG, ids=[message[:40] for *_, message in WRONG])
def test_errors_name_the_key(tmp_path: Path, stated: dict[str, Any], more: dict[str, Any], message: str) -> None:
    with pytest.raises(ProbeFormatError) as caught:
        load(tmp_path, stated, **more)
    assert message in str(caught.value)
