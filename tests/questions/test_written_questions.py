"""A chosen question set as a file: the same questions, with where they were taken from."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from commands import calprobe
from public_rows import ROWS
from question_files import CHOICE, EVERY_KIND, NUMBER, write_questions

from calprobe.errors import ProbeFormatError
from calprobe.questions import QuestionOptions, QuestionSet, load_questions
from calprobe.questions.written import question_lines

# Options may get numbers as texts that are the labels of others: then no text says without doubt which is right.
NUMBERED = {"id": "4", "question": "2 + 1?", "options": ["a", "b", "c"], "labels": ["1", "2", "3"], "answer": "3"}


def again(chosen: QuestionSet, path: Path) -> QuestionSet:
    path.write_text(question_lines(chosen), "utf-8")
    return load_questions([path])[0]


def same_source(read: QuestionSet, chosen: QuestionSet) -> bool:
    """Whether the sources differ in nothing but their file."""
    source = chosen.source
    return replace(read.source, path=source.path, files=source.files, shots_split=source.shots_split) == source


@pytest.mark.parametrize(
    "options",
    [
        QuestionOptions(),
        QuestionOptions(draw=20, seed=3),
        QuestionOptions(limit=7, n_options=3),
        QuestionOptions(draw=2, draw_rule="relation", as_="open"),
        QuestionOptions(groups=("month", "moon-planet"), draw=5),
    ],
)
def test_facts_are_read_again_as_they_were_chosen(options: QuestionOptions, tmp_path: Path) -> None:
    (chosen,) = load_questions(["mini"], options)
    read = again(chosen, tmp_path / "drawn.jsonl")
    assert (read.name, read.notes) == ("drawn", ())
    assert read.questions == chosen.questions
    assert read.source.fingerprint == chosen.source.fingerprint
    assert read.source.probe == chosen.source.probe is not None
    assert same_source(read, chosen)


@pytest.mark.parametrize("name", list(ROWS))
def test_a_public_set_keeps_its_questions_and_terms(name: str, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps(ROWS[name]) + "\n", "utf-8")
    (chosen,) = load_questions([rows])
    read = again(chosen, tmp_path / "written.jsonl")
    assert read.questions == chosen.questions
    assert read.source.quotable == (name != "gpqa")
    assert same_source(read, chosen)


def test_every_kind_of_question_is_the_same_again(tmp_path: Path) -> None:
    more: list[dict[str, Any]] = [
        NUMBER | {"id": "n2", "context": "On a map.", "group": "maps", "paraphrases": ["What is the distance?"]}
    ]
    path = write_questions(tmp_path / "q.jsonl", [*EVERY_KIND, *more])
    (chosen,) = load_questions([path])
    assert again(chosen, tmp_path / "w.jsonl").questions == chosen.questions


def test_the_right_option_stays_the_right_one_whatever_options_are_called(tmp_path: Path) -> None:
    (chosen,) = load_questions([write_questions(tmp_path / "q.jsonl", [NUMBERED])])
    odd = replace(chosen.questions[0], options=("2", "3", "1"))
    twice = replace(chosen.questions[0], id="5", options=("x", "x", "y"))
    read = again(replace(chosen, questions=(odd, twice)), tmp_path / "w.jsonl")
    assert read.questions == (odd, twice)
    assert read.questions[0].answer == 2


def test_a_draw_from_a_written_set_is_a_draw_from_the_file(tmp_path: Path) -> None:
    (chosen,) = load_questions(["mini"], QuestionOptions(draw=20, seed=3))
    again(chosen, tmp_path / "w.jsonl")
    (fewer,) = load_questions([tmp_path / "w.jsonl"], QuestionOptions(limit=4))
    assert (fewer.source.available, fewer.source.rule, fewer.source.seed) == (20, "first", 0)
    assert fewer.questions == chosen.questions[:4]


@pytest.mark.parametrize(
    ("origins", "said"),
    [
        (({"split": "test"}, {"split": "dev"}), "w.jsonl:2: taken_from differs from that of the first question"),
        (({"splits": "test"},) * 2, "taken_from has splits, which calprobe does not write; remove taken_from"),
        (("mmlu",) * 2, "taken_from has 'mmlu', which calprobe does not write"),
    ],
)
def test_an_origin_that_calprobe_did_not_write_is_refused(origins: tuple[Any, Any], said: str, tmp_path: Path) -> None:
    records = [CHOICE | {"id": str(number), "taken_from": origin} for number, origin in enumerate(origins)]
    with pytest.raises(ProbeFormatError, match=said):
        load_questions([write_questions(tmp_path / "w.jsonl", records)])


def test_the_command_writes_what_it_shows(tmp_path: Path) -> None:
    out = tmp_path / "drawn.jsonl"
    done = calprobe("questions", "mini", "--as", "open", "--draw", "9", "--seed", "4", "--out", out)
    assert done.returncode == 0, done.stderr
    assert done.stderr == f"wrote {out}: 9 questions\n"
    (chosen,) = load_questions(["mini"], QuestionOptions(draw=9, seed=4, as_="open"))
    assert load_questions([out])[0].questions == chosen.questions
    shown = json.loads(calprobe("questions", out, "--json").stdout)
    assert (shown["questions"], shown["source"]["rule"], shown["source"]["available"]) == (9, "nested", 583)


def test_the_file_that_the_questions_are_read_from_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    mine = write_questions(tmp_path / "mine.jsonl", EVERY_KIND)
    (tmp_path / "link.jsonl").symlink_to(mine)
    (tmp_path / "mmlu").mkdir()
    of_mmlu = write_questions(tmp_path / "mmlu" / "test.jsonl", [ROWS["mmlu"]])
    before = mine.read_text("utf-8"), of_mmlu.read_text("utf-8")
    said = "belongs to what is read, and would be overwritten; give another --out"
    same = (("mine.jsonl", mine), (mine, "link.jsonl"), ("link.jsonl", mine), ("quiz=./mine.jsonl", "mine.jsonl"))
    for source, out in (*same, ("mmlu=mmlu", of_mmlu)):
        done = calprobe("questions", source, "--draw", "1", "--out", out)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr
    assert (mine.read_text("utf-8"), of_mmlu.read_text("utf-8")) == before
    for _ in range(2):  # what was drawn before may be replaced, but not while it is what is drawn from
        assert calprobe("questions", "mine.jsonl", "--draw", "1", "--out", "drawn.jsonl").returncode == 0
    assert said in calprobe("questions", "drawn.jsonl", "--draw", "1", "--out", "drawn.jsonl").stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("mini", "--out", "drawn.csv"),
            "--out drawn.csv: a question file has JSON lines; give a name that ends in .jsonl",
        ),
        (("--out", "drawn.jsonl"), "--out needs a question set; name one"),
        (("mini", "--out", "absent/drawn.jsonl"), "there is no folder absent; create it"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused(
    arguments: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = calprobe("questions", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert not list(tmp_path.iterdir())
