"""Short texts, yes and no, and when a text is an accepted one."""

from __future__ import annotations

import pytest
from asked_questions import choice, free, lettered
from hypothesis import given
from hypothesis import strategies as st

from calprobe.answers import GRADERS, Reading, grade, read, readers_of
from calprobe.answers.graders import JUDGE, MAY_ERR
from calprobe.answers.short import normalised, read_short
from calprobe.answers.yes_no import read_yes_no
from calprobe.errors import UsageError
from calprobe.runs.replies import Reply
from calprobe.words import GRADE_BY

SHORT = [
    ("Paris", "Paris", "first_line"),
    ("**Paris.**\n\nIt is in France.", "Paris", "first_line"),
    ("\n - The Seine, in Paris!\n", "The Seine, in Paris", "first_line"),
    ('"Hamlet"', "Hamlet", "first_line"),
    ("Answer: Paris", "Paris", "answer_marker"),
    ("The answer is Paris.", "Paris", "answer_marker"),
    ("**Answer:** Paris", "Paris", "answer_marker"),
    ("I think of France.\nIts capital it is.\nSo the final answer is: “Paris”.", "Paris", "answer_marker"),
    ("Answer: Rome\nNo.\nAnswer: Paris", "Paris", "answer_marker"),
    ("Answer:\nParis", "Paris", "answer_marker"),
    ("Paris\n\nQuestion: And of Italy?\nAnswer: Rome", "Paris", "first_line"),
    ("f(x) = x", "f(x) = x", "first_line"),
    ("The Who (band)", "The Who (band)", "first_line"),
    ("(Paris)", "Paris", "first_line"),
    ("-5 degrees", "-5 degrees", "first_line"),
    ("#1 hit", "#1 hit", "first_line"),
    ("**O-**.", "O-", "first_line"),
    ("Answer: Blood type AB-", "Blood type AB-", "answer_marker"),
    ("Paris-", "Paris", "first_line"),
    ("A: Paris", "Paris", "answer_marker"),
    ("Q: And?\nA: Paris", "Paris", "answer_marker"),
    ("Antwort: Paris", "Paris", "answer_marker"),
    ("**Réponse** : Paris", "Paris", "answer_marker"),
    ("答案：巴黎", "巴黎", "answer_marker"),
    ("Answer: Rome\nA: Paris", "Rome", "answer_marker"),
    ("A: 10%\nB: 20%", "A: 10%", "first_line"),
    ("Paris\nA: Rome", "Paris", "first_line"),
    ("A -", "A", "first_line"),
    ("+", "+", "first_line"),
    ("", None, ""),
    (" \n ", None, ""),
]


@pytest.mark.parametrize(("text", "value", "rule"), SHORT)
def test_the_short_text(text: str, value: str | None, rule: str) -> None:
    reading = read_short(text)
    assert (reading.value, reading.rule) == (value, rule)


@given(st.text(alphabet='aB .,\n*-"(){}é\u0301\u2028Answer:Question', max_size=60) | st.text())
def test_the_short_text_stands_in_the_reply(text: str) -> None:
    reading = read_short(text)
    if reading.value is None:
        assert (reading.status, text.strip()) == ("none", "")
    else:
        assert text[reading.start : reading.end] == reading.value != ""


NORMALISED = [
    ("The  Eiffel Tower", "eiffel tower"),
    ("Café", "cafe"),
    ("CAFE\u0301", "cafe"),
    ("U.S.A.", "usa"),
    ("Jean-Paul", "jean paul"),
    ("rock & roll", "rock and roll"),
    ("O'Neill’s", "oneills"),
    ("C#", "c#"),
    ("C++", "c++"),
    ("straße", "strasse"),
    ("ﬁne", "fine"),
    ("The The", "the the"),
    ("a", "a"),
    ("...", ""),
]


@pytest.mark.parametrize(("text", "expected"), NORMALISED)
def test_texts_are_compared_in_this_form(text: str, expected: str) -> None:
    assert normalised(text) == expected


@given(st.text())
def test_normalising_twice_is_normalising_once(text: str) -> None:
    once = normalised(text)
    assert normalised(once) == once or set(once.split()) & {"a", "an", "the"}


def graded(text: str, *accepted: str, grader: str | None = None) -> tuple[bool, str]:
    found = grade(read_short(text), free(*accepted), grader)
    return found.correct, found.matched


def test_a_text_is_right_if_it_is_accepted() -> None:
    assert graded("the eiffel tower.", "Tower", "Eiffel Tower") == (True, "Eiffel Tower")
    assert graded("Tower of Eiffel", "Tower") == (False, "")
    assert graded("USA", "US", "U.S.A.", "usa") == (True, "U.S.A.")
    assert graded("", "x") == (False, "")


def test_a_text_may_have_the_accepted_one_in_it() -> None:
    assert graded("The capital of France is Paris.", "Paris", grader="contains") == (True, "Paris")
    assert graded("It is New York City", "York", "New York", "City of York", grader="contains") == (True, "New York")
    assert graded("Parisian", "Paris", grader="contains") == (False, "")
    assert graded("anything", "...", grader="contains") == (False, "")


def test_graders_are_for_kinds() -> None:
    with pytest.raises(UsageError, match="question o: grader number is for questions of kind number, not open"):
        graded("x", "y", grader="number")
    with pytest.raises(
        UsageError,
        match="no grader 'exacts'; choose label, exact, contains, includes, rouge, number; did you mean exact",
    ):
        graded("x", "y", grader="exacts")
    assert set(GRADERS) == {"label", "exact", "contains", "includes", "rouge", "number"}
    assert set(GRADE_BY) == {*GRADERS, JUDGE} - {"label"}  # what `grade --grader` says of them
    assert set(MAY_ERR) == {JUDGE, "contains", "includes", "rouge"}


def test_a_label_is_right_if_it_is_the_options() -> None:
    question = choice("x", "y", labels=("1", "2"), answer=1)
    assert [grade(Reading(value, "ok", ""), question).correct for value in ("1", "2", None)] == [False, True, False]


YES_NO = [
    ("Yes", "yes", "leading"),
    ("no.", "no", "leading"),
    ("**No**, it is not. Yes?", "no", "leading"),
    ("It is right.\n\nYES", "yes", "own_line"),
    ("I think the answer is no.", "no", "answer_marker"),
    ("Answer: Yes", "yes", "answer_marker"),
    ("Verdict: **No**", "no", "answer_marker"),
    ("So I say yes to it", "yes", "only_mention"),
    ("The answer is yes. Wait, actually no.", "no", "corrected"),
    ("Yes? Actually no. The answer is yes.", "yes", "answer_marker"),
    ("To see whether the statement is true, look at gold.", None, ""),
    ("If it is correct, it floats. The claim is false.", "no", "truth"),
    ("Yes or no", None, "leading"),
    ("I say yes, you say no", None, "only_mention"),
    ("Nobody knows", None, ""),
    ("Yesterday", None, ""),
    ("", None, ""),
]


@pytest.mark.parametrize(("text", "value", "rule"), YES_NO)
def test_yes_and_no(text: str, value: str | None, rule: str) -> None:
    reading = read_yes_no(text)
    assert (reading.value, reading.rule) == (value, rule)
    assert reading.status == ("ok" if value else "several" if rule else "none")
    if value:
        assert text[reading.start : reading.end].lower() == ("false" if rule == "truth" else value)


def test_yes_and_no_in_the_words_of_the_labels() -> None:
    judged = choice("right", "wrong", labels=("Yes", "No"))
    reply = Reply("", "s", "q", "v", "answer", "yes, it is", "stop")
    assert read(reply, judged, "yes_no").value == "Yes"
    assert grade(read(reply, judged, "yes_no"), judged).correct
    assert read(reply, free("yes"), "yes_no").value == "yes"
    assert "yes_no" in readers_of(lettered(2))


@given(st.text(alphabet="yesno YESNO.\n/or*answer:İſ", max_size=40))
def test_any_text_is_read(text: str) -> None:
    reading = read_yes_no(text)
    if reading.value is not None:
        assert text[reading.start : reading.end].lower() == reading.value
