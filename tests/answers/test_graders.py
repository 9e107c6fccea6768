"""Graders of open questions: who decides, abstentions, targets, ROUGE-L against hand-made and stored grades."""

from __future__ import annotations

import gzip
import json
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from asked_questions import free
from hypothesis import given
from hypothesis import strategies as st

from calprobe.answers import Grade, GradeRules, Reading, abstains, grade, read_short, rouge_l
from calprobe.errors import UsageError
from calprobe.metrics import auroc
from calprobe.questions import Question

ABSTENTIONS = [
    "I don't know the answer",
    "I don’t know.",
    "I do not know the answer to this question.",
    "I cannot be sure about the answer",
    "I cannot be sure about my answer",
    "That's outside my current knowledge base",
    "That's out of my current knowledge base",
    "Sorry, I'm not sure.",
    "I am not entirely certain",
    "I have no idea",
    "I have no comment",
    "I don't have enough information to answer",
    "I'm unable to answer that",
    "Unknown",
    "The answer is unknown.",
    "N/A",
    "No idea!",
    "Not sure",
    "I'm sorry, but I don't know the answer.",
    "I’m very sorry, but I do not have enough information.",
    "I apologize, but I cannot answer",
    "I apologize for the confusion, but I cannot answer that.",
    "That's a great question, but I don't know.",
    "Unfortunately, however, I can't say.",
    "Sorry, but no idea",
    "As an AI language model, I don't have access to that.",
    "I can't help with that",
    "I'm sorry, but I can't assist with that.",
    "There is no information available",
    "There is no reliable information about that.",
    "No information is available.",
    "We don't know",
    "We don't know the answer.",
    "I'm sorry, but I can't help you with that. Please ask another question.",
    "It's unknown.",
]
ANSWERS = [
    "Paris",
    "I'm not sure, but I think it is Paris",
    "I don't know, probably Paris",
    "None",
    "I'm sorry, but I don't know, maybe Paris",
    "I'm sorry, but I don't know. It could be Paris.",
    "Paris, but I'm not sure",
    "I'm sorry, but it is Paris",
    "Sorry",
    "Sorry Seems to Be the Hardest Word",
    "I Can't Help Myself",
    "We do not find penguins there",
    "There is no information in noise",
    "I can't help you, it's Paris",
    "There is no information about this; it's Paris",
    '"We don\'t know" by the band',
    "We don't know each other",
    "No information",
    "Nobody knows",
    "Nothing happens",
    "The Unknown Soldier",
    "No",
    "I Will Always Love You",
    "",
]


@pytest.mark.parametrize("text", ABSTENTIONS)
def test_a_reply_that_gives_no_answer(text: str) -> None:
    assert abstains(text)
    assert graded(text, "Paris") == Grade(correct=False, rule="abstention", abstained=True)


@pytest.mark.parametrize("text", ANSWERS)
def test_a_reply_that_gives_one(text: str) -> None:
    assert not abstains(text)


def graded(text: str, *accepted: str, **rules: object) -> Grade:
    return grade(read_short(text), free(*accepted), rules=GradeRules(**rules))  # type: ignore[arg-type]


def test_exact_matching_decides_before_anything_else() -> None:
    assert graded("I have no comment.", "I have no comment") == Grade(True, "exact", "I have no comment")
    assert graded("Seventeen", "12", "17", grader="rouge") == Grade(True, "exact", "17")
    assert graded("Oslo", "Paris") == Grade(False, "exact")
    assert graded("", "Paris") == Grade(False, "unread")
    assert graded("...", "", "...").matched == "..."
    assert not graded("!", "").correct


def test_contains_takes_complete_words_in_one_form() -> None:
    found = graded("It was on May 18, 2018, I read", "18 May 2018", "2018", grader="contains")
    assert found == Grade(True, "contains", "18 May 2018")
    assert not graded("in the 1990s", "1990", grader="contains").correct
    assert graded("about 1,000 men", "one thousand", grader="contains").correct
    assert graded("Paris is not only the capital, it is the largest city", "Paris", grader="contains").correct
    assert not graded("Paris is not the capital", "Paris", grader="contains").correct


def test_includes_looks_in_the_whole_reply_and_believes_what_is_denied() -> None:
    def of(whole: str, *accepted: str, read: str = "Let me think") -> Grade:
        question = Question("1", "?", "open", accepted=accepted)
        return grade(Reading(read, "ok", "first_line"), question, "includes", whole=whole)

    assert of("Let me think.\nIt is on May 18, 2018.", "2018", "18 May 2018") == Grade(True, "includes", "18 May 2018")
    assert of("Paris is not the capital", "Paris").correct
    assert not of("Jerome", "Rome").correct
    assert of("It is C++", "c++").correct
    assert not of("It is it", "?!").correct
    assert of("nothing", "Let me think").rule == "exact"
    assert of("I do not know. Paris?", "Paris", read="I do not know").abstained


def test_the_target_is_all_accepted_texts_or_the_best() -> None:
    for target, correct in (("all", True), ("best", False), ("first", False)):
        assert graded("Lutetia", "Paris", "Lutetia", target=target).correct is correct
        assert graded("in Lutetia", "Paris", "Lutetia", target=target, grader="rouge").correct is correct
    assert graded("Paris", "Paris", "Lutetia", target="best").correct


ROUGE = [  # longest common subsequence, words of each: by hand
    ("the cat sat on the mat", "the cat is on the mat", 2 * 5 / 12),
    ("police killed the gunman", "police kill the gunman", 2 * 3 / 8),
    ("the gunman police killed", "police killed the gunman", 2 * 2 / 8),
    ("City of Boston", "Boston", 0.5),
    ("a b c d", "d c b a", 0.25),
    ("It's", "it s", 1.0),
    ("snake_case", "snake case", 1.0),
    ("", "x", 0.0),
    ("...", "x", 0.0),
]


@pytest.mark.parametrize(("text", "reference", "expected"), ROUGE)
def test_rouge_l(text: str, reference: str, expected: float) -> None:
    assert rouge_l(text, reference) == rouge_l(reference, text) == pytest.approx(expected)


@given(st.lists(st.sampled_from("abc"), max_size=6), st.lists(st.sampled_from("abc"), max_size=6))
def test_rouge_l_by_the_definition(one: list[str], other: list[str]) -> None:
    """The longest of all subsequences of one that are subsequences of the other."""

    def is_within(words: list[str], text: list[str]) -> bool:
        rest = iter(text)
        return all(word in rest for word in words)

    every = ([word for place, word in enumerate(one) if chosen >> place & 1] for chosen in range(2 ** len(one)))
    longest = max(len(words) for words in every if is_within(words, other))
    expected = 2 * longest / (len(one) + len(other)) if one and other else 0.0
    assert rouge_l(" ".join(one), " ".join(other)) == pytest.approx(expected)


def test_rouge_decides_from_its_threshold_on() -> None:
    assert graded("the city of Boston", "Boston", "Bosnia", grader="rouge") == Grade(True, "rouge", "Boston", 0.4)
    assert graded("the city of Boston", "Boston", grader="rouge", rouge_threshold=0.41) == Grade(
        False, "rouge", "", 0.4
    )


def test_unknown_words_are_refused() -> None:
    with pytest.raises(
        UsageError, match="no grader 'contain'; choose exact, contains, includes, rouge; did you mean contains"
    ):
        GradeRules("contain")
    with pytest.raises(UsageError, match="target 'last': choose all, best, first"):
        GradeRules(target="last")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="must be above 0, and 1 at most; got 0"):
        GradeRules(rouge_threshold=0)


def test_stored_grades_of_real_replies_agree(shared: Path) -> None:
    """Replies of three models to phrase questions, with a grade of meaning each (stored as `rouge_correct_..`).

    What is an accepted text is right there, but for articles and possessives, and ROUGE-L separates right from wrong.
    """
    same, same_and_right, scores, right = 0, 0, [], []
    for path in sorted((shared / "questions" / "litcab").glob("*_*.jsonl.gz")):
        if path.name.startswith("truthfulqa"):  # sentences, with several accepted ones in one text
            continue
        with gzip.open(path, "rt", encoding="utf-8") as file:
            rows = [json.loads(line) for line in islice(file, 300)]
        for row in rows:
            answer, gold, stored = row["answer"][0], row["gold_answer"], row["rouge_correct_first_answer"]
            is_same = grade(Reading(answer, "ok", "whole"), free(gold)).correct
            same, same_and_right = same + is_same, same_and_right + (is_same and stored)
            score = rouge_l(answer, gold)
            assert stored or score < 1
            scores.append(score)
            right.append(stored)
    assert len(scores) == 9 * 300
    assert same > 300
    assert same_and_right >= 0.99 * same
    assert auroc(np.array(scores), np.array(right)).value > 0.8
