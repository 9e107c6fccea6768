"""Prompts filled with questions: the published words, whitespace, braces, examples, labels."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from asked_questions import choice, free, lettered, number, worded
from hypothesis import given
from hypothesis import strategies as st

from calprobe.errors import UsageError
from calprobe.prompts import (
    Message,
    Overrides,
    PromptSet,
    Variant,
    draw_shots,
    fill,
    labelled,
    load_prompts,
    overridden,
)
from calprobe.prompts.placeholders import replace_placeholders
from calprobe.questions import Question, QuestionSet, SetSource

PLANET = choice("Mars", "The Moon", "Sirius", text="Which is a planet?")
SHOTS = (
    choice("ice", "steam", answer=1, text="What is hot?"),
    choice("up", "down", answer=0, text="Where is the sky?"),
    choice("two", "three", "four", answer=2, text="What is 2 + 2?"),
)


def prompts_of(*variants: Variant, **others: object) -> PromptSet:
    return replace(PromptSet("mine", "", variants), **others)  # type: ignore[arg-type]


def filled(variant: Variant, question: Question, shots: tuple[Question, ...] = ()) -> str:
    (message,) = fill(variant, question, shots, prompts_of(variant))
    assert message.role == "user"
    return message.text


def published(shared: Path) -> Iterator[tuple[str, str]]:
    """Name and text of the five variants as the specification quotes them from the paper."""
    (spec,) = (path.read_text("utf-8") for path in shared.glob("*_AUDIT.md"))
    yield from re.findall(r"^\| `(\w+)` \| [^|]* \| `([^`]*)` \|$", spec, re.MULTILINE)


def collapsed(text: str) -> str:
    return " ".join(text.split())


def test_the_published_prompts_are_filled_as_the_paper_prints_them(shared: Path) -> None:
    prompts = load_prompts(shared / "prompts" / "audit.json")
    texts = dict(published(shared))
    assert [variant.name for variant in prompts.variants] == list(texts)
    item = "Which is a planet? A. Mars B. The Moon C. Sirius"
    examples = (
        "What is hot? A. ice B. steam Answer: B Where is the sky? A. up B. down Answer: A "
        "What is 2 + 2? A. two B. three C. four Answer: C"
    )
    for variant in prompts.variants:
        (message,) = fill(variant, PLANET, SHOTS, prompts)
        expected = texts[variant.name]
        for name, value in (("input", item), ("label_list", "A, B, C"), ("fewshot_examples", examples)):
            expected = expected.replace(f"{{{name}}}", value)
        assert collapsed(message.text) == collapsed(expected)
        assert message.text == message.text.rstrip()


def test_parts_stand_on_lines_of_their_own() -> None:
    text = "Do it.\n{input}\nAnswer:"
    assert (
        filled(Variant("v", text, 8), PLANET) == "Do it.\nWhich is a planet?\nA. Mars\nB. The Moon\nC. Sirius\nAnswer:"
    )


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (replace(PLANET, context="Look up."), "Look up.\nWhich is a planet?\nA. Mars\nB. The Moon\nC. Sirius"),
        (worded("good", "bad"), "How is it?\ngood\nbad"),
        (number(3), "How many?"),
        (number(3, unit="kg"), "How many?\nUnit of the answer: kg"),
        (free("Ann"), "Who?"),
        (choice("x", "y", labels=("1", "2")), "Which one?\n1. x\n2. y"),
    ],
)
def test_input_has_all_of_the_question(question: Question, expected: str) -> None:
    assert filled(Variant("v", "{input}", 8), question) == expected


def test_question_comes_with_its_context_and_without_its_options() -> None:
    assert filled(Variant("v", "{question} [{label_list}]\n{options}", 8), replace(PLANET, context="Up.")) == (
        "Up.\nWhich is a planet? [A, B, C]\nA. Mars\nB. The Moon\nC. Sirius"
    )


def test_the_prompt_has_no_white_space_at_its_end() -> None:
    turns = fill(Variant("v", "{input} \n", 8, opening="It is "), free("Ann"), (), prompts_of())
    assert turns == (Message("user", "Who? \n"), Message("assistant", "It is"))
    assert filled(Variant("v", "{input}", 8), free("Ann", text="Who? \t")) == "Who?"


def test_turns_come_in_their_order() -> None:
    variant = Variant("v", "{input}", 8, system="One of {label_list}.", opening="Answer:")
    assert [(turn.role, turn.text.splitlines()[0]) for turn in fill(variant, PLANET, (), prompts_of())] == [
        ("system", "One of A, B, C."),
        ("user", "Which is a planet?"),
        ("assistant", "Answer:"),
    ]
    assert filled(replace(variant, raw=True), free("Ann")) == "One of .\n\nWho?\nAnswer:"


def test_earlier_turns_stand_before_the_users_and_change_the_fingerprint(tmp_path: Path) -> None:
    texts = ["You know much.", "Is it so? {question}", "Yes.", "{input}", "It is"]
    roles = ["system", "user", "assistant", "user", "assistant"]
    turns = [{"role": role, "text": text} for role, text in zip(roles, texts, strict=True)]
    path = tmp_path / "turns.json"
    path.write_text(json.dumps({"variants": {"talk": {"turns": turns}}}))
    prompts = load_prompts(path)
    messages = fill(prompts.variants[0], free("Who?"), (), prompts)
    expected = ["You know much.", "Is it so? Who?", "Yes.", "Who?", "It is"]
    assert [(message.role, message.text) for message in messages] == list(zip(roles, expected, strict=True))
    path.write_text(json.dumps({"variants": {"talk": {"turns": [turns[0], *turns[3:]]}}}))
    assert load_prompts(path).fingerprint != prompts.fingerprint
    with pytest.raises(UsageError, match="--raw-prompt: variant 'talk' has earlier turns"):
        overridden(prompts, Overrides(raw=True))


def test_braces_in_a_question_are_text() -> None:
    tricky = choice("{options}", "{{x}} {", text="What is {label_list} in {fewshot_examples}?")
    assert filled(Variant("v", '{input} {{input}} {"label": 1}', 8), tricky) == (
        'What is {label_list} in {fewshot_examples}?\nA. {options}\nB. {{x}} { {input} {"label": 1}'
    )


@given(st.text(), st.text(), st.text())
def test_any_text_goes_in_as_it_is(text: str, first: str, second: str) -> None:
    question = choice(first, second, text=text)
    assert filled(Variant("v", "<{question}|{options}>", 8), question) == f"<{text}|A. {first}\nB. {second}>"


def test_an_unknown_placeholder_never_passes_silently() -> None:
    with pytest.raises(KeyError):
        replace_placeholders("{inputs}", {"input": "x"})


def test_examples_are_numbered_separated_and_labelled() -> None:
    variant = Variant("v", "{fewshot_examples}\n\n{input}", 8, shots=2, shot="#{number} {question} -> {answer}")
    (message,) = fill(variant, PLANET, SHOTS, prompts_of(separator="\n--\n"))
    assert message.text.startswith("#1 What is hot? -> B\n--\n#2 Where is the sky? -> A\n\nWhich is a planet?")


def test_examples_show_the_right_answer_of_every_kind() -> None:
    variant = Variant("v", "{fewshot_examples}\n{input}", 8, shots=1, shot="{answer}")
    shots = [number(1234567), number(-0.5), free("Ann", "Anna"), worded("good", "bad", answer=1), SHOTS[0]]
    shown = [filled(variant, shot, (shot,)).partition("\n")[0] for shot in shots]
    assert shown == ["1234567", "-0.5", "Ann", "bad", "B"]


def test_examples_are_of_the_question_s_kind() -> None:
    variant = Variant("v", "{fewshot_examples}\n{input}", 8, shots=1, shot="{answer}")
    assert filled(variant, free("x"), (number(3), SHOTS[0], free("Ann"))).partition("\n")[0] == "Ann"
    with pytest.raises(UsageError, match="variant 'v' shows 1 example, and there are 0 for questions of the kind open"):
        filled(variant, free("x"), SHOTS)


def test_too_few_examples_are_wrong_usage() -> None:
    variant = load_prompts("audit").variants[2]
    with pytest.raises(UsageError, match="variant 'fewshot_3' shows 3 examples, and there are 2"):
        fill(variant, PLANET, SHOTS[:2], load_prompts("audit"))


def test_options_that_are_not_shown_are_wrong_usage() -> None:
    with pytest.raises(UsageError, match="question q: variant 'v' does not show the question's options"):
        filled(Variant("v", "{question} {label_list}", 8), PLANET)
    assert filled(Variant("v", "{question} {label_list}", 8), worded("good", "bad")) == "How is it? good, bad"


def question_set(n_shots: int) -> QuestionSet:
    shots = tuple(replace(SHOTS[0], id=f"s{place}") for place in range(n_shots))
    return QuestionSet("planets", (PLANET,), SetSource(""), shots)


def test_shots_are_drawn_by_seed() -> None:
    questions = question_set(20)
    first = draw_shots(questions, 3)
    assert first == draw_shots(questions, 3)
    assert draw_shots(questions, 5)[:3] == first
    assert {draw_shots(questions, 3, seed) for seed in range(5)} != {first}
    assert PLANET not in draw_shots(questions, 20)
    order = list(questions.shots)
    random.Random(42).shuffle(order)
    assert list(first) == order[:3]


def test_a_set_without_examples_says_so() -> None:
    with pytest.raises(UsageError, match=r"question set 'planets' has 2 examples apart from its questions, .* need 3"):
        draw_shots(question_set(2), 3)


@pytest.mark.parametrize(
    ("labels", "expected"), [("own", ("1", "2")), ("letters", ("A", "B")), ("words", ("good", "bad"))]
)
def test_options_are_called_as_the_prompts_want(labels: str, expected: tuple[str, ...]) -> None:
    question = choice("good", "bad", labels=("1", "2"), answer=1)
    questions = QuestionSet("q", (question, number(3)), SetSource(""), (question,))
    renamed = labelled(questions, labels)  # type: ignore[arg-type]
    assert renamed.questions[0].labels == renamed.shots[0].labels == expected
    assert renamed.questions[0].gold == expected[1]
    assert renamed.questions[1].gold == "3"


def test_letters_go_on_behind_z() -> None:
    question = replace(lettered(26), options=tuple(map(str, range(30))), labels=tuple(map(str, range(30))))
    labels = labelled(QuestionSet("q", (question,), SetSource("")), "letters").questions[0].labels
    assert labels[:2] + labels[25:28] == ("A", "B", "Z", "AA", "AB")


def test_equal_options_are_no_labels() -> None:
    questions = QuestionSet("q", (choice("Good", "good"),), SetSource(""))
    with pytest.raises(UsageError, match="question q: two options are the same but for case"):
        labelled(questions, "words")
