"""A user's question file: what is read, and what each fault says."""

from __future__ import annotations

import gzip
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from question_files import CHOICE, EVERY_KIND, NUMBER, OPEN, write_questions

from calprobe.errors import ProbeFormatError
from calprobe.questions import Question, question_of_record, question_record, read_question, read_question_file
from calprobe.questions.gold import QuestionFault
from calprobe.questions.question_records import fingerprint_of_questions


def test_each_kind_is_read_off_its_answer(tmp_path: Path) -> None:
    questions, notes = read_question_file(write_questions(tmp_path / "q.jsonl", EVERY_KIND))
    assert questions == (
        Question("c1", "Which is red?", "choice", ("blood", "grass", "sky"), ("A", "B", "C"), 0),
        Question("n1", "How far is it?", "number", number=12.5, unit="km"),
        Question("o1", "Who wrote Hamlet?", "open", accepted=("William Shakespeare", "Shakespeare")),
    )
    assert notes == ()
    assert [question.gold for question in questions] == ["A", "12.5", "William Shakespeare"]
    assert [question.chance for question in questions] == [1 / 3, 0, 0]


@pytest.mark.parametrize("answer", [1, "B", "grass", " grass "])
def test_the_right_option_by_place_label_or_text(answer: int | str) -> None:
    assert read_question(CHOICE | {"answer": answer}).answer == 1


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"labels": ["1", "2", "3"], "answer": "2"}, 1),
        ({"labels": ["0", "1", "2"], "answer": 1}, 1),
        ({"labels": ["yes", "no", "maybe"], "answer": "maybe"}, 2),
        ({"options": ["B", "A"], "labels": ["X", "Y"], "answer": "A"}, 1),
        ({"options": ["A", "B"], "answer": "B"}, 1),  # label and text of one option
    ],
)
def test_labels_of_ones_own(more: dict[str, Any], expected: int) -> None:
    question = read_question(CHOICE | more)
    assert question.answer == expected
    assert question.labels == tuple(more.get("labels", ("A", "B")))


def test_a_key_of_another_format_beside_our_own_is_noted_only(tmp_path: Path) -> None:
    path = write_questions(tmp_path / "q.jsonl", [CHOICE | {"group": "g", "subject": "s"}])
    assert read_question_file(path)[1] == ("Keys that are not read: subject.",)


def test_a_large_number_keeps_its_digits() -> None:
    golds = [read_question(NUMBER | {"answer": answer}).gold for answer in (1234567, 0.1, -2.5e-7, 3)]
    assert golds == ["1234567", "0.1", "-2.5e-07", "3"]


def test_what_else_a_line_has() -> None:
    more = {"context": " Read this. ", "group": 7, "paraphrases": ["What is red?"], "id": 3}
    question = read_question(CHOICE | more)
    assert (question.id, question.group, question.context) == ("3", "7", "Read this.")
    assert question.wordings == ("Which is red?", "What is red?")
    assert read_question(OPEN | {"answer": "Shakespeare"}).accepted == ("Shakespeare",)


FAULTS = [
    ({"question": " "}, CHOICE, "question ' ' is empty; give a text"),
    ({"question": 3}, CHOICE, "question 3 is not a text; put it in quotes"),
    ({"question": "\ud800"}, CHOICE, "half of a surrogate pair"),
    ({"id": ""}, CHOICE, "id '' is empty"),
    ({"id": True}, CHOICE, "id True is not a text"),
    ({"options": ["one"]}, CHOICE, "options must be a list of at least 2; fix it"),
    ({"options": "AB"}, CHOICE, "options must be a list of at least 2; fix it"),
    ({"options": ["x", "y", "x"]}, CHOICE, r"options has 'x' twice \(places 0 and 2\); change or remove one"),
    ({"options": ["x", "y", 3]}, CHOICE, "options: item 3 3 is not a text"),
    ({"options": [str(number) for number in range(27)]}, CHOICE, "more than there are letters; give 'labels'"),
    ({"labels": ["A", "B"]}, CHOICE, "2 labels and 3 options; give one label an option"),
    ({"labels": ["A", "B", "A"]}, CHOICE, "labels has 'A' twice"),
    ({"answer": 3}, CHOICE, "answer 3 is not a place; places are 0 to 2"),
    ({"answer": -1}, CHOICE, "answer -1 is not a place"),
    ({"answer": "D"}, CHOICE, r"answer 'D' is neither a label \(A, B, C\) nor an option's text; give one of them"),
    ({"answer": "gras"}, CHOICE, "did you mean grass"),
    ({"answer": 1.0}, CHOICE, "answer 1.0 is no option; give its place"),
    ({"answer": True}, CHOICE, "answer True is no option"),
    ({"answer": None}, CHOICE, "answer None is no option"),
    ({"answer": ["A"]}, CHOICE, r"answer \['A'\] is no option"),
    (
        {"options": ["B", "x", "y"], "answer": "B"},
        CHOICE,
        "label of one option and the text of another.*give the place",
    ),
    (
        {"labels": ["1", "2", "3"], "answer": 1},
        CHOICE,
        "answer 1 is a place .* label of place 0; write the label in qu",
    ),
    ({"unit": "m"}, CHOICE, "a unit belongs to a number, and this is a question of kind choice"),
    ({"kind": "multiple"}, CHOICE, "kind 'multiple' is unknown; give choice, number, open"),
    ({"kind": "open"}, CHOICE, "options and labels belong to a choice, and kind is open; remove them"),
    ({"kind": "choice"}, NUMBER | {"unit": None}, "a unit belongs|a choice has options"),
    ({"answer": "12"}, NUMBER, "a unit belongs to a number, and answer '12' is not read as one; write digits alone"),
    ({"kind": "open", "answer": "x"}, NUMBER, "a unit belongs to a number, and this is a question of kind open"),
    ({"answer": float("nan")}, NUMBER, "answer is not a finite number"),
    ({"answer": 10**400}, NUMBER, "answer is not a finite number"),
    ({"answer": False}, NUMBER, 'answer false is not a number; ask it as a choice: .*, "answer": "False"'),
    ({"answer": "12", "kind": "number"}, NUMBER, "answer '12' is not a number; write digits alone, without quotes"),
    ({"unit": ""}, NUMBER, "unit '' is empty"),
    ({"answer": []}, OPEN, "answer must be a list of at least 1"),
    ({"answer": ["x", ""]}, OPEN, "answer: item 2 '' is empty"),
    ({"answer": {"value": "x"}}, OPEN, "answer {'value': 'x'} is not a number; give one"),
    ({"paraphrases": ["Who wrote Hamlet?"]}, OPEN, "question with its paraphrases has 'Who wrote Hamlet.' twice"),
    ({"choices": ["a", "b"]}, NUMBER, "key 'choices' is not read; call it 'options'"),
    ({"answers": ["a"]}, {"id": "q", "question": "q?"}, "key 'answers' is not read; call it 'answer'"),
    ({"subject": "physics"}, CHOICE, "key 'subject' is not read; call it 'group'"),
    ({"option": ["a", "b"]}, OPEN, "key 'option' is not read; did you mean options"),
]


@pytest.mark.parametrize(("change", "record", "says"), FAULTS)
def test_each_fault_says_what_is_wrong(change: dict[str, Any], record: dict[str, Any], says: str) -> None:
    with pytest.raises(QuestionFault, match=says):
        read_question(record | change)


@pytest.mark.parametrize("key", ["id", "question", "answer"])
def test_a_missing_key_is_named_with_file_and_line(key: str, tmp_path: Path) -> None:
    records = [CHOICE, {name: value for name, value in OPEN.items() if name != key}]
    path = write_questions(tmp_path / "q.jsonl", records)
    with pytest.raises(ProbeFormatError) as caught:
        read_question_file(path)
    assert str(caught.value) == f"{path}:2: key {key!r} missing; add it"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", r"q.jsonl: empty file; add questions, one a line"),
        (f"{json.dumps(CHOICE)}\n\n{json.dumps(OPEN)}\n", "q.jsonl:2: empty line; remove it"),
        (f"{json.dumps(CHOICE)}\n{json.dumps(NUMBER)}\n{json.dumps(CHOICE)}\n", "q.jsonl:3: id 'c1' is also in line 1"),
        (f"{json.dumps(CHOICE)}\n{{", "q.jsonl:2: not JSON"),
        ("[1, 2]\n", "q.jsonl:1: a JSON array where an object"),
        ('{"id": "a", "id": "b"}\n', 'q.jsonl:1: key "id" twice'),
        ('{"id": "a", "question": "q", "answer": NaN}\n', "q.jsonl:1: answer is not a finite number"),
        ('{"id": "a", "question": "q", "answer": Infinity}\n', "q.jsonl:1: answer is not a finite number"),
    ],
)
def test_a_fault_of_the_file_names_file_and_line(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ProbeFormatError, match=says):
        read_question_file(path)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_bytes(json.dumps(CHOICE).encode() + b"\n\xff\n")
    with pytest.raises(ProbeFormatError, match=r"q.jsonl:2: not UTF-8"):
        read_question_file(path)


def test_byte_order_mark_and_windows_line_ends_change_nothing(tmp_path: Path) -> None:
    plain = write_questions(tmp_path / "plain.jsonl", EVERY_KIND)
    windows = tmp_path / "windows.jsonl"
    windows.write_bytes(b"\xef\xbb\xbf" + plain.read_bytes().replace(b"\n", b"\r\n"))
    assert read_question_file(windows) == read_question_file(plain)


def test_a_gzipped_file_is_read_and_a_cut_one_refused(tmp_path: Path) -> None:
    plain = write_questions(tmp_path / "q.jsonl", EVERY_KIND)
    packed = tmp_path / "q.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert read_question_file(packed) == read_question_file(plain)
    packed.write_bytes(packed.read_bytes()[:-20])
    with pytest.raises(ProbeFormatError, match=r"q.jsonl.gz: cannot be read .not a complete gzip file"):
        read_question_file(packed)
    packed.write_bytes(plain.read_bytes())
    with pytest.raises(ProbeFormatError, match=r"q.jsonl.gz: cannot be read"):
        read_question_file(packed)


def test_keys_that_are_not_read_are_noted(tmp_path: Path) -> None:
    path = write_questions(tmp_path / "q.jsonl", [CHOICE | {"difficulty": 3}, OPEN])
    assert read_question_file(path)[1] == ("Keys that are not read: difficulty.",)


TEXTS = st.text(st.characters(codec="utf-8"), min_size=1).filter(lambda text: text == text.strip())
CHOICES = st.lists(TEXTS, min_size=2, max_size=6, unique=True)


@given(options=CHOICES, place=st.integers(0, 5), text=TEXTS)
def test_any_texts_go_through_a_line_and_a_record(options: list[str], place: int, text: str) -> None:
    place %= len(options)
    line = json.loads(json.dumps({"id": "q", "question": text, "options": options, "answer": place}))
    question = read_question(line)
    assert (question.text, question.options, question.answer) == (text, tuple(options), place)
    record = json.loads(json.dumps(question_record(question)))
    assert question_of_record(record) == question


def test_the_fingerprint_is_over_every_field_and_the_order() -> None:
    questions = [read_question(record) for record in EVERY_KIND]
    whole = fingerprint_of_questions(questions)
    assert whole == fingerprint_of_questions(questions)
    changed = [read_question(CHOICE | change) for change in ({"answer": 1}, {"group": "g"}, {"context": "c"})]
    others = [fingerprint_of_questions([each, *questions[1:]]) for each in changed]
    assert len({whole, *others, fingerprint_of_questions(questions[::-1])}) == 5


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)


@given(st.sampled_from(EVERY_KIND), st.sampled_from([*CHOICE, "labels", "unit", "kind", "group", "paraphrases"]), JSON)
def test_any_value_is_read_or_refused_in_words(record: dict[str, Any], key: str, value: Any) -> None:
    with suppress(QuestionFault):
        question = read_question(record | {key: value})
        assert question.text
        assert (question.answer is not None) + (question.number is not None) + bool(question.accepted) == 1
