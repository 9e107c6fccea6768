"""The project's own question forms, and those of a file."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from calprobe.errors import ProbeFormatError, UsageError
from calprobe.probes import Probe, load_probe
from calprobe.probes.datasets import bear_relations
from calprobe.questions.forms import filled, forms_for, read_forms

FOLDER = Path(__file__).resolve().parents[2] / "templates" / "questions"
FILES = sorted(FOLDER.glob("*.json"))


def probe_of(path: Path, request: pytest.FixtureRequest) -> Probe:
    """The probe that a file is for; BEAR's labels lie outside the project."""
    if path.stem == "bear":
        return load_probe(request.getfixturevalue("shared") / "bear" / "BEAR")
    return load_probe(path.stem)


def test_both_probes_have_forms_for_every_relation() -> None:
    assert [path.stem for path in FILES] == ["bear", "mini"]
    assert set(read_forms(FILES[0])) == bear_relations()
    assert set(read_forms(FILES[1])) == {relation.name for relation in load_probe("mini").relations}
    assert [len(read_forms(path)) for path in FILES] == [60, 17]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_five_distinct_questions_with_one_subject_each(path: Path) -> None:
    for name, forms in read_forms(path).items():
        assert len({form.casefold() for form in forms}) == len(forms) == 5, name
        for form in forms:
            assert form.count("[X]") == 1, form
            assert "[Y]" not in form, form
            assert form.count("?") == 1, form
            assert form.endswith("?"), form
            assert form.startswith("[X]") or form[0].isupper(), form
            assert form.split() == form.split(" "), form
            assert not re.search(r"\w\[X\]|\[X\]\w|\s[?,]|the the ", form), form
            assert re.search(r"\b(what|which|who|whom|where|how)\b", form, re.IGNORECASE), form


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_file_is_written_in_the_stable_form(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text == json.dumps(json.loads(text), indent=2, ensure_ascii=False) + "\n"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_articles_before_the_subject_fit_every_label(path: Path, request: pytest.FixtureRequest) -> None:
    """An article is used only where no label brings its own; `a` and `an` stand before no label."""
    probe = probe_of(path, request)
    for name, forms in read_forms(path).items():
        subjects = [fact.subject for fact in probe.relation(name).instances]
        for form in forms:
            assert not re.search(r"\b(a|an) \[X\]", form, re.IGNORECASE), form
            if re.search(r"\bthe \[X\]", form, re.IGNORECASE):
                assert [subject for subject in subjects if subject.lower().startswith("the ")] == [], form


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_form_names_a_candidate(path: Path, request: pytest.FixtureRequest) -> None:
    probe = probe_of(path, request)
    for name, forms in read_forms(path).items():
        for form in forms:
            words = set(re.findall(r"\w+", form.replace("[X]", " ").lower()))
            assert [answer for answer in probe.relation(name).candidates if answer.lower() in words] == [], form


def test_review_lists_every_rendered_question(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Writes one question a form, with the relation's first subject and its answer, for a person to read (-s)."""
    lines = []
    for path in FILES:
        probe = probe_of(path, request)
        for name, forms in read_forms(path).items():
            relation = probe.relation(name)
            fact = relation.instances[0]
            answer = relation.candidates[fact.answer_idx]
            lines += [f"{name}\t{filled(form, fact.subject)}\t{answer}" for form in forms]
    (tmp_path / "questions.txt").write_text("\n".join(lines), encoding="utf-8")
    print("\n" + "\n".join(lines))
    assert len(set(lines)) == 385
    assert "[X]" not in "".join(lines)


def test_a_question_that_begins_with_its_subject_begins_with_a_capital() -> None:
    assert filled("[X] is what?", "iron") == "Iron is what?"
    assert filled("[X] is what?", "ßa") == "ßa is what?"
    assert filled("What is [X]?", "[X]") == "What is [X]?"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ({"r": ["What is it?"]}, r"forms.json:1: question 'What is it\?' of 'r' has \[X\] 0 times; write it once"),
        ({"r": ["[X] or [X]?"]}, r"has \[X\] 2 times"),
        ({"r": ["Is [X] [Y]?"]}, r"has \[Y\], which gives the answer away"),
        ({"r": ["What is [X]"]}, "does not end with a question mark; add it"),
        ({"r": ["What is [X]?", "what is [X]?"]}, "'r' has a question twice"),
        ({"r": []}, "'r' must be a list of questions"),
        ({"r": {"paraphrases": []}}, "'r' must be a list of questions"),
        ({"r": [1]}, "'r' must be a list of questions"),
    ],
)
def test_faults_of_a_file_of_forms(content: dict[str, object], says: str, tmp_path: Path) -> None:
    path = tmp_path / "forms.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(ProbeFormatError, match=says):
        read_forms(path)


def test_forms_of_a_file_are_for_its_relations(tmp_path: Path) -> None:
    mini = load_probe("mini")
    path = tmp_path / "forms.json"
    path.write_text(json.dumps({"capital": ["[X]: which capital?"], "other": ["[X]?"]}), encoding="utf-8")
    assert forms_for(mini, str(path))["capital"] == ("[X]: which capital?",)
    path.write_text(json.dumps({"other": ["[X]?"]}), encoding="utf-8")
    with pytest.raises(UsageError, match=r"no question forms for the relations of mini .*--forms FILE.json"):
        forms_for(mini, str(path))
    with pytest.raises(UsageError, match=r"there is no such file; give a JSON file"):
        forms_for(mini, str(tmp_path / "absent.json"))
