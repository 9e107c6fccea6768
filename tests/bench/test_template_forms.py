"""The rule for epistemic forms: where the adverb goes, how a confidence is stated, and how a file is filled."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import template_forms
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from template_forms import ALL_MARKERS, numeric_form, refresh_file, refreshed, rule_form, verbal_form

from calprobe.errors import ProbeFormatError

PARAPHRASES = ["The capital of [X] is [Y].", *(f"[Y] is the capital of [X], number {number}." for number in range(4))]

VERBAL_CASES = [
    ("The capital of [X] is [Y].", "The capital of [X] is possibly [Y]."),
    ("[X]'s voice type is [Y].", "[X]'s voice type is possibly [Y]."),
    ("[X] was born in [Y].", "[X] was possibly born in [Y]."),
    ("The lyrics of [X] were written by [Y].", "The lyrics of [X] were possibly written by [Y]."),
    ("[X] can speak [Y].", "[X] can possibly speak [Y]."),
    ("[X] has been a member of [Y].", "[X] has possibly been a member of [Y]."),
    ("[X] had played for [Y].", "[X] had possibly played for [Y]."),
    ("[X] has [Y] as its capital.", "[X] possibly has [Y] as its capital."),
    ("[X] has the same border as [Y].", "[X] possibly has the same border as [Y]."),
    ("[X] borders [Y].", "[X] possibly borders [Y]."),
    ("[X] used to play for [Y].", "[X] possibly used to play for [Y]."),
    ("[X] and [Y] share a border.", "[X] and [Y] possibly share a border."),
    ("In [X], people speak [Y].", None),
    ("In sports, [X] represents [Y].", "In sports, [X] possibly represents [Y]."),
    ("The language that is spoken in [X] is [Y].", "The language that is spoken in [X] is possibly [Y]."),
    ("The place where [X] was born is [Y].", "The place where [X] was born is possibly [Y]."),
    ("[X] lies in the country that is called [Y].", "[X] possibly lies in the country that is called [Y]."),
]


@pytest.mark.parametrize(("template", "expected"), VERBAL_CASES)
def test_adverb_follows_the_auxiliary_or_precedes_the_verb(template: str, expected: str | None) -> None:
    if expected is None:
        with pytest.raises(ValueError, match="a verb that the rule finds"):
            verbal_form(template, "possibly")
        return
    assert verbal_form(template, "possibly") == expected
    assert verbal_form(template, "certainly") == expected.replace("possibly", "certainly")


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("The capital of [X] is [Y].", "I'm 25% confident that the capital of [X] is [Y]."),
        ("[X] borders [Y].", "I'm 25% confident that [X] borders [Y]."),
        ("[Y] borders [X].", "I'm 25% confident that [Y] borders [X]."),
        ("A river in [X] is [Y].", "I'm 25% confident that a river in [X] is [Y]."),
        ("NATO counts [X] and [Y].", "I'm 25% confident that NATO counts [X] and [Y]."),
        ("1960s music by [X] is [Y].", "I'm 25% confident that 1960s music by [X] is [Y]."),
    ],
)
def test_stated_confidence_lowers_the_first_word_unless_slot_or_name(template: str, expected: str) -> None:
    assert numeric_form(template, 25) == expected


@given(st.sampled_from([template for template, expected in VERBAL_CASES if expected]), st.sampled_from(ALL_MARKERS))
def test_a_form_adds_words_and_keeps_the_template_s_own_in_order(template: str, marker: str) -> None:
    form = rule_form(template, marker)
    added = f"I'm {marker}% confident that " if marker.isdigit() else f" {marker}"
    rest = form.replace(added, "", 1)
    assert rest[1:] == template[1:]
    assert len(form) == len(template) + len(added)


def test_refreshed_makes_all_seven_forms_in_the_order_of_template_numbers() -> None:
    entry = refreshed({"paraphrases": PARAPHRASES})
    assert list(entry) == ["paraphrases", "verbal", "numeric"]
    assert entry["verbal"] == ["The capital of [X] is possibly [Y].", "The capital of [X] is certainly [Y]."]
    assert [form.split("%")[0] for form in entry["numeric"]] == ["I'm 0", "I'm 25", "I'm 50", "I'm 75", "I'm 100"]


def test_handwritten_forms_stay_and_the_others_are_made_anew() -> None:
    written = {
        "paraphrases": PARAPHRASES,
        "verbal": ["Possibly, [Y] rules [X].", "stale [X] [Y]"],
        "handwritten": ["possibly"],
    }
    entry = refreshed(written)
    assert entry["verbal"] == ["Possibly, [Y] rules [X].", "The capital of [X] is certainly [Y]."]
    assert entry["handwritten"] == ["possibly"]
    assert refreshed(entry) == entry


def test_a_form_that_the_rule_cannot_make_may_be_handwritten() -> None:
    first = "In [X], people speak [Y]."
    forms = ["In [X], people possibly speak [Y].", "In [X], people certainly speak [Y]."]
    entry = {"paraphrases": [first, *PARAPHRASES[1:]], "verbal": forms, "handwritten": ["possibly", "certainly"]}
    assert refreshed(entry)["verbal"] == forms
    with pytest.raises(ValueError, match="a verb that the rule finds"):
        refreshed({"paraphrases": entry["paraphrases"], "verbal": forms})


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"paraphrases": PARAPHRASES[:4]}, "paraphrases must be 5, got 4"),
        ({"paraphrases": PARAPHRASES, "templates": []}, "keys must be among .*, got 'templates'"),
        ({"paraphrases": PARAPHRASES, "handwritten": ["30"]}, "handwritten must be among .*, got '30'"),
        ({"paraphrases": PARAPHRASES, "handwritten": ["certainly"], "verbal": ["[X] [Y]"]}, "'certainly' must be in"),
        (
            {"paraphrases": PARAPHRASES, "handwritten": ["25"], "numeric": ["-", rule_form(PARAPHRASES[0], "25")]},
            "'25' must differ from the rule's",
        ),
    ],
)
def test_a_wrong_entry_is_refused_with_rule_and_value(entry: dict[str, list[str]], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        refreshed(entry)


def test_a_file_is_filled_once_and_then_stays(tmp_path: Path) -> None:
    path = tmp_path / "own.json"
    path.write_text(json.dumps({"éclair": {"paraphrases": PARAPHRASES}}), encoding="utf-8")
    before = path.read_text(encoding="utf-8")
    assert refresh_file(path, check=True) == ["éclair"]
    assert path.read_text(encoding="utf-8") == before
    assert refresh_file(path) == ["éclair"]
    filled = path.read_text(encoding="utf-8")
    assert filled.startswith('{\n  "éclair": {\n    "paraphrases": [\n')
    assert filled.endswith("}\n")
    assert refresh_file(path) == []
    assert path.read_text(encoding="utf-8") == filled


def test_a_wrong_file_is_named_with_line_and_relation_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "own.json"
    content = json.dumps({"good": {"paraphrases": PARAPHRASES}, "bad": {"paraphrases": []}}, indent=0)
    path.write_text(content, encoding="utf-8")
    line = content[: content.index('"bad"')].count("\n") + 1
    with pytest.raises(ProbeFormatError, match=rf"own\.json:{line}: bad: paraphrases must be 5, got 0; fix"):
        refresh_file(path)
    assert path.read_text(encoding="utf-8") == content


def test_command_line_checks_and_refreshes(tmp_path: Path) -> None:
    path = tmp_path / "own.json"
    path.write_text(json.dumps({"capital": {"paraphrases": PARAPHRASES}}), encoding="utf-8")
    checked = CliRunner().invoke(template_forms.main, [str(path), "--check"])
    assert checked.exit_code == 1
    assert "forms not by the rule in capital" in checked.output
    assert CliRunner().invoke(template_forms.main, [str(path)]).output.strip().endswith("refreshed capital")
    assert CliRunner().invoke(template_forms.main, [str(path), "--check"]).exit_code == 0
    path.write_text("[]", encoding="utf-8")
    failed = CliRunner().invoke(template_forms.main, [str(path)])
    assert failed.exit_code == 1
    assert "Traceback" not in failed.output


@pytest.mark.parametrize("path", sorted((Path(__file__).resolve().parents[2] / "templates").glob("*.json")), ids=str)
def test_the_forms_of_the_projects_files_follow_the_rule_unless_listed_as_handwritten(path: Path) -> None:
    assert refresh_file(path, check=True) == []
