"""Prompt sets: calprobe's own, a user's file in its simple and its full form, and what is wrong with a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from asked_questions import choice, free, lettered, number, worded

from calprobe.errors import ProbeFormatError, UsageError
from calprobe.prompts import PROMPT_SETS, Overrides, PromptSet, labelled, load_prompts, overridden
from calprobe.prompts.types import SCALES
from calprobe.questions import QuestionSet, SetSource

AUDIT = ("surface_paraphrase", "instruction_reorder", "fewshot_3", "format_change", "implicit_framing")


def write(folder: Path, content: object) -> Path:
    path = folder / "mine.json"
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")
    return path


def load(folder: Path, content: object) -> PromptSet:
    return load_prompts(write(folder, content))


def test_the_own_set_asks_questions_of_every_form() -> None:
    prompts = load_prompts("audit")
    assert tuple(variant.name for variant in prompts.variants) == AUDIT
    for variant in prompts.variants:
        assert variant.forms == ("letters", "words", "number", "open")
        texts = {variant.of(each).user for each in (lettered(4), worded("good", "bad"), number(3), free("Ann"))}
        assert len(texts) == 4
        assert variant.final
        assert not variant.raw
    assert prompts.path is None
    assert prompts.final_cue.startswith("\n")
    assert [(stated.name, stated.scale) for stated in prompts.stated] == [
        ("decimal_01", "x"),
        ("percent_0_100", "x/100"),
    ]


def test_the_own_set_gives_reasoning_its_room() -> None:
    *_, reasoning, _ = load_prompts("audit").variants
    assert [reasoning.of(each).max_new_tokens for each in (lettered(4), worded("a", "b"), number(1))] == [256, 32, 256]


def test_examples_are_shown_by_one_variant_of_the_own_set() -> None:
    shots = {variant.name: variant.of(lettered(4)).shots for variant in load_prompts("audit").variants}
    assert {name for name, count in shots.items() if count} == {"fewshot_3"}
    assert shots["fewshot_3"] == 3


@pytest.mark.parametrize("name", PROMPT_SETS)
def test_bundled_sets_load_and_have_fingerprints_of_their_own(name: str) -> None:
    prompts = load_prompts(name)
    assert len(prompts.fingerprint) == 64
    assert prompts.fingerprint == load_prompts(name).fingerprint


def test_the_own_set_of_the_audit_has_the_budgets_and_the_cue_that_its_paper_prints() -> None:
    prompts = load_prompts("audit")
    assert [stated.max_new_tokens for stated in prompts.stated] == [8, 8]
    assert (prompts.final_cue, prompts.final_max_new_tokens) == ("\n\nFinal answer:", 4)


def test_the_published_file_loads_as_it_is(shared: Path) -> None:
    path = shared / "prompts" / "audit.json"
    prompts = load_prompts(path)
    assert {variant.name: variant.max_new_tokens for variant in prompts.variants} == {
        name: 256 if name == "format_change" else 32 for name in AUDIT
    }
    assert [stated.max_new_tokens for stated in prompts.stated] == [8, 8]
    assert (prompts.final_cue, prompts.final_max_new_tokens) == ("\n\nFinal answer:", 4)
    assert [variant.shots for variant in prompts.variants] == [0, 0, 3, 0, 0]
    assert prompts.path == str(path)


def test_a_text_is_enough_for_a_variant(tmp_path: Path) -> None:
    prompts = load(tmp_path, {"variants": {"plain": "{input}\nAnswer:"}})
    assert prompts.name == "mine"
    (variant,) = prompts.variants
    assert (variant.user, variant.max_new_tokens, variant.final, variant.shots) == ("{input}\nAnswer:", 32, False, 0)
    assert variant.of(number(2)) is variant


def test_the_full_form(tmp_path: Path) -> None:
    turns = [
        {"role": "system", "text": "You grade."},
        {"role": "user", "text": "{fewshot_examples}\n{question}\n{options}"},
        {"role": "assistant", "text": "The label is"},
    ]
    variant = {"turns": turns, "shots": 2, "max_new_tokens": 5, "final": False, "shot": "{number}: {input}! {answer}"}
    content = {
        "source": "mine",
        "layout": "{label}) {option}",
        "separator": "\n---\n",
        "labels": "letters",
        "max_new_tokens": 7,
        "variants": {"full": {"choice": variant, "open": "{input}"}},
        "stated": {"odds": {"text": "How sure?", "scale": "1 - x/10", "max_new_tokens": 3}},
        "final_cue": " So:",
    }
    prompts = load(tmp_path, content)
    (full,) = prompts.variants
    assert (full.system, full.opening, full.shots, full.max_new_tokens, full.final) == (
        "You grade.",
        "The label is",
        2,
        5,
        False,
    )
    assert full.of(choice("x", "y")).shot == "{number}: {input}! {answer}"
    assert full.of(worded("x", "y")).user == full.user
    assert (full.of(free("z")).user, full.of(free("z")).max_new_tokens) == ("{input}", 7)
    assert full.of(free("z")).final
    assert (prompts.stated[0].scale, prompts.stated[0].max_new_tokens) == ("1 - x/10", 3)
    assert (prompts.layout, prompts.separator, prompts.labels) == ("{label}) {option}", "\n---\n", "letters")
    with pytest.raises(UsageError, match="variant 'full' has no words for questions of the form number"):
        full.of(number(1))


def test_examples_look_like_what_stands_behind_them(tmp_path: Path) -> None:
    texts = {
        "a": "Do.\n\n{fewshot_examples}\n\n{input}\nAnswer:",
        "b": "{fewshot_examples} Q: {question} Options {options}",
    }
    first, second = load(tmp_path, {"variants": texts}).variants
    assert first.shot == "{input}\nAnswer: {answer}"
    assert second.shot == "Q: {question} Options {options} {answer}"


PLAIN = "{input}"
WRONG = [
    ({"variants": {}}, "variants has no variant"),
    ({}, "the file lacks 'variants'"),
    ({"variants": {"a": PLAIN}, "varients": {}}, "varients is no key"),
    ({"variants": ["a"]}, "variants must be an object"),
    ({"variants": {"a": 3}}, "variants.a must be an object {..}; got 3"),
    ({"variants": {"a": {}}}, "variants.a must be a text, an object with"),
    ({"variants": {"a,b": PLAIN}}, "a name with a comma"),
    ({"variants": {"a": "{inputs}"}}, "variants.a has the unknown placeholder {inputs}; known are {input}, {question}"),
    ({"variants": {"a": "Hello."}}, "variants.a shows no question"),
    ({"variants": {"a": "{fewshot_examples} {label_list}"}}, "variants.a shows no question"),
    ({"variants": {"a": "{input} {fewshot_examples}"}}, 'variants.a needs "shot"'),
    ({"variants": {"a": {"turns": [{"role": "user", "text": PLAIN}], "shots": 2}}}, "no place for them"),
    ({"variants": {"a": {"turns": [], "shots": 2}}}, "variants.a.turns lacks the user's turn"),
    ({"variants": {"a": {"turns": [{"role": "tool", "text": "x"}]}}}, "must have the roles system, user, assistant"),
    ({"variants": {"a": {"turns": [{"role": "user"}]}}}, "must have turns of the form"),
    (
        {"variants": {"a": {"turns": [{"role": "user", "text": PLAIN}, {"role": "user", "text": "x"}]}}},
        "in turn the user's and the assistant's",
    ),
    ({"variants": {"a": {"turns": "x"}}}, "variants.a.turns must be a list"),
    ({"variants": {"a": {"user": PLAIN}}}, "variants.a.user is no key; known are turns, stakes, choice"),
    (
        {"variants": {"a": {"choice": PLAIN, "words": PLAIN}}},
        "variants.a.words has questions of the form words once more",
    ),
    ({"variants": {"a": PLAIN}, "max_new_tokens": 0}, "max_new_tokens must be a whole number of at least 1; got 0"),
    ({"variants": {"a": PLAIN}, "max_new_tokens": {"b": 3}}, "max_new_tokens.b is no key"),
    ({"variants": {"a": PLAIN}, "max_new_tokens": {"verbal": 3, "stated": 3}}, "verbal is another name of 'stated'"),
    ({"variants": {"a": PLAIN}, "stated": {"odd": "How sure?"}}, "stated.odd has no scale"),
    ({"variants": {"a": PLAIN}, "stated": {"odd": {"text": "?", "scale": "y"}}}, "stated.odd.scale must be one of 'x'"),
    ({"variants": {"a": PLAIN}, "stated": {"odd": {"scale": "x"}}}, "stated.odd lacks 'text'"),
    (
        {"variants": {"a": PLAIN}, "stated": {"decimal_01": "Is {question} right?"}},
        "stated.decimal_01 has the unknown placeholder {question}; there are none here",
    ),
    ({"variants": {"a": PLAIN}, "verbal": {}, "stated": {}}, "verbal is another name of 'stated'"),
    ({"variants": {"a": PLAIN}, "layout": "{label}"}, "layout lacks {option}"),
    ({"variants": {"a": PLAIN}, "labels": "numbers"}, "labels must be one of own, letters, words; got 'numbers'"),
    ({"variants": {"a": PLAIN}, "final_cue": 3}, "final_cue must be a text; got 3"),
    (
        {"variants": {"a": PLAIN, "b": PLAIN}, "perturbations": {"p": ["a", "a"]}},
        "perturbations.p must be a list of two or more of the variants a, b, each once",
    ),
]


@pytest.mark.parametrize(("content", "message"), WRONG, ids=[message[:40] for _, message in WRONG])
def test_errors_name_file_line_and_key(tmp_path: Path, content: object, message: str) -> None:
    with pytest.raises(ProbeFormatError) as caught:
        load(tmp_path, content)
    assert message in str(caught.value)
    file, line, _ = str(caught.value).split(":", 2)
    assert file == str(tmp_path / "mine.json")
    assert line.isdigit()


def test_the_line_is_the_keys(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text('{\n "variants": {\n  "good": "{input}",\n  "bad": "{inptu}"\n }\n}', encoding="utf-8")
    with pytest.raises(ProbeFormatError, match=r"mine\.json:4: variants\.bad has the unknown"):
        load_prompts(path)


def test_an_unknown_name_is_wrong_usage() -> None:
    with pytest.raises(
        UsageError,
        match="give plain, audit, stated, judge, science-labels, science-answers, wording, paraphrase, structured, st",
    ):
        load_prompts("audits")


def test_the_fingerprint_is_of_words_and_budgets(tmp_path: Path) -> None:
    content = {"variants": {"a": "{input}"}}
    first = load(tmp_path, content).fingerprint
    assert load(tmp_path, {**content, "source": "another"}).fingerprint == first
    others = [
        {"variants": {"a": "{input} "}},
        {"variants": {"b": "{input}"}},
        {**content, "max_new_tokens": 31},
        {**content, "layout": "({label}) {option}"},
        {**content, "final_cue": "So"},
    ]
    assert len({first, *(load(tmp_path, other).fingerprint for other in others)}) == len(others) + 1


def test_scales_are_those_of_the_types(tmp_path: Path) -> None:
    for scale in SCALES:
        stated = {"odd": {"text": "How sure?", "scale": scale}}
        content = {"variants": {"a": PLAIN}, "stated": stated, "expressions": {"Never": 0, "Ever": 1}}
        assert load(tmp_path, content).stated[0].scale == scale


def test_overrides_reach_every_wording() -> None:
    prompts = load_prompts("audit")
    chosen = overridden(prompts, Overrides(["fewshot_3", "format_change"], max_new_tokens=9, shots=1, raw=True))
    assert [variant.name for variant in chosen.variants] == ["fewshot_3", "format_change"]
    for variant in chosen.variants:
        for each in (lettered(3), worded("a", "b"), number(1), free("x")):
            wording = variant.of(each)
            assert (wording.max_new_tokens, wording.raw) == (9, True)
            assert wording.shots == (1 if variant.name == "fewshot_3" else 0)
    assert chosen.fingerprint != prompts.fingerprint
    assert overridden(prompts, Overrides()) == prompts
    longer = overridden(prompts, Overrides(stated_tokens=16))
    assert [stated.max_new_tokens for stated in longer.stated] == [16, 16]
    assert longer.variants == prompts.variants
    assert longer.fingerprint != prompts.fingerprint


def test_an_unknown_variant_is_wrong_usage() -> None:
    with pytest.raises(UsageError, match="prompt set 'audit' has no variant 'fewshot'; it has surface"):
        overridden(load_prompts("audit"), Overrides(["fewshot"]))


def test_which_variants_change_the_form_of_the_reply(tmp_path: Path, shared: Path) -> None:
    texts = {"short": "{input}", "long": "{input} Think."}
    budgets = {"default": 8, "short": 4, "long": 64}
    assert load(tmp_path, {"variants": texts, "max_new_tokens": budgets}).format_changes == ("long",)
    named = {"variants": texts, "max_new_tokens": budgets, "format_changes": ["short"]}
    assert load(tmp_path, named).format_changes == ("short",)
    assert load(tmp_path, {"variants": texts}).format_changes == ()
    assert load(tmp_path, named).fingerprint == load(tmp_path, named | {"format_changes": []}).fingerprint
    with pytest.raises(ProbeFormatError, match="names of variants"):
        load(tmp_path, named | {"format_changes": ["other"]})
    for prompts in (load_prompts("audit"), load_prompts(shared / "prompts" / "audit.json")):
        assert prompts.format_changes == ("format_change",)


def test_words_as_labels_are_refused_for_sets_that_must_not_be_quoted() -> None:
    secret = QuestionSet("secret", (choice("yes", "no"),), SetSource("", quotable=False))
    with pytest.raises(UsageError, match="secret: its texts must not be quoted"):
        labelled(secret, "words")
    assert labelled(secret, "letters").questions[0].labels[0] == "A"
