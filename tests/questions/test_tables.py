"""Questions from tables: CSV, TSV, Parquet, JSON, and data sets that the library `datasets` reads."""

from __future__ import annotations

import gzip
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from question_files import CHOICE, write_questions

from calprobe.errors import DataMissingError, ProbeFormatError, UsageError
from calprobe.questions import Question, QuestionOptions, QuestionSet, load_questions
from calprobe.questions.columns import Surroundings
from calprobe.questions.hub_sets import HubRows, hub_set
from calprobe.questions.pools import table_pool
from calprobe.questions.question_rows import Row

QUIZ = """Nr,Subject,"Question, in full",Option A,Option B,Option C,Correct
7,geo,What is the capital of France?,Paris,Rome,,Paris
8,bio,Which one barks?,Cat,Dog,Cow,B
"""
NAMED = {
    "id": "Nr",
    "subject": "Subject",
    "question": "Question, in full",
    "options": "Option A+Option B+Option C",
    "answer": "Correct",
}
EXPECTED = (
    Question("7", "What is the capital of France?", "choice", ("Paris", "Rome"), ("A", "B"), 0, group="geo"),
    Question("8", "Which one barks?", "choice", ("Cat", "Dog", "Cow"), ("A", "B", "C"), 1, group="bio"),
)


def loaded(path: Path | str, columns: dict[str, str] | None = None, **more: Any) -> QuestionSet:
    (questions,) = load_questions([path], QuestionOptions(columns=columns or {}, **more))
    return questions


def table(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_a_csv_file_by_the_names_of_its_columns(tmp_path: Path) -> None:
    found = loaded(table(tmp_path / "quiz.csv", QUIZ), NAMED)
    assert found.questions == EXPECTED
    assert found.source.columns == NAMED
    assert found.notes == ()


def test_every_kind_of_file_has_the_same_questions(tmp_path: Path) -> None:
    import pandas as pd

    rows = [
        {"id": "1", "question": "Red?", "options": ["blood", "sky"], "answer": "blood", "group": "g"},
        {"id": "2", "question": "Blue?", "options": ["blood", "sky"], "answer": "sky", "group": "g"},
    ]
    flat = [row | {"options": "|".join(row["options"])} for row in rows]
    write_questions(tmp_path / "a.jsonl", rows)
    pd.DataFrame(rows).to_parquet(tmp_path / "a.parquet")
    pd.DataFrame(flat).to_csv(tmp_path / "a.csv", index=False)
    pd.DataFrame(flat).to_csv(tmp_path / "a.tsv", index=False, sep="\t")
    (tmp_path / "a.json").write_text(json.dumps(rows))
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress((tmp_path / "a.csv").read_bytes()))
    sets = [loaded(tmp_path / f"a.{s}") for s in ("jsonl", "parquet", "csv", "tsv", "json", "csv.gz")]
    assert {each.source.fingerprint for each in sets} == {sets[0].source.fingerprint}


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ("Paris", {"kind": "open", "accepted": ("Paris",)}),
        ("Paris|City of Light", {"kind": "open", "accepted": ("Paris", "City of Light")}),
        ('"[""Paris"", ""City""]"', {"kind": "open", "accepted": ("Paris", "City")}),
        ("-1.5e3", {"kind": "number", "number": -1500.0}),
        ("007", {"kind": "open", "accepted": ("007",)}),
    ],
)
def test_answers_without_options(tmp_path: Path, cells: str, expected: dict[str, Any]) -> None:
    (question,) = loaded(table(tmp_path / "q.csv", f"question,answer\nWhich?,{cells}\n")).questions
    assert {name: getattr(question, name) for name in expected} == expected
    assert question.id == "0"  # its row


@pytest.mark.parametrize("unit", ["", "m"])
def test_a_number_with_commas_is_refused_and_said_how_to_write(tmp_path: Path, unit: str) -> None:
    path = table(tmp_path / "q.csv", f'question,answer,unit\nHow far?,500,m\nHow long?,"1,000.5",{unit}\n')
    with pytest.raises(ProbeFormatError, match=r"q\.csv:3: answer '1,000\.5' is not read as a number; write 1000\.5,"):
        loaded(path)
    path = table(tmp_path / "q.csv", 'question,answer,kind\nHow long?,"1,000",open\nWhich?,"10,20,30",\n')
    assert [question.accepted for question in loaded(path).questions] == [("1,000",), ("10,20,30",)]


@pytest.mark.parametrize(
    ("cell", "fix"),
    [
        ("1,000", "1000 (or 1.000)"),
        ("1,000,000", "1000000"),
        ("3,5", "3.5"),
        ("-0,125", "-0.125"),
        ("1.000,5", "1000.5"),
        ("1.000.000", "1000000"),
    ],
)
def test_numbers_of_other_languages_are_refused_and_said_how_to_write(tmp_path: Path, cell: str, fix: str) -> None:
    path = table(tmp_path / "q.csv", f'question,answer\nHow many?,12\nHow long?,"{cell}"\n')
    said = f"q.csv:3: answer '{cell}' is not read as a number; write {fix}, or give a column kind with open"
    with pytest.raises(ProbeFormatError, match=re.escape(said)):
        loaded(path)
    path = table(tmp_path / "q.csv", f'question,answer,kind\nHow long?,"{cell}",open\n')
    assert loaded(path).questions[0].accepted == (cell,)


def test_a_point_that_may_separate_thousands_is_noted(tmp_path: Path) -> None:
    def notes(*cells: str) -> tuple[str, ...]:
        return loaded(table(tmp_path / "q.csv", "question,answer\n" + "".join(f"{c}?,{c}\n" for c in cells))).notes

    assert notes("7", "1.500", "-2.000") == (
        "The point in 1.500 is read as a decimal point; if it separates thousands, write 1500.",
    )
    assert notes("7", "1.500", "2.5") == notes("0.125") == notes("1999") == notes("Paris") == ()


def places(tmp_path: Path, options: str, *answers: str) -> tuple[list[int | None], tuple[str, ...]]:
    lines = "".join(f"q{number},{options},{answer}\n" for number, answer in enumerate(answers))
    found = loaded(table(tmp_path / "q.csv", f"question,options,answer\n{lines}"))
    return [question.answer for question in found.questions], found.notes


def test_digits_are_places_where_the_whole_column_is(tmp_path: Path) -> None:
    assert places(tmp_path, "x|y|z", "0", "2", "1") == ([0, 2, 1], ())
    assert places(tmp_path, "x|y|z", "1", "3", "2") == ([0, 2, 1], ("Right options are numbered from 1.",))
    assert places(tmp_path, "10|20|30", "30", "10")[0] == [2, 0]  # texts
    assert places(tmp_path, "x|y|z", "C", "x")[0] == [2, 0]
    with pytest.raises(ProbeFormatError, match="also texts of options, in every row"):
        places(tmp_path, "2|1|0", "0", "1")
    with pytest.raises(ProbeFormatError, match=r"q\.csv:2: answer '0' is no option's text or label; give one \(A, B"):
        places(tmp_path, "x|y|z", "0", "4")
    with pytest.raises(ProbeFormatError, match=r"q\.csv:3: answer '1' .* numbers are places only where every answer"):
        places(tmp_path, "x|y|z", "y", "1")
    with pytest.raises(ProbeFormatError, match=r"q\.csv: .* places from 0 or from 1: .*; write labels \(A, B"):
        places(tmp_path, "x|y|z", "1", "2", "1")


def test_public_answers_that_fit_from_0_and_from_1_are_read_from_0_with_a_note() -> None:
    def read(name: str) -> tuple[list[int | None], tuple[str, ...]]:
        rows = [Row({"q": f"{n}?", "a": n, name: ["x", "y", "z"]}, f"row {n}", n) for n in (1, 2)]
        found = table_pool(rows, {"question": "q", "answer": "a", "options": name}, Surroundings("s", "test", 0), "s")
        return [found.question(place).answer for place in range(2)], found.notes

    assert read("o") == ([1, 2], ("Right options are read as numbered from 0; from 1 would fit, too.",))
    assert read("a.names") == ([1, 2], ())  # numbers of class labels are from 0


def test_right_options_of_their_own_and_booleans_have_no_number_to_mistake(tmp_path: Path) -> None:
    path = table(tmp_path / "q.csv", "question,right,wrong,worse\nq0?,x,y,z\n")
    columns = {"answer": "right", "options": "right+wrong+worse"}
    assert all(loaded(path, columns, seed=seed).questions[0].gold for seed in range(9))
    path = write_questions(tmp_path / "q.jsonl", [{"q": "Is fire cold?", "a": False}])
    assert loaded(path, {"question": "q", "answer": "a"}).questions[0].answer == 1


def test_a_right_option_in_a_column_of_its_own_gets_a_place_by_seed(tmp_path: Path) -> None:
    rows = "".join(f"q{number}?,right {number},wrong,worse\n" for number in range(30))
    path = table(tmp_path / "q.csv", f"text,right,wrong1,wrong2\n{rows}")
    columns = {"question": "text", "answer": "right", "options": "right+wrong1+wrong2"}
    found = loaded(path, columns).questions
    assert all(q.answer is not None and q.options[q.answer] == f"right {n}" for n, q in enumerate(found))
    assert {question.answer for question in found} == {0, 1, 2}
    assert loaded(path, columns).questions == found
    assert loaded(path, columns, seed=1).questions != found


def test_nested_columns_and_rows_without_an_answer(tmp_path: Path) -> None:
    rows = [
        {"q": "Which?", "choices": {"text": ["x", "y"], "label": ["1", "2"]}, "key": "2", "year": 3},
        {"q": "Whose?", "choices": {"text": ["x", "y"], "label": ["1", "2"]}, "key": None, "year": 4},
    ]
    path = tmp_path / "q.json"
    path.write_text(json.dumps(rows))
    columns = {"question": "q", "options": "choices.text", "labels": "choices.label", "answer": "key"}
    found = loaded(path, columns)
    assert [(q.answer, q.labels) for q in found.questions] == [(1, ("1", "2"))]
    assert found.source.left_out == 1
    assert found.notes[0].startswith("Left out: 1 row, the first at ")
    assert found.notes[0].endswith("item 2: no right answer.")
    assert found.notes[1] == "Columns that are not read: year."


@pytest.mark.parametrize(
    ("text", "columns", "says"),
    [
        (
            "Frage,answer\nx,y\n",
            {},
            r"no column 'question'; say which .*--columns(.|\n)*it has the columns Frage, answer",
        ),
        ("Frage,answer\nx,y\n", {"question": "Fragen"}, r"no column 'Fragen'; did you mean Frage\?\nit has"),
        ("question,choices,answer\nx,a|b,a\n", {}, "give --columns options=choices, or options="),
        ("question,A,B,answer\nx,a,b,A\n", {}, r"all answers are letters.*\n?.*options=A\+B"),
        ("question,answer\nx,y\n", {"optoins": "z"}, "did you mean options"),
        ("question,answer\nx,y\n", {"answer": "question+answer"}, "only options have several columns"),
    ],
)
def test_what_is_wrong_with_columns(tmp_path: Path, text: str, columns: dict[str, str], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        loaded(table(tmp_path / "q.csv", text), columns)


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("x,a|b,c", "neither a label"),
        ("x,a|a,a", "twice"),
        ("x,A|b,b", ""),
        ("x,b|A,A", "is the label of one option and the text of another"),
    ],
)
def test_a_right_option_by_text_is_one_option(tmp_path: Path, row: str, says: str) -> None:
    path = table(tmp_path / "q.csv", f"question,options,answer\n{row}\n")
    if not says:
        assert loaded(path).questions[0].answer == 1
        return
    with pytest.raises(ProbeFormatError, match=rf"q\.csv:2: .*{says}"):
        loaded(path)


def test_several_right_options_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "q.json"
    path.write_text(json.dumps([CHOICE | {"answer": ["A", "B"]}]))
    with pytest.raises(ProbeFormatError, match="item 1: 2 right options; a choice has one"):
        loaded(path)
    path.write_text(json.dumps([CHOICE | {"answer": ["grass"]}]))
    assert loaded(path).questions[0].answer == 1


def test_examples_come_from_what_questions_come_from(tmp_path: Path) -> None:
    path = table(tmp_path / "quiz.csv", QUIZ)
    shots = table(tmp_path / "dev.csv", QUIZ.replace("France", "Spain").replace("barks", "purrs"))
    own = write_questions(tmp_path / "own.jsonl", [CHOICE])
    for source, expected in ((str(shots), {"7", "8"}), (str(own), {"c1"}), ("mini", None)):
        count = 1 if expected is None else len(expected)
        found = loaded(path, NAMED, shots=count, shots_from=source)
        assert found.questions == EXPECTED
        assert expected is None or {shot.id for shot in found.shots} == expected
        assert len(found.shots) == count
    with pytest.raises(UsageError, match=r"--shots-from nothing: .*no file, no known set"):
        loaded(path, NAMED, shots=1, shots_from="nothing")
    other = table(tmp_path / "other.csv", QUIZ.replace(NAMED["answer"], "Key"))
    with pytest.raises(UsageError, match=rf"--shots-from .*other\.csv has no column '{NAMED['answer']}'"):
        loaded(path, NAMED, shots=1, shots_from=str(other))


def test_a_folder_that_the_library_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("datasets")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    Path("quiz").mkdir()
    for split in ("train", "test"):
        write_questions(
            Path("quiz") / f"{split}.jsonl",
            [{"q": f"{split} {n}?", "a": "x" if n else "", "o": ["x", "y"]} for n in range(3)],
        )
    columns = {"question": "q", "answer": "a", "options": "o"}
    found = loaded("hf:quiz", columns, shots=2)
    assert (found.name, found.source.split, found.source.shots_split, found.source.left_out) == (
        "quiz",
        "test",
        "train",
        1,
    )
    assert [(q.id, q.text, q.answer) for q in found.questions] == [("test/1", "test 1?", 0), ("test/2", "test 2?", 0)]
    assert {shot.text for shot in found.shots} == {"train 1?", "train 2?"}
    assert loaded("mine=hf:quiz::train", columns).questions[0].text == "train 1?"
    with pytest.raises(UsageError, match="no split 'dev'; it has train, test"):
        loaded("hf:quiz", columns, split="dev")
    with pytest.raises(UsageError, match="no column 'question'"):
        loaded("hf:quiz")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(DataMissingError, match="hf:nowhere/here cannot be had: "):
        loaded("hf:nowhere/here", columns)


@pytest.mark.parametrize(("name", "quotable"), [("Idavidrein/gpqa", False), ("idavidrein/GPQA", False), ("a/b", True)])
def test_a_set_that_must_not_be_quoted_is_not_by_other_columns(
    name: str, quotable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [Row({"q": "Why?", "a": "so"}, "row 0", 0)]
    monkeypatch.setattr(
        "calprobe.questions.question_loading.read_hub", lambda hub: HubRows(("train",), None, lambda split: rows)
    )
    assert loaded(f"hf:{name}", {"question": "q", "answer": "a"}).source.quotable is quotable


def test_names_of_class_labels_are_the_options(monkeypatch: pytest.MonkeyPatch) -> None:
    class Split(list[dict[str, Any]]):
        features: ClassVar = {"text": SimpleNamespace(), "label": SimpleNamespace(names=["cold", "hot"])}
        info = SimpleNamespace(download_checksums=None)

    rows = [{"text": "Fire?", "label": 1}, {"text": "Ice?", "label": 0}, {"text": "Hidden?", "label": -1}]
    library = SimpleNamespace(load_dataset=lambda *_names, **_options: {"test": Split(rows)})
    monkeypatch.setitem(sys.modules, "datasets", library)
    found = loaded("hf:a/b", {"question": "text", "answer": "label"})
    assert [(q.kind, q.options, q.answer) for q in found.questions] == [
        ("choice", ("cold", "hot"), 1),
        ("choice", ("cold", "hot"), 0),
    ]
    assert found.source.left_out == 1


def test_a_boolean_answer_is_a_choice_of_true_and_false(tmp_path: Path) -> None:
    path = write_questions(tmp_path / "quiz.jsonl", [{"q": "Is ice cold?", "a": True}, {"q": "Is fire?", "a": False}])
    found = loaded(path, {"question": "q", "answer": "a"})
    assert [(q.options, q.answer) for q in found.questions] == [(("True", "False"), 0), (("True", "False"), 1)]


def test_without_the_library_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(UsageError) as caught:
        loaded("hf:a/b")
    assert str(caught.value) == "hf:a/b needs the package datasets: pip install 'calprobe[datasets]'"


def test_which_split_is_asked_and_which_gives_examples() -> None:
    def of(*splits: str) -> HubRows:
        return HubRows(splits, None, lambda split: [])

    assert of("train", "validation", "test").asked(None, "x") == "test"
    assert of("train", "validation").asked(None, "x") == "validation"
    assert of("main").asked(None, "x") == "main"
    assert of("train", "dev", "test").shown("test") == "dev"
    assert of("test").shown("test") is None
    with pytest.raises(UsageError, match="no usual split; it has a, b"):
        of("a", "b").asked(None, "x")
    named = hub_set("hf:a/b@v1:c:d")
    assert (named.id, named.revision, named.config, named.split) == ("a/b", "v1", "c", "d")
    with pytest.raises(UsageError, match="is named hf:OWNER/NAME"):
        hub_set("hf:")


def test_files_of_a_known_set_side_by_side(tmp_path: Path) -> None:
    rows = {"test": "Which is red?", "dev": "Which is blue?"}
    for split, text in rows.items():
        row = {"subject": "s", "question": text, "choices": ["blood", "sky"], "answer": 0}
        write_questions(tmp_path / f"mmlu_{split}.jsonl", [row])
    found = loaded(f"mmlu={tmp_path}", shots=1)
    assert [question.text for question in (*found.questions, *found.shots)] == list(rows.values())
    assert found.source.shots_split == "dev"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("quiz.csv", "", "quiz.csv: no rows; add questions, one a row"),
        ("quiz.csv", "question,answer\n", "quiz.csv: no rows; add questions, one a row"),
        ("quiz.json", "[]", "quiz.json: no rows; add questions, one a row"),
        ("quiz.csv", "question,answer,question\nRed?,blood,Blue?\n", "quiz.csv:1: column 'question' is there twice"),
        ("quiz.csv", "question\tanswer\nRed?\tblood\n", "separated by tabs; save the file with commas"),
        ("quiz.csv", "question;answer\nRed?;blood;sky\n", "quiz.csv:2: 3 fields, 2 in the header; fix the line"),
        ("quiz.tsv", "question,answer\nRed?,blood\n", "separated by commas; save the file with tabs"),
    ],
)
def test_files_that_are_no_tables(tmp_path: Path, name: str, text: str, said: str) -> None:
    with pytest.raises(ProbeFormatError, match=re.escape(said)):
        loaded(table(tmp_path / name, text))


@pytest.mark.parametrize("begin", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "lines",
    [
        ("question;options;answer", 'Red, or not?;"sky;air|blood, too";B'),
        ('"question";"options";"answer"', '"Red, or not?";"sky;air|blood, too";"B"'),
        ('"answer";"question, or more";"options"', 'B;"Red, or not?";"sky;air|blood, too"'),
    ],
)
def test_semicolons_separate_where_the_header_has_no_commas(
    tmp_path: Path, lines: tuple[str, str], begin: str, end: str
) -> None:
    (tmp_path / "q.csv").write_bytes((begin + "".join(line + end for line in lines)).encode())
    columns = {"question": "question, or more"} if "more" in lines[0] else {}
    (question,) = loaded(tmp_path / "q.csv", columns).questions
    assert (question.text, question.options, question.answer) == ("Red, or not?", ("sky;air", "blood, too"), 1)


def test_a_semicolon_within_a_column_separates_nothing(tmp_path: Path) -> None:
    found = loaded(table(tmp_path / "q.csv", "question,answer,a;b\nRed; or?,blood;sky,1\n"))
    assert [(q.text, q.accepted) for q in found.questions] == [("Red; or?", ("blood;sky",))]


def test_a_long_context_and_columns_without_a_name(tmp_path: Path) -> None:
    text = "word " * 40_000
    found = loaded(table(tmp_path / "quiz.csv", f"question,context,answer,,\nRed?,{text},blood,,\n"))
    assert found.questions[0].context.strip() == text.strip()


def test_a_file_that_is_read_as_a_known_set_says_so(tmp_path: Path) -> None:
    file = table(tmp_path / "mine.csv", "sentence,label\nA fine film.,1\n")
    (note,) = loaded(file).notes
    assert note == "Read in the layout of sst2, which its columns have; --columns says it otherwise."
    assert loaded(file, {"question": "sentence", "answer": "label"}).questions[0].kind == "number"
