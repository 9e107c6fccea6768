"""Rows of public sets become questions; rows that cannot be asked are left out and counted."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from public_rows import ROWS, file_content

from calprobe.errors import ProbeFormatError, UsageError
from calprobe.questions import NAMED_SETS, Question
from calprobe.questions.columns import Surroundings
from calprobe.questions.gold import QuestionFault
from calprobe.questions.pools import public_pool
from calprobe.questions.question_rows import Row, kind_of_file, read_rows
from calprobe.questions.table_layouts import LAYOUTS, layout_of_row

ABC, ABCD = ("A", "B", "C"), ("A", "B", "C", "D")
READ = {
    "mmlu": Question("test/0", "2 + 2?", "choice", ("3", "4", "5", "6"), ABCD, 1, group="sums"),
    "mmlu-pro": Question("70", "2 + 2?", "choice", ("1", "2", "4"), ABC, 2, group="math"),
    "arc-easy": Question("AKDE_1", "Which is hot?", "choice", ("ice", "fire", "snow"), ABC, 1),
    "arc-challenge": Question(
        "NYSEDREGENTS_1", "Which is cold?", "choice", ("fire", "ice", "sun", "tea"), ("1", "2", "3", "4"), 1
    ),
    "openbookqa": Question("8-1", "Fog is likely at", "choice", ("a marsh", "a desert"), ("A", "B"), 0),
    "sst2": Question(
        "test/0",
        "Is the sentiment of this sentence from a film review negative or positive?",
        "choice",
        ("negative", "positive"),
        ("A", "B"),
        1,
        context="a fine film",
    ),
    "mnli": Question(
        "test/0",
        "How does the hypothesis relate to the premise?",
        "choice",
        ("entailment", "neutral", "contradiction"),
        ABC,
        0,
        context="Premise: A cat sits.\nHypothesis: An animal sits.",
    ),
    "ag-news": Question(
        "test/0",
        "Which topic does this news article belong to?",
        "choice",
        ("World", "Sports", "Business", "Science and technology"),
        ABCD,
        2,
        context="Shares rose.",
    ),
    "gsm8k": Question("test/0", "How many?", "number", number=1000.0),
    "gsm-mc": Question("test/0", "How many?", "choice", ("1", "2", "3", "4"), ABCD, 2),
    "svamp": Question("chal-1", "Dan had 4 dollars. How many are left?", "number", number=1.0, group="Subtraction"),
    "scibench": Question("test/0", "Calculate it.", "number", number=65.49, unit="$\\mathrm{kJ}$", group="atkins"),
    "truthfulqa": Question("test/0", "Do bulls hate red?", "open", accepted=("No", "They do not"), group="Myths"),
    "nq-open": Question("test/0", "who wrote hamlet", "open", accepted=("Shakespeare", "William Shakespeare")),
    "triviaqa": Question("tc_1", "Who wrote Hamlet?", "open", accepted=("Shakespeare", "The Bard")),
    "popqa": Question("42", "What is Ada's occupation?", "open", accepted=("poet", "writer"), group="occupation"),
}


def read(name: str, row: dict[str, Any], seed: int = 0, kind: str | None = None) -> Question:
    readers = NAMED_SETS[name].layout.readers
    reader = next(reader for asked, reader in readers.items() if kind in (None, asked))
    return reader(Row(row, "here", 0), Surroundings(name, "test", seed))


@pytest.mark.parametrize("name", READ)
def test_a_row_of_each_set(name: str) -> None:
    assert read(name, ROWS[name]) == READ[name]


@pytest.mark.parametrize("name", NAMED_SETS)
def test_each_set_is_recognised_by_its_row_and_by_no_other_layout_before(name: str) -> None:
    assert set(ROWS) == set(NAMED_SETS)
    assert layout_of_row(ROWS[name]) is NAMED_SETS[name].layout


def test_what_is_no_public_set_is_not_recognised() -> None:
    for row in ({}, {"question": "q", "answer": "a"}, {"id": 1, "question": "q", "answer": 3}, {"text": "t"}):
        assert layout_of_row(row) is None
    assert len({layout.name for layout in LAYOUTS}) == len(LAYOUTS)


@pytest.mark.parametrize(
    ("name", "kind", "right", "options"),
    [
        ("sciq", "choice", "water", {"water", "salt", "gold", "air"}),
        ("gpqa", "choice", "yes", {"yes", "no", "perhaps", "never"}),
        ("truthfulqa", "choice", "No", {"No", "Yes", "They do"}),
    ],
)
def test_options_are_drawn_by_seed(name: str, kind: str, right: str, options: set[str]) -> None:
    asked = [read(name, ROWS[name], seed, kind) for seed in range(300)]
    assert all(set(each.options) == options and each.options[each.answer or 0] == right for each in asked)
    places = Counter(each.answer for each in asked)
    assert set(places) == set(range(len(options)))
    expected = 300 / len(options)
    assert sum((count - expected) ** 2 / expected for count in places.values()) < 16  # chi-squared, p about 0.001
    assert read(name, ROWS[name], 7, kind) == asked[7]


def test_sciq_without_options() -> None:
    assert read("sciq", ROWS["sciq"], kind="open") == Question("test/0", "What is H2O?", "open", accepted=("water",))


def test_the_files_of_the_authors_have_other_columns() -> None:
    stem = {"stem": "Fog is likely at", "choices": [{"text": "a marsh", "label": "A"}, {"text": "air", "label": "B"}]}
    own = read("openbookqa", {"id": "8-1", "question": stem, "answerKey": "B"})
    assert (own.text, own.options, own.answer) == ("Fog is likely at", ("a marsh", "air"), 1)
    csv = {"Category": "Myths", "Question": "Do bulls?", "Best Answer": "No", "Correct Answers": "No; Not at all; "}
    assert read("truthfulqa", csv | {"Incorrect Answers": "Yes"}).accepted == ("No", "Not at all")
    assert read("svamp", ROWS["svamp"] | {"Answer": 2.5}).number == 2.5
    assert read("mmlu", {"subject": "s", "question": "q", "options": ["a", "b"], "answer": "B"}).answer == 1


CANNOT = [
    ("sst2", {"label": -1}, "no gold label"),
    ("sst2", {"label": 5}, "answer 5 is not a place"),
    ("arc-easy", {"answerKey": "E"}, "answerKey 'E' is none of the labels A, B, C"),
    ("mmlu", {"choices": ["one"]}, "fewer than two options"),
    ("mmlu", {"answer": 4}, "answer 4 is not a place"),
    ("scibench", {"answer_number": "about 3"}, "answer 'about 3' is not a number"),
    ("gsm8k", {"answer": "none #### none"}, "is not a number"),
    ("popqa", {"possible_answers": "poet"}, "possible_answers is no JSON list"),
    ("nq-open", {"answer": []}, "answer must be a list of at least 1"),
    ("truthfulqa", {"best_answer": " "}, "is empty"),
]


@pytest.mark.parametrize(("name", "change", "why"), CANNOT)
def test_a_row_that_cannot_be_asked_is_left_out_and_noted(
    name: str, change: dict[str, Any], why: str, tmp_path: Path
) -> None:
    path = tmp_path / "rows.jsonl"
    good = dict(ROWS[name])
    path.write_bytes(file_content(path.name, [good | change, good]))
    pool = public_pool({path.name: path}, NAMED_SETS[name].layout, Surroundings(name, "test", 0), None)
    assert pool.size == 1
    (note,) = pool.notes
    assert note.startswith("Left out because they cannot be asked: 1 row, the first at ")
    assert "rows.jsonl:1: " in note
    assert why in note
    path.write_bytes(file_content(path.name, [good | change]))
    with pytest.raises(ProbeFormatError, match=r"no other row can be asked; choose another split"):
        public_pool({path.name: path}, NAMED_SETS[name].layout, Surroundings(name, "test", 0), None)


@pytest.mark.parametrize("name", NAMED_SETS)
def test_rows_of_another_set_are_an_error_with_file_and_line(name: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(file_content(path.name, [ROWS[name], {"title": "no question"}]))
    with pytest.raises(ProbeFormatError, match=r"rows.jsonl:2: not of the layout .* missing; it has title; give"):
        public_pool({path.name: path}, NAMED_SETS[name].layout, Surroundings(name, "test", 0), None)


def test_a_later_row_with_an_id_of_before_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(file_content(path.name, [ROWS["triviaqa"], ROWS["triviaqa"] | {"question": "Another?"}]))
    pool = public_pool({path.name: path}, NAMED_SETS["triviaqa"].layout, Surroundings("t", "validation", 0), None)
    assert [pool.question(place).text for place in range(pool.size)] == ["Who wrote Hamlet?"]
    assert pool.notes == ("Left out because an earlier row has the same id: 1 row.",)


def test_a_kind_that_a_set_does_not_have(tmp_path: Path) -> None:
    layout = NAMED_SETS["gsm8k"].layout
    with pytest.raises(UsageError, match=r"--as open: gsm8k has questions of kind number; leave --as out"):
        public_pool({"x.jsonl": tmp_path / "x.jsonl"}, layout, Surroundings("gsm8k", "test", 0), "open")


@pytest.mark.parametrize("file", ["r.parquet", "r.jsonl", "r.json", "r.csv", "r.tsv"])
def test_every_format_gives_the_same_rows(file: str, tmp_path: Path) -> None:
    rows = [{"Question": "How,\tmany?\n", "Answer": "1"}, {"Question": 'With "quotes"', "Answer": "é"}]
    (tmp_path / file).write_bytes(file_content(file, rows))
    found = list(read_rows([tmp_path / file, tmp_path / file]))
    assert [row.content for row in found] == rows * 2
    assert [row.number for row in found] == [0, 1, 2, 3]
    assert all(row.where.startswith(str(tmp_path / file)) for row in found)


def test_a_file_that_is_not_what_its_name_says(tmp_path: Path) -> None:
    for name in ("x.parquet", "x.json", "x.jsonl"):
        (tmp_path / name).write_text("not it", encoding="utf-8")
        with pytest.raises(ProbeFormatError, match=f"{name}.*not (a Parquet file|JSON)"):
            list(read_rows([tmp_path / name]))
    (tmp_path / "list.json").write_text(json.dumps([1]), encoding="utf-8")
    with pytest.raises(ProbeFormatError, match=r"list.json: item 1 is a JSON int where an object"):
        list(read_rows([tmp_path / "list.json"]))
    assert kind_of_file(Path("x.txt")) == kind_of_file(Path("x.gz")) == ""


WEIRD = (None, True, -7, float("nan"), "", "x", [], [None], ["a", 1], {}, {"text": None, "label": [1]}, {"value": 3})


@pytest.mark.parametrize("name", NAMED_SETS)
def test_any_value_of_a_column_is_read_or_refused_in_words(name: str) -> None:
    for reader in NAMED_SETS[name].layout.readers.values():
        for column in ROWS[name]:
            for value in WEIRD:
                row = Row({**ROWS[name], column: value}, "here", 0)
                with suppress(QuestionFault):
                    question = reader(row, Surroundings(name, "test", 0))
                    assert isinstance(question.id, str)
                    assert question.text.strip()
                    assert all(text.strip() for text in (*question.options, *question.accepted, *question.labels))
