"""Numbers in replies: their forms, which one is the answer, units, and whether it is right."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from asked_questions import number
from hypothesis import given
from hypothesis import strategies as st

from calprobe.answers import Reading, grade, read
from calprobe.answers.number_answers import numbers_of, with_plain_digits
from calprobe.answers.number_reader import read_extracted, read_number
from calprobe.answers.units import plain_unit
from calprobe.questions import Question, QuestionOptions, load_questions
from calprobe.runs.replies import Reply

FORMS = [
    ("18", 18),
    ("-18", -18),
    ("−18", -18),
    ("+7.3", 7.3),
    (".75", 0.75),
    ("1,234", 1234),
    ("1,234,567.89", 1234567.89),
    ("12{,}500", 12500),
    ("10,\\!000", 10000),
    ("10\u202f000", 10000),
    ("$18", 18),
    ("-$1,000", -1000),
    ("$-5", -5),
    ("€3.50", 3.5),
    ("45%", 45),
    ("5kg", 5),
    ("3/4", 0.75),
    ("-3/4", -0.75),
    ("1 1/2", 1.5),
    (r"\frac{3}{4}", 0.75),
    (r"-\dfrac{1}{8}", -0.125),
    ("1.5e-3", 0.0015),
    ("2E5", 200000),
    ("3 x 10^8", 3e8),
    (r"6.02 \times 10^{23}", 6.02e23),
    ("1.6·10⁻¹⁹", 1.6e-19),
    ("10^5", 100000),
    ("10^{-3}", 0.001),
    ("007", 7),
    ("½", 0.5),
    ("2½", 2.5),
    ("2 ¼", 2.25),
    ("10²", 100),
    ("10⁻³", 0.001),
    ("5 hundred", 500),
    ("5 hundred thousand", 500000),
    ("2 and a half", 2.5),
    ("2 and a half million", 2500000),
    ("1 and three quarters", 1.75),
    ("2 dozen", 24),
]


@pytest.mark.parametrize(("text", "expected"), FORMS)
def test_a_form_is_one_number(text: str, expected: float) -> None:
    for around in ("{}", "It is {}.", "({})", "= {}\n", "**{}**"):
        (found,) = numbers_of(around.format(text))
        assert found.value == pytest.approx(expected, rel=1e-15)
        assert found.form == ("fraction" if any(sign in text for sign in ("/", "frac", *"½¼")) else "plain")
        assert around.format(text)[found.start : found.end].strip() == text.rstrip("%kg")


UNCLEAR = ["5²", "0,8", "1,23", "1.2.3", "1,2,3", "12/25/2020", "1/0", "2^10", "1e999", "9" * 400]


@pytest.mark.parametrize("text", UNCLEAR)
def test_what_is_no_clear_number(text: str) -> None:
    found = list(numbers_of(f"It is {text}."))
    assert [number.form for number in found] == ["unclear"]
    assert math.isnan(found[0].value)


@pytest.mark.parametrize("text", ["H2O", "x2", "the 3rd", "21st", "v2.5", "no number", "", "x½"])
def test_what_is_no_number(text: str) -> None:
    assert list(numbers_of(text)) == []


def test_subtractions_and_ranges_have_no_sign() -> None:
    assert [found.value for found in numbers_of("5-3 = 2, 10 - 4, 1–3, (-1), x = -2")] == [5, 3, 2, 10, 4, 1, 3, -1, -2]


# Text, value, rule.
READ = [
    ("18", 18, "last"),
    ("Natalia sold 48 and then 24, so 72 clips.", 72, "last"),
    ("#### 72", 72, "marked"),
    ("The answer is 5 apples.", 5, "marked"),
    ("The answer is $18, which is 3 x 6.", 18, "marked"),
    ("**Answer:** 1,007 (after 12 steps)", 1007, "marked"),
    ("Answer:\n42", 42, "marked"),
    ("Answer: 5 + 3 = 8 apples", 8, "marked"),
    ("The total is 5 times 3 = 15.\nI checked it 2 times.", 15, "marked"),
    ("So \\boxed{\\frac{1}{2}}", 0.5, "marked_fraction"),
    ("Answer: 3\nNo. Answer: 4", 4, "marked"),
    ("Answer: 3\nAnswer: I do not know", 3, "marked"),
    ("2/3 of it", 2 / 3, "last_fraction"),
    ("7\n\nQuestion: What is 2 + 2?\nAnswer: 4", 7, "last"),
    ("There are 3 cats and 12 dogs, so 15. No more calculation is needed.", 15, "last"),
    ("First 12. The answer is 15.\n\nNo further steps are needed.", 15, "marked"),
    ("The answer is 15. The answer is 12. No, it was right.", 15, "marked"),
]


@pytest.mark.parametrize(("text", "value", "rule"), READ)
def test_which_number_is_the_answer(text: str, value: float, rule: str) -> None:
    reading = read_number(text)
    assert (reading.value, reading.rule, reading.status) == (pytest.approx(value), rule, "ok")


# Text, value.
IN_WORDS = [
    ("It's minus 40 degrees.", -40),
    ("That’s minus three", -3),
    ("There are three of them, not four.", 3),
    ("Seven. I am ninety percent sure.", 7),
    ("The answer is seven (see step 3).", 7),
    ("two and a half million", 2500000),
    ("half a million", 500000),
    ("a million", 1000000),
    ("about a hundred", 100),
    ("two dozen", 24),
    ("half a dozen eggs", 6),
    ("three-quarters", 0.75),
    ("two thirds of them", 2 / 3),
    ("ten second intervals", 10),
    ("four quarters", 4),
    ("three point one four", 3.14),
    ("seven point two million", 7200000),
    ("nineteen eighty-four", 1984),
    ("one", 1),
    ("Only one", 1),
    ("The answer is one.", 1),
    ("There is only one moon.", 1),
    ("One moon.", 1),
    ("One of them has 3 legs.", 3),
    ("2012 Thousand Oaks", 2012),
    ("5 Million people", 5000000),
    ("5 and a third party", 5),
    ("3 and a quarter of them", 3),
    ("3 and a quarter cups", 3.25),
    ("2 and a half m", 2.5),
    ("two and a half hours", 2.5),
    ("2 and a half-brother", 2),
    ("a dozen and a half", 18),
    ("2 dozen and a half", 30),
    ("42¹", 42),
    ("in 1969² km", 1969),
    ("４２％", 42),
    ("٤٢", 42),
    ("४२.५", 42.5),
    ("１．５", 1.5),
    ("１，５００", 1500),
    ("有1，2，3个", 3),
    ("有１，２，３个", 3),
    ("第3。4个", 4),
    ("1⁄2", 0.5),
    ("It reached minus 40", -40),
    ("It increased from 3 to 5", 5),
    ("We round 11.6 to 12", 12),
    ("Step 3 - 12 apples", 12),
    ("He gives 4 to 2 friends", 2),
    ("We beat Croatia 4-2", 2),
    ("Call 555-1234", 1234),
    ("The Boeing 747-400", 400),
    ("Add 3 to 5", 5),
    ("Answer: The two friends have 24 apples", 24),
    ("Answer: Adding the three numbers gives 42", 42),
    ("The answer is the product of two primes, 35", 35),
    ("Answer: four workers need 12 days", 12),
    ("Answer: In total, the seven dwarfs eat 21", 21),
    ("In total, the seven dwarfs eat 21", 21),
    ("Answer: Two friends (Ann and Bob) have 24", 24),
    ("The answer is three, not 4", 3),
    ("Answer: **seven** apples (see step 3)", 7),
    ("The answer is minus three. Step 2 shows it.", -3),
    ("The answer is three plus 4 = seven", 7),
]


@pytest.mark.parametrize(("text", "value"), IN_WORDS)
def test_numbers_in_words_and_in_digits_of_other_scripts(text: str, value: float) -> None:
    reading = read_number(text)
    assert (reading.status, reading.value) == ("ok", pytest.approx(value, rel=1e-15))


UNCERTAIN = [
    *("three to four", "Three or four.", "ten to twelve people", "one or two", "between three and four", "ten-twelve"),
    *("It lasted 6 to 7 years", "It lasted 6-7 years", "I'd say 5 to 6", "I got 5 to 6", "twenty to thirty percent"),
    *("The address is 5-10", "It needs 3-12 months", "I'd say 3 to 12 people", "It reached −5 to −3"),
    *("a million and a half", "2 hundred and a half", "= 125²", "It is 4²"),
    *("1 h 30 min", "The answer is 1 h 30 min.", "two hours and thirty minutes", "5 feet 3 inches"),
    *("three quarters", "three quarters of a million", "a few hundred", "several million people", "half of ten"),
    *("one two three", "two and three quarters", "7, which is 10 minus 3", "point five"),
]


@pytest.mark.parametrize("text", UNCERTAIN)
def test_an_uncertain_number_is_unclear(text: str) -> None:
    reading = read_number(text)
    assert (reading.value, reading.status) == (None, "unclear")


NO_NUMBERS = [
    "One of the reasons is gravity",
    "It is the only one",
    "The answer is one of them.",
    "Twenty-first",
    "dozens",
]


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_words_that_are_no_number(text: str) -> None:
    assert read_number(text).status == "none"


def test_unread_numbers() -> None:
    assert read_number("I do not know") == Reading(None, "none", "")
    assert read_number("It is 0,8") == Reading(None, "unclear", "last")
    assert read_number("It is between 10.5 and 12 metres").status == "unclear"
    assert read_number("Answer: 0,8 of 10") == Reading(None, "unclear", "marked")


def test_a_number_at_the_cut_may_be_longer() -> None:
    assert read_number("Answer: 12", cut=True) == Reading(None, "cut", "marked")
    assert read_number("Answer: 12.", cut=True).value == 12
    assert read_number("So 4. So 5. So 4. So 5. So 4. So 5. So 4. So 5. S", cut=True).value == 5
    reply = Reply("", "s", "n", "v", "answer", "Answer: 12 be", "length")
    assert (read(reply, number(12)).value, read(reply, number(12)).status) == (12, "cut")


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("5 km/h.", "km/h"),
        ("5 km", "km"),
        ("45%", "%"),
        ("45 percent", "percent"),
        ("5", ""),
        ("5. So", ""),
        (r"5 $\mathrm{~kJ}$", "kJ"),
        ("5 m^2", "m^2"),
        ("20 °C", "°C"),
        ("5\nkm", ""),
    ],
)
def test_units_behind_numbers(text: str, unit: str) -> None:
    assert read_number(f"The answer is {text}").unit == unit


# Right number, its unit, reply, whether that is right.
GRADED = [
    (18, None, "18", True),
    (18, None, "18.0 dollars", True),
    (18, None, "18.1", False),
    (1319, None, "1,320", False),
    (45, None, "45%", True),
    (0.5, None, "1/2", True),
    (3.14, None, "3.142", True),
    (3.14, None, "3.2", False),
    (-2, None, "2", False),
    (0, None, "0", True),
    (0, None, "1e-12", False),
    (350, "nm", "349 nm", True),
    (350, "nm", "3.5e-7 m", True),
    (350, "nm", "350 m", False),
    (350, "nm", "350", True),
    (350, "nm", "350 kg", False),
    (350, "nm", "350 apples", True),
    (50.7, r"$\mathrm{atm}$ ", "50.7 atm", True),
    (-3, None, "It is minus 3.", True),
    (3, None, "It is minus 3.", False),
    (-3, None, "negative three", True),
    (7, None, "10 minus 3 is 7", True),
]


@pytest.mark.parametrize(("gold", "unit", "text", "correct"), GRADED)
def test_a_number_is_right(gold: float, unit: str | None, text: str, correct: bool) -> None:
    assert grade(read_number(text), number(gold, unit)).correct is correct


def test_unread_is_not_right() -> None:
    assert not grade(Reading(None, "none", ""), number(0)).correct


def replies_to(question: Question) -> Iterator[str]:
    """The right number with its unit, as models write them."""
    number, unit = f"{question.number:.15g}", " ".join((question.unit or "").split())
    plain = plain_unit(unit)
    yield number
    yield f"{number} {plain}".strip()
    yield f"{number} {unit}".strip()
    yield f"The answer is {number} {plain}".strip() + "."
    power = re.fullmatch(r"10\^(-?[0-9]+) ?(.*)", plain)
    if power and question.number:
        yield f"{number} x 10^{power[1]} {power[2]}"
        yield f"${number} \\times 10^{{{power[1]}}} \\mathrm{{{power[2]}}}$"
        yield f"{question.number * 10.0 ** int(power[1]):.12e} {power[2]}"


def test_every_question_of_scibench_can_be_answered(shared: Path) -> None:
    """Of 692 questions 209 could not: exponents of units were read as numbers, powers of ten were in units alone."""
    (questions,) = load_questions([f"scibench={shared / 'questions' / 'scibench'}"], QuestionOptions())
    assert len(questions.questions) == 692
    for question in questions.questions:
        for text in replies_to(question):
            for reader in (read_number, read_extracted):
                assert grade(reader(text), question).correct, (question.id, text, reader(text))


def test_published_solutions_give_their_own_answers(shared: Path) -> None:
    """GSM8K's solutions end in `#### NUMBER`, and so do most replies of models that were trained on them."""
    lines = (shared / "questions" / "gsm8k_test.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines[::5]]
    for row in rows:
        gold = float(row["answer"].rpartition("####")[2].replace(",", ""))
        assert read_number(row["answer"]).value == gold
        sentence = row["answer"].replace("####", "The answer is")
        assert grade(read_number(sentence), number(gold)).correct


PIECES = st.sampled_from(
    [
        "0",
        "7",
        "12",
        ",",
        ".",
        "-",
        "−",
        "/",
        "^",
        "e",
        "%",
        "$",
        " ",
        "\n",
        "=",
        "Answer:",
        "####",
        "x 10^",
        "\\frac{1}{",
        "}",
        "kg",
        "٣",
        "²",
        "½",
        "\u202f",
        "Question:",
        "x",
    ]
)


@given(st.lists(PIECES, max_size=20).map("".join) | st.text(), st.booleans())
def test_any_text_is_read(text: str, cut: bool) -> None:
    reading = read_number(text, cut=cut)
    if reading.value is None:
        assert (reading.start, reading.status in ("none", "unclear", "cut")) == (-1, True)
    else:
        assert math.isfinite(float(reading.value))
        plain = with_plain_digits(text)
        again = [found for found in numbers_of(plain, reading.start) if found.start == reading.start]
        assert [found.value for found in again] == [reading.value]
        assert text[reading.start : reading.end].strip()


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**15), 10**15))
def test_python_numbers_are_read_back(value: float) -> None:
    (found,) = numbers_of(f"is {value!r} .")
    assert found.value == value
    if isinstance(value, int):
        (grouped,) = numbers_of(f"is {value:,} .")
        assert grouped.value == value
