"""Labels read off replies: the tables of the audit's specification, and what replies look like."""

from __future__ import annotations

import numpy as np
import pytest
from asked_questions import choice, lettered, number, worded
from hypothesis import given
from hypothesis import strategies as st

from calprobe.answers import READERS, Reading, read, readers_of
from calprobe.answers.reply_tails import length_without_repeats
from calprobe.errors import UsageError
from calprobe.questions import Question
from calprobe.runs.replies import Finish, LabelScores, Reply

FOUR, TEN = lettered(4), lettered(10)
TEXT_READERS = ("last_marker", "first_char", "first_marker")


def reply(text: str, finish: Finish = "stop", **others: object) -> Reply:
    return Reply("", "set", "q", "variant", "answer", text, finish, **others)  # type: ignore[arg-type]


def value(text: str, question: Question = FOUR, reader: str = "last_marker", finish: Finish = "stop") -> object:
    return read(reply(text, finish), question, reader).value


# Text, question, by the first character, by ours (section 9 of the specification).
TABLE = [
    ("B", FOUR, "B", "B"),
    (" (C) because", FOUR, "C", "C"),
    ("**D**", FOUR, "D", "D"),
    ("- A", FOUR, "A", "A"),
    ("Answer: C", FOUR, "A", "C"),
    ("A plant needs light and water.", FOUR, "A", None),
    ("Based on the text, it is hard to say.", FOUR, "B", None),
    ("The answer is B.", FOUR, None, "B"),
    ("Let's see.\nB", FOUR, "B", "B"),
    ("I would pick (C)", TEN, "I", "C"),
    ("", FOUR, None, None),
    ("b", FOUR, None, "B"),  # by the first character: the specification is silent
    ("The correct answer is A. No, the correct answer is D.", FOUR, None, "D"),
    ("(E)", FOUR, None, None),
    (r"$\boxed{B}$", FOUR, None, "B"),  # by the first character: the specification is silent
]


@pytest.mark.parametrize(("text", "question", "first_char", "last_marker"), TABLE, ids=[repr(row[0]) for row in TABLE])
def test_rows_of_the_table(text: str, question: Question, first_char: str | None, last_marker: str | None) -> None:
    assert value(text, question, "first_char") == first_char
    assert value(text, question, "last_marker") == last_marker


def test_a_cut_reply_that_repeats_itself() -> None:
    for reader in ("first_char", "last_marker"):
        reading = read(reply("B. B. B. B", "length"), FOUR, reader)
        assert (reading.value, reading.status) == ("B", "cut")
        assert (reading.start, reading.end) == (0, 1)


def test_path_1_takes_the_first_match() -> None:
    assert value("The correct answer is A. No, the correct answer is D.", reader="first_marker") == "A"


# The specification's other examples (8.2, 4.2, 4.3).
FIRST_CHARACTERS = [
    ("According to it", FOUR, "A"),
    ("I would say C", FOUR, None),
    ("I would say C", TEN, "I"),
    ("Given that", TEN, "G"),
    ("However", TEN, "H"),
    ("First, look", TEN, "F"),
    ("Here", TEN, "H"),
    ("Justification", TEN, "J"),
    ("First, look", FOUR, None),
    ("The sky", FOUR, None),
    ("\n\n  * C\nA", FOUR, "C"),
    ("Looking at it\n A \nThe end", FOUR, "A"),
    ("Looking at it\nA\nno\n**B**\n", FOUR, "B"),
    ("Looking at it, B", FOUR, None),
    ("---\nD", FOUR, "D"),
]


@pytest.mark.parametrize(("text", "question", "expected"), FIRST_CHARACTERS)
def test_the_first_character(text: str, question: Question, expected: str | None) -> None:
    assert value(text, question, "first_char") == expected


PATH_1 = [
    ("Answer: B. Final answer: C", "C", "final_answer"),
    ("Answer: B. The correct answer is **D**", "D", "correct_answer_is"),
    ("Answer: B. Answer: C", "B", "answer"),
    ("So the right option is (C).", "C", "answer_is"),
    (r"\boxed{D} it is", "D", "boxed"),
    ("I think of C and then B", "B", "tail"),
    ("Now a plant. A plant.", "A", "tail"),
    ("D" + "x" * 300, "D", "first_line"),
    ("Answer: Clouds, not D", "D", "tail"),
]


@pytest.mark.parametrize(("text", "expected", "rule"), PATH_1)
def test_path_1(text: str, expected: str, rule: str) -> None:
    reading = read(reply(text), FOUR, "first_marker")
    assert (reading.value, reading.rule) == (expected, rule)


# Text, value, rule.
MARKED = [
    ("The answer is (B).", "B", "answer_marker"),
    ("**Answer:** B", "B", "answer_marker"),
    ("Answer:\n\nB", "B", "answer_marker"),
    ("The correct option is therefore B, as said.", "B", "answer_marker"),
    ("the answer to this question is c.", "C", "answer_marker"),
    ("So the best choice would be option D", "D", "answer_marker"),
    ("The final answer is: $\\boxed{C}$", "C", "answer_marker"),
    ("<ANSWER>C<ANSWER>", "C", "answer_marker"),
    ("<answer>c</answer>", "C", "answer_marker"),
    ("Answer: A because it is", "A", "answer_marker"),
    ("Answer: A. Paris", "A", "answer_marker"),
    ("Answer - D", "D", "answer_marker"),
    ("I would go with (B) over (C).", "B", "chosen"),
    ("I choose D", "D", "chosen"),
    ("I would say C", "C", "chosen"),
    ("Option B is correct, unlike (A) and (C).", "B", "is_correct"),
    ("**C** is the right answer", "C", "is_correct"),
    ("A is the correct one, C is not.", "A", "is_correct"),
    ("Thus \\boxed{\\text{D}}", "D", "boxed"),
    ("It rains.\n\n**C**\n", "C", "own_line"),
    ("It rains.\nOption C.\n", "C", "own_line"),
    ("It rains.\na\n", "A", "own_line"),
    ("The answer is A.\nNo.\nB", "B", "own_line"),
    ("B\nThe answer is A.", "A", "answer_marker"),
    ("B. Paris", "B", "leading"),
    ("B) Paris is right\nand so on", "B", "leading"),
    ("B: Paris", "B", "leading"),
    ("B - Paris", "B", "leading"),
    ("It must be (c), I guess", "C", "brackets"),
    ("The capital is **B. Paris**, of course", "B", "brackets"),
    ("It has to be C.", "C", "full_stop"),
    ("I think C it is", "C", "only_mention"),
    ("It is not B but C it is", "C", "only_mention"),
    ("B\n\nQuestion: What else?\nA. x\nB. y\nAnswer: C", "B", "own_line"),
    ("Question: Which?\nAnswer: C", "C", "answer_marker"),
]


@pytest.mark.parametrize(("text", "expected", "rule"), MARKED)
def test_the_last_marker(text: str, expected: str, rule: str) -> None:
    reading = read(reply(text), FOUR, "last_marker")
    assert (reading.value, reading.rule) == (expected, rule)
    assert text[reading.start : reading.end].upper() == expected


# No answer: prose, names, lists, questions, several.
UNREAD = [
    ("I do not know.", FOUR, "none"),
    ("Answer: D'Artagnan", FOUR, "none"),
    ("The answer is a plant.", FOUR, "none"),
    ("Answer: A plant cell", FOUR, "none"),
    ("Answer: I think it rains", TEN, "none"),
    ("I believe so. I do.", TEN, "none"),
    ("Vitamin-C and B-cells and A's", FOUR, "none"),
    ("Answer: Cambridge", FOUR, "none"),
    ("The answer is B12", FOUR, "none"),
    ("The answer is not B", FOUR, "none"),
    ("It cannot be option B.", FOUR, "none"),
    ("None of the above", FOUR, "none"),
    ("The answer is A or B.", FOUR, "several"),
    ("Answer: B, C", FOUR, "several"),
    ("B and C fit", FOUR, "several"),
    ("I am torn between A and D.", FOUR, "several"),
    ("I think it is B, and D.", FOUR, "several"),
    ("A or D is correct", FOUR, "several"),
    ("A. x\nB. y\nC. z\nD. w", FOUR, "several"),
    ("Perhaps (A), perhaps (B)", FOUR, "several"),
    ("A or B\n\nQuestion: What is 2 + 2?\nAnswer: C", FOUR, "several"),
    ("The answer is A or B.\n\nQuestion: What is 2 + 2?\nAnswer: C", FOUR, "several"),
]


@pytest.mark.parametrize(("text", "question", "status"), UNREAD)
def test_what_is_no_answer(text: str, question: Question, status: str) -> None:
    reading = read(reply(text), question, "last_marker")
    assert (reading.value, reading.status, reading.start) == (None, status, -1)


def test_repeats_of_a_cut_tail_are_no_evidence() -> None:
    text = "Answer: B\nor Answer: C\nor " + "Answer: B\nor Answer: C\nor " * 5 + "Answer: B"
    assert value(text, finish="length") == "C"
    assert value(text, finish="stop") == "B"
    assert length_without_repeats("abcdef") == 6
    assert length_without_repeats("") == 0
    assert length_without_repeats("Answer: 1000") == 12


@given(st.text(alphabet="ab.", max_size=8), st.text(alphabet="ab.", max_size=6), st.integers(3, 6))
def test_a_repeated_tail_is_found(head: str, unit: str, times: int) -> None:
    text = head + f"{unit} " * times
    assert length_without_repeats(text) <= len(head) + 2 * len(unit) + 2
    assert (
        text[: length_without_repeats(text)].split()
        == text.split()[: len(text[: length_without_repeats(text)].split())]
    )


# Labels of other kinds.
def test_labels_of_the_item_are_the_ones_that_count() -> None:
    assert value("Answer: E", lettered(5)) == "E"
    assert value("Answer: E", FOUR) is None
    assert value("3", choice("x", "y", "z", labels=("1", "2", "3"))) == "3"
    assert value("Answer: 2.", choice("x", "y", labels=("1", "2"))) == "2"
    assert value("The answer is 2.5", choice("x", "y", labels=("1", "2"))) is None
    assert value("There are 2 of them", choice("x", "y", labels=("1", "2"))) is None


def test_words_as_labels() -> None:
    mood = worded("positive", "negative", "neutral")
    assert value("Positive", mood) == "positive"
    assert value("Positive", mood, "first_char") == "positive"
    assert value("This review is clearly negative.", mood) == "negative"
    assert value("The sentiment is not positive. It is negative.", mood) == "negative"
    assert value("Either positive or negative", mood) is None
    assert value("Label: NEUTRAL", mood) == "neutral"
    assert value("positively", mood) is None


def test_words_within_words_and_with_signs() -> None:
    entails = worded("entailment", "not entailment")
    assert value("Answer: not  entailment", entails) == "not entailment"
    assert value("Answer: entailment", entails) == "entailment"
    news = worded("Sci/Tech", "World", "C++", "World Cup")
    assert value("It is sci/tech", news) == "Sci/Tech"
    assert value("Category: C++", news) == "C++"
    assert value("world cup", news, "first_char") == "World Cup"


def test_labels_beyond_z() -> None:
    labels = (*"ABCDEFGHIJKLMNOPQRSTUVWXYZ", "AA", "AB")
    many = choice(*map(str, range(28)), labels=labels)
    assert [value(text, many) for text in ("Answer: AB", "AA", "Answer: Z", "Answer: ABC")] == ["AB", "AA", "Z", None]
    assert value("ABC", many, "first_char") == "AB"


def test_letters_that_fold_into_others_are_themselves() -> None:
    kelvin = choice("x", "y", labels=("K", "I"))
    for text in ("Answer: \u212a", "Answer: \u0130", "Answer: \u0131", "(\u017f)"):
        assert value(text, kelvin) is None
    strange = worded("\u0130stanbul", "stra\u00dfe", "\ufb01ne")
    for text in strange.labels:
        assert value(f"Answer: {text}", strange) == text


# The constrained reader.
def scores(logprobs: list[list[float]], positions: list[int]) -> LabelScores:
    labels = ("A", "B", "C")
    least = np.full(len(positions), -np.inf)
    return LabelScores(labels, ((), (), ()), np.array(positions), np.array(logprobs), least)


def constrained(found: LabelScores | None) -> Reading:
    return read(reply("", label_scores=found), lettered(3), "constrained")


def test_the_most_probable_label() -> None:
    assert constrained(scores([[-3.0, -1.0, -2.0]], [0])) == Reading("B", "ok", "argmax")
    assert constrained(scores([[-1.0, -1.0, -1.0]], [0])).value == "A"
    assert constrained(scores([[-np.inf, -np.inf, -9.0], [0.0, -1, -1]], [0, 3])).value == "C"


def test_no_most_probable_label() -> None:
    for found in (None, scores([[-np.inf] * 3], [0]), scores([[-1.0, -2, -3]], [1])):
        assert constrained(found) == Reading(None, "none", "")


# All readers.
def test_the_default_comes_first() -> None:
    assert readers_of(FOUR)[0] == "last_marker"
    assert set(readers_of(FOUR)) == {"last_marker", "first_char", "first_marker", "constrained", "yes_no"}
    assert readers_of(number(3)) == ("number",)


def test_wrong_readers_are_wrong_usage() -> None:
    with pytest.raises(UsageError, match=r"no reader 'last_markers'; choose last_marker, .*did you mean last_marker"):
        read(reply("B"), FOUR, "last_markers")
    with pytest.raises(UsageError, match="question q: reader number does not read answers to questions of kind choice"):
        read(reply("B"), FOUR, "number")


def test_a_reply_that_never_came() -> None:
    for reader in readers_of(FOUR):
        assert read(reply("A", "error"), FOUR, reader) == Reading(None, "error", "")


def test_cut_replies_say_so() -> None:
    assert read(reply("I wonder", "length"), FOUR) == Reading(None, "cut", "")
    assert read(reply("Answer: B and", "length"), FOUR).status == "cut"
    assert read(reply("A or B", "length"), FOUR).status == "several"


PIECES = st.sampled_from(
    [
        "A",
        "B",
        "C",
        "D",
        "a",
        "d",
        "I",
        " ",
        "\n",
        ".",
        "(",
        ")",
        "**",
        "Answer:",
        "answer is",
        " or ",
        "not ",
        "is correct",
        r"\boxed{",
        "}",
        "Question:",
        "́",
        "😀",
        "'s",
        "-",
        "1",
        "é",
        "\u2028",
        "\x00",
        "Ä",
    ]
)


@given(st.lists(PIECES, max_size=30).map("".join) | st.text(), st.sampled_from(TEXT_READERS), st.booleans())
def test_a_value_is_what_stands_at_its_span(text: str, reader: str, cut: bool) -> None:
    for question in (FOUR, TEN, worded("yes", "no way", "é"), choice("x", "y", labels=("1", "22"))):
        reading = read(reply(text, "length" if cut else "stop"), question, reader)
        if reading.value is None:
            assert (reading.start, reading.end) == (-1, -1)
            assert reading.status in ("none", "several", "cut")
        else:
            assert reading.value in question.labels
            assert " ".join(text[reading.start : reading.end].split()).casefold() == str(reading.value).casefold()
            assert reading.status == ("cut" if cut else "ok")
            assert reading.rule


@given(st.lists(PIECES, max_size=12).map("".join))
def test_a_reading_depends_on_reply_and_labels_alone(text: str) -> None:
    other = Question("another", "Else?", "choice", ("w", "x", "y", "z"), FOUR.labels, answer=3, group="g")
    twin = Reply("key", "s", "another", "v", "answer", text, "stop", sample=3, prompt="Answer: A", tokens_out=9)
    for reader in TEXT_READERS:
        assert read(reply(text), FOUR, reader) == read(twin, other, reader)


def test_every_reader_has_a_title() -> None:
    assert all(reader.title and reader.name == name for name, reader in READERS.items())
