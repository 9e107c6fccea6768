"""`calprobe questions`: the list, one set, its oddities, and its JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commands import calprobe
from question_files import CHOICE, EVERY_KIND, OPEN, write_questions

from calprobe.questions import NAMED_SETS


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALPROBE_DATA", str(tmp_path / "data"))


def printed(*arguments: object) -> str:
    done = calprobe("questions", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def as_json(*arguments: object) -> Any:
    return json.loads(printed(*arguments, "--json"))


def test_the_list_says_how_to_get_each() -> None:
    header, *lines = printed().split("\n\n")[0].splitlines()
    assert header.split() == ["set", "what", "splits", "licence"]
    assert [line.split()[0] for line in lines] == list(NAMED_SETS)
    assert lines[0].endswith("mit           not here")
    assert next(line for line in lines if line.startswith("gpqa")).endswith("cc-by-4.0     not here, gated")
    entries = as_json()
    assert entries[0]["get"] == "calprobe fetch mmlu"
    assert entries[0]["splits"] == ["test", "validation", "dev"]
    assert [entry["name"] for entry in entries if not entry["quotable"]] == ["gpqa"]


def test_a_file(tmp_path: Path) -> None:
    text = printed(write_questions(tmp_path / "mine.jsonl", EVERY_KIND))
    first, second, third, blank, *rows = text.splitlines()
    assert first == "mine: 3 questions"
    assert second.startswith("from ")
    assert second.endswith("mine.jsonl")
    assert third.startswith("fingerprint ")
    assert blank == ""
    assert [row.split("  ", 1)[0] for row in rows] == ["kind", "options", "chance", "right option", "characters"]
    assert rows[0].endswith("choice 1, number 1, open 1")
    assert rows[1].endswith("3 in 1")


def test_facts() -> None:
    text = printed("mini", "--draw", 30, "--seed", 2)
    assert text.startswith("mini: 30 questions of 583 (drawn, rule nested, seed 2)\nfrom calprobe's own probe\n")
    assert "wordings      5 of each question" in text
    content = as_json("mini", "--as", "open")
    assert content["kinds"] == {"open": 583}
    assert content["wordings"] == 5
    assert content["groups"]["continent"] == 58
    assert content["source"]["licence"] == "cc0-1.0"
    assert as_json("mini", "--options", 6, "--groups", "capital,sport")["options"] == {"6": 82}


def test_what_is_odd(tmp_path: Path) -> None:
    records = [
        CHOICE,
        CHOICE | {"id": "c2", "question": "which is  red?"},
        CHOICE | {"id": "c3", "question": "Q3?", "options": ["Up", "up", "All of the above"], "answer": 0},
        CHOICE | {"id": "c4", "question": "Q4?", "options": ["C", "x", "A and B"], "answer": 1},
        CHOICE | {"id": "c5", "question": "Q5?", "labels": ["1", "2", "3"], "answer": "1"},
        CHOICE | {"id": "c6", "question": "Q6?", "options": ["All of France", "none", "both"], "answer": 1},
        OPEN | {"question": "Which play of Shakespeare is it?", "answer": ["shakespeare"], "extra": 1},
    ]
    odd = as_json(write_questions(tmp_path / "odd.jsonl", records))["odd"]
    assert odd == [
        "Keys that are not read: extra.",
        "Asked more than once, in the same words and with the same options: 1 question (c2).",
        "Two options read the same: 1 question (c3).",
        "The right option reads the same as another: 1 question (c3).",
        'An option refers to others ("all of the above"): 2 questions (c3, c4).',
        "An option's text is the label of another option: 1 question (c4).",
        "Labels differ between questions: from A in 5, from 1 in 1.",
        "The answer stands in the question: 1 question (o1).",
    ]
    assert "Notes:\n- Keys that are not read: extra.\n" in printed(tmp_path / "odd.jsonl")


@pytest.mark.parametrize(
    ("n", "elsewhere", "k", "is_noted"),
    [
        (12, 0, 4, True),  # 4^-12 = 6e-8
        (11, 0, 10, False),  # too few
        (19, 0, 2, False),  # 2^-19 = 2e-6
        (20, 0, 2, True),  # 2^-20 = 1e-6 less a bit
        (30, 3, 4, True),
        (30, 4, 4, False),  # fewer than nine of ten
    ],
)
def test_a_right_option_always_in_one_place_is_noted(
    tmp_path: Path, n: int, elsewhere: int, k: int, is_noted: bool
) -> None:
    options = [f"option {place}" for place in range(k)]
    records = [
        CHOICE | {"id": str(number), "question": f"Q{number}?", "options": options, "answer": int(number >= elsewhere)}
        for number in range(n)
    ]
    odd = as_json(write_questions(tmp_path / "q.jsonl", records))["odd"]
    start = f"The right option is in place 2 in {n - elsewhere} of {n} questions, and a model may prefer that place: "
    assert [note.startswith(start) and "answer=RIGHT" in note for note in odd] == [True] * is_noted


def test_where_the_right_option_stands(tmp_path: Path) -> None:
    records = [
        CHOICE | {"id": str(number), "question": f"Q{number}?", "answer": number % 4 // 2} for number in range(8)
    ]
    path = write_questions(tmp_path / "q.jsonl", records)
    assert as_json(path)["gold_places"] == {"0": 4, "1": 4}
    assert "right option  place 1 in 50%, place 2 in 50%" in printed(path)


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["mmlu"], 3, "question set 'mmlu' is not in"),
        (["mmul"], 2, "did you mean mmlu"),
        (["mini", "--draw", "5", "--limit", "5"], 2, "--draw and --limit contradict each other"),
        (["mini", "--draw", "0"], 2, "--draw 0 is too small; give 1 or more"),
        (["mini", "--draw", "584"], 2, "mini has 583 questions; draw at most 583"),
        (["--draw", "5"], 2, "--draw needs a question set; name one"),
        (["mini", "--options", "1"], 2, "--options 1 is out of range; give 2 to 26"),
        (["factor"], 2, "factor: a probe of texts to complete, not of questions; score it: calprobe score --probe"),
        (["mini", "--draw-rule", "sample"], 2, "--draw-rule says how --draw draws; give --draw N, or leave it out"),
        (["mini", "--as", "open", "--options", "6"], 2, "--options applies to facts that are asked as choice"),
        (["mmlu", "--options", "6"], 2, "--options applies to facts of a probe: mini, bear or a folder"),
        (["mmlu", "--forms", "forms.json"], 2, "--forms applies to facts of a probe: mini, bear or a folder"),
        (["mini", "--forms", "absent.json"], 2, "--forms absent.json: there is no such file"),
    ],
)
def test_wrong_usage(arguments: list[str], code: int, says: str) -> None:
    done = calprobe("questions", *arguments)
    assert done.returncode == code
    assert says in done.stderr
    assert done.stdout == ""


def test_replies_are_no_questions(tmp_path: Path) -> None:
    replies = write_questions(tmp_path / "replies.jsonl", [{"set": "s", "question": "q1", "text": "B."}])
    done = calprobe("questions", replies)
    assert done.returncode == 2
    assert f"{replies}: a file of replies, not of questions; make a run of it:\n" in done.stderr
    assert f"calprobe import replies {replies} --questions QUESTIONS.jsonl --out RUN" in done.stderr


def test_mmlu_as_it_is(shared: Path) -> None:
    content = as_json(f"mmlu={shared / 'questions' / 'mmlu_test.jsonl.gz'}")
    assert content["questions"] == 14_042
    assert content["options"] == {"4": 14_042}
    assert content["chance"] == 0.25
    assert sum(content["gold_places"].values()) == 14_042
    assert sum(content["groups"].values()) == 14_042


def test_columns_of_a_spreadsheet(tmp_path: Path) -> None:
    path = tmp_path / "quiz.csv"
    path.write_text('Nr,"Text, in full",A,B,Solution\n1,Which is hot?,Ice,Fire,Fire\n2,Which is wet?,Sand,Water,\n')
    refused = calprobe("questions", path)
    assert refused.returncode == 2
    assert "no column 'question'; say which it is: --columns question=COLUMN" in refused.stderr
    assert "it has the columns Nr, Text, in full, A, B, Solution" in refused.stderr
    columns = "question=Text, in full,options=A+B,answer=Solution"
    done = calprobe("questions", path, "--columns", columns, "--columns", "id=Nr", "--json")
    content = json.loads(done.stdout)
    assert (content["questions"], content["kinds"], content["source"]["left_out"]) == (1, {"choice": 1}, 1)
    assert content["source"]["columns"]["question"] == "Text, in full"
    for wrong, says in (("question", "give FIELD=COLUMN"), ("id=a,id=b", "id is there twice")):
        assert says in calprobe("questions", path, "--columns", wrong).stderr
