"""Dialogues as token ids."""

from __future__ import annotations

from typing import Any

import pytest
from tiny_backends import TEMPLATE, dialogue, tiny_model

from calprobe.backends import Decoding, FollowUp, Message
from calprobe.backends.local.chat import PromptWriter, thinking_mode
from calprobe.errors import CalprobeError
from calprobe.runs.thoughts import FAMILIES, markers_of, split_thought

START, END = 1, 2
ASK = FollowUp("stated", "How sure? ", Decoding(4))
CUE = FollowUp("final", "\n\nFinal answer: ", Decoding(1), continues=True)


def writer(template: str | None = TEMPLATE) -> PromptWriter:
    return PromptWriter(tiny_model(template=template))


def read(ids: tuple[int, ...], made: PromptWriter) -> str:
    return made.tokens.decoded(ids, with_special=True)


def test_a_prompt_has_the_templates_tokens_and_one_start_token() -> None:
    made = writer()
    prompt = made.opening(dialogue("Who?"))
    assert prompt.text == "<s>[user] Who?</s>\n[assistant] "
    assert read(prompt.ids, made) == prompt.text
    assert prompt.ids[0] == START
    assert prompt.ids.count(START) == 1
    tokenizer: Any = tiny_model(template=TEMPLATE).tokenizer
    messages = [{"role": "user", "content": "Who?"}]
    expected = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
    assert list(prompt.ids) == expected


def test_raw_prompts_are_plain_text_behind_one_start_token() -> None:
    asked = dialogue("Who? A </s>:  ", raw=True)
    for made in (writer(), writer(None)):
        prompt = made.opening(asked)
        assert prompt.text == "Who? A </s>:"
        assert prompt.ids[0] == START
        assert prompt.ids.count(END) == 0
        assert read(prompt.ids[1:], made) == prompt.text


def test_turns_of_a_base_model_stand_on_lines_of_their_own() -> None:
    messages = (Message("system", "Be brief."), Message("user", "Who?"), Message("assistant", "It was "))
    assert writer(None).opening(dialogue("", messages=messages)).text == "Be brief.\nWho?\nIt was"


def test_a_last_message_of_the_assistant_opens_its_turn() -> None:
    messages = (Message("user", "Who?"), Message("assistant", "It was "))
    made = writer()
    assert made.opening(dialogue("", messages=messages)).text == "<s>[user] Who?</s>\n[assistant] It was"
    # Llama 2 has no generation prompt, and a blank in front of replies.
    template = (
        "{% for m in messages %}{{ '[I]' + m.content + '[/I]' if m.role == 'user' else ' ' + m.content }}{% endfor %}"
    )
    assert writer(template).opening(dialogue("", messages=messages)).text == "[I]Who?[/I] It was"


def test_a_follow_up_has_all_that_the_template_writes_between_two_replies() -> None:
    made = writer()
    asked = dialogue("Who?", follow_ups=(ASK, CUE))
    turn = made.follow_up(asked, ASK)
    assert turn.text == "</s>\n[user] How sure?</s>\n[assistant] "
    assert read(turn.ids, made) == turn.text
    assert turn.ids[0] == END
    cue = made.follow_up(asked, CUE)
    assert (cue.text, read(cue.ids, made)) == ("\n\nFinal answer:", "\n\nFinal answer:")
    raw = made.follow_up(dialogue("Who?", raw=True), ASK)
    assert (raw.text, read(raw.ids, made)) == ("\nHow sure?\n", "\nHow sure?\n")


def test_what_looks_like_a_special_token_in_a_message_is_text() -> None:
    made = writer()
    asked = dialogue("Is <s> or </s> a tag?")
    prompt = made.opening(asked)
    assert prompt.text == "<s>[user] Is <s> or </s> a tag?</s>\n[assistant] "
    assert (prompt.ids.count(START), prompt.ids.count(END)) == (1, 1)
    assert read(prompt.ids, made) == prompt.text
    turn = made.follow_up(asked, FollowUp("more", "And </s>?", Decoding(1)))
    assert (turn.ids.count(END), read(turn.ids, made)) == (2, turn.text)


def test_refused_and_hidden_turns_are_errors() -> None:
    strict = "{% if messages[0].role == 'system' %}{{ raise_exception('no system turn') }}{% endif %}" + TEMPLATE
    with pytest.raises(CalprobeError, match="refuses the turns system, user"):
        writer(strict).opening(dialogue("", messages=(Message("system", "x"), Message("user", "y"))))
    only_last = "{{ messages[-1].content }}"
    with pytest.raises(CalprobeError, match="does not show a reply"):
        writer(only_last).follow_up(dialogue("Who?"), ASK)


def test_thinking_is_switched_off_where_the_template_lets_it() -> None:
    qwen = TEMPLATE + "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% endif %}"
    made = writer(qwen)
    assert made.variables == {"enable_thinking": False}
    assert thinking_mode(made.variables, made.markers) == "off"
    prompt = made.opening(dialogue("Who?"))
    assert prompt.text.endswith("<think>\n\n</think>\n\n")
    assert not made.opens_thought(prompt.text)
    assert made.keeps_prompts() is False or prompt.text in made.opening(dialogue("Who?")).text
    always = writer(TEMPLATE + "<think>\n")
    assert always.opens_thought(always.opening(dialogue("Who?")).text)
    assert thinking_mode(always.variables, always.markers) == "kept apart"
    assert thinking_mode({}, writer().markers) == "none"


def test_todays_date_stays_out_of_prompts() -> None:
    dated = "{% if not date_string is defined %}{{ strftime_now('%d') }}{% endif %}{{ date_string }}" + TEMPLATE
    assert writer(dated).opening(dialogue("Who?")).text.startswith("26 Jul 2024<s>")


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ strftime_now('%d %B %Y') }}", "26 July 2024"),
        ("{{ 'Today: ' + strftime_now(format='%Y-%m-%d') }}", "Today: 2024-07-26"),
        ("{% set today = strftime_now('%A, %-d %b') %}{{ today | upper }}", "FRIDAY, 26 JUL"),
        ("  {%- macro head() -%}On {{ strftime_now('%F') }}{%- endmacro -%}{{ head() }}", "On 2024-07-26"),
        ("  {% if strftime_now is defined %}\n{{ strftime_now('%d') }} {% endif %}", "26 "),
    ],
)
def test_todays_date_stays_out_of_templates_that_ask_for_it(template: str, expected: str) -> None:
    made = writer(template + TEMPLATE)
    assert made.header() == f"{expected}<s>[user] "
    assert made.opening(dialogue("Who?")).text == f"{expected}<s>[user] Who?</s>\n[assistant] "
    assert made.template == template + TEMPLATE  # whose hash is kept


@pytest.mark.parametrize(
    "beginning", ["\n", "  {% if true %}\n{% endif %}", "{# x #}\n", " a", "\n\n  {%- set b = 1 %}\nc"]
)
def test_a_fixed_day_changes_nothing_else_of_a_template(beginning: str) -> None:
    plain, dated = (
        writer(f"{beginning}{TEMPLATE}{end}") for end in ("", "{% if false %}{{ strftime_now('') }}{% endif %}")
    )
    assert dated.header() == plain.header()


def test_what_the_template_adds_by_itself_is_known() -> None:
    made = writer("{% if messages[0].role != 'system' %}Be good.\n{% endif %}" + TEMPLATE)
    assert made.header() == "Be good.\n<s>[user] "
    assert writer(None).header() is None
    assert made.turn_end() == END
    assert made.keeps_prompts()
    forgetful = (
        "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if add_generation_prompt %}[now]{% endif %}"
    )
    assert not writer(forgetful).keeps_prompts()


@pytest.mark.parametrize(
    ("reply", "opened", "expected"),
    [
        ("Two.", False, (None, "Two.", False)),
        ("<think>\nOne.\n</think>\n\nTwo.", False, ("One.", "Two.", False)),
        ("One.</think>Two.", True, ("One.", "Two.", False)),
        ("One.</think>Two.", False, ("One.", "Two.", False)),
        ("One..", True, ("One..", "", True)),
        (" <think>One..", False, ("One..", "", True)),
    ],
)
def test_thoughts_are_kept_apart(reply: str, opened: bool, expected: tuple[str | None, str, bool]) -> None:
    assert split_thought(reply, FAMILIES[0], opened) == expected


def test_families_are_known_by_template_or_vocabulary() -> None:
    assert markers_of("..[THINK]..", {}) == FAMILIES[1]
    assert markers_of("", {"<think>": 5, "</think>": 6}) == FAMILIES[0]
    assert markers_of("", {"<think>": 5}) is None
