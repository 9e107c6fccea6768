"""Readers of rows: from the columns of a public set to a question.

Each takes a row and its surroundings and returns a question, or raises QuestionFault for a row that cannot be asked
(no gold answer) and ColumnFault for one of another set. Texts lose the white space at their ends; nothing else of them
changes. Where a set lists the right option apart from the wrong ones, their order is drawn for each question.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from calprobe.questions.gold import QuestionFault, accepted_of, letters, number_of, place_of, text_of, texts_of
from calprobe.questions.question_rows import ColumnFault, Row
from calprobe.questions.types import Question


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a reader knows beside the row."""

    set: str
    split: str  # empty where a file does not say
    seed: int  # of the order of options


RowReader = Callable[[Row, Surroundings], Question]


def mmlu(row: Row, place: Surroundings) -> Question:
    """MMLU: subject, question, choices or options, answer as place or letter."""
    return _choice(row, place, row.texts("choices", "options"), row.value("answer"), group=row.text("subject"))


def mmlu_pro(row: Row, place: Surroundings) -> Question:
    """MMLU-Pro: 3 to 10 options; answer_index beside the letter."""
    question = _choice(row, place, row.texts("options"), row.value("answer_index"), group=row.text("category"))
    return replace(question, id=str(row.value("question_id")))


def arc(row: Row, place: Surroundings) -> Question:
    """ARC and OpenBookQA: choices with labels of their own, the key is one of them."""
    stem = row.value("question", "question_stem")
    inner = stem if isinstance(stem, dict) else row.content  # the files of the authors have the stem within
    texts, labels = _choices(inner.get("choices"))
    key = row.text("answerKey")
    if key not in labels:
        raise QuestionFault(f"answerKey {key!r} is none of the labels {', '.join(labels)}")
    text = text_of(inner.get("stem") if isinstance(stem, dict) else stem, "question")
    return Question(row.text("id"), text, "choice", texts, labels, labels.index(key))


def sciq_choice(row: Row, place: Surroundings) -> Question:
    """SciQ with its three distractors."""
    wrong = tuple(row.text(f"distractor{number}") for number in (1, 2, 3))
    return _shuffled(row, place, row.text("correct_answer"), wrong)


def sciq_open(row: Row, place: Surroundings) -> Question:
    """SciQ without options."""
    return _open(row, place, [row.value("correct_answer")])


def gpqa(row: Row, place: Surroundings) -> Question:
    """GPQA: one correct and three incorrect answers; the group is the domain."""
    wrong = tuple(row.text(f"Incorrect Answer {number}") for number in (1, 2, 3))
    question = _shuffled(row, place, row.text("Correct Answer"), wrong, name=str(row.value("Record ID")))
    return replace(question, group=row.text("High-level domain"))


def sst2(row: Row, place: Surroundings) -> Question:
    """SST-2: a sentence of a film review, negative (0) or positive (1)."""
    question = "Is the sentiment of this sentence from a film review negative or positive?"
    return _classified(row, place, row.text("sentence"), question, ("negative", "positive"))


def mnli(row: Row, place: Surroundings) -> Question:
    """MNLI: entailment (0), neutral (1), contradiction (2)."""
    context = f"Premise: {row.text('premise')}\nHypothesis: {row.text('hypothesis')}"
    question = "How does the hypothesis relate to the premise?"
    return _classified(row, place, context, question, ("entailment", "neutral", "contradiction"))


def ag_news(row: Row, place: Surroundings) -> Question:
    """AG News: world (0), sports (1), business (2), science and technology (3)."""
    options = ("World", "Sports", "Business", "Science and technology")
    return _classified(row, place, row.text("text"), "Which topic does this news article belong to?", options)


def gsm8k(row: Row, place: Surroundings) -> Question:
    """GSM8K: the right number follows #### at the end of the worked answer."""
    answer = row.value("answer")
    if not isinstance(answer, str) or "####" not in answer:
        raise ColumnFault("column 'answer' has no ####")
    return _number(row, place, row.text("question"), answer.rpartition("####")[2])


def gsm_mc(row: Row, place: Surroundings) -> Question:
    """GSM-MC: GSM8K with four options in columns A to D."""
    options = tuple(text_of(str(row.value(label)), label) for label in "ABCD")
    return _choice(row, place, options, row.text("Answer"), text=row.text("Question"))


def svamp(row: Row, place: Surroundings) -> Question:
    """SVAMP: a story and a question about it."""
    text = f"{row.text('Body')} {row.text('Question')}"
    question = _number(row, place, text, row.value("Answer"))
    return replace(question, id=row.text("ID"), group=row.text("Type"))


def scibench(row: Row, place: Surroundings) -> Question:
    """SciBench: a number, mostly with a unit in LaTeX; the group is the textbook."""
    question = _number(row, place, row.text("problem_text"), row.value("answer_number"))
    unit = str(row.value("unit") or "").strip()
    return replace(question, unit=unit or None, group=row.text("source"))


def truthfulqa_open(row: Row, place: Surroundings) -> Question:
    """TruthfulQA: the best answer first, then the other correct ones."""
    best = row.text("best_answer", "Best Answer")
    question = _open(row, place, [best, *_listed(row, "correct_answers", "Correct Answers")])
    return replace(question, group=row.text("category", "Category"))


def truthfulqa_choice(row: Row, place: Surroundings) -> Question:
    """TruthfulQA's MC1: the best answer among all incorrect ones."""
    wrong = tuple(dict.fromkeys(_listed(row, "incorrect_answers", "Incorrect Answers")))
    question = _shuffled(row, place, row.text("best_answer", "Best Answer"), wrong)
    return replace(question, group=row.text("category", "Category"))


def nq_open(row: Row, place: Surroundings) -> Question:
    """NQ-open: a question of a search engine with its short answers."""
    return _open(row, place, row.value("answer"))


def triviaqa(row: Row, place: Surroundings) -> Question:
    """TriviaQA: the answer's value first, then its aliases."""
    answer = row.value("answer")
    if not isinstance(answer, dict) or "value" not in answer:
        raise ColumnFault("column 'answer' has no value")
    aliases = [alias for alias in answer.get("aliases") or () if isinstance(alias, str) and alias.strip()]
    return replace(_open(row, place, [answer["value"], *aliases]), id=row.text("question_id"))


def popqa(row: Row, place: Surroundings) -> Question:
    """PopQA: possible answers as a JSON list in a text; the group is the property that is asked for."""
    try:
        answers = json.loads(row.text("possible_answers"))
    except json.JSONDecodeError as error:
        raise QuestionFault("possible_answers is no JSON list") from error
    return replace(_open(row, place, answers), id=str(row.value("id")), group=row.text("prop"))


def _name(row: Row, place: Surroundings) -> str:
    """The id of a question whose set has none: its split and row."""
    return f"{place.split}/{row.number}" if place.split else str(row.number)


def _choices(choices: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Texts and labels of choices: a list of both each, as on the hub, or a list of objects with one of each."""
    if isinstance(choices, list) and all(isinstance(choice, dict) for choice in choices):
        choices = {key: [choice.get(key) for choice in choices] for key in ("text", "label")}
    if not isinstance(choices, dict) or not {"text", "label"} <= choices.keys():
        raise ColumnFault("column 'choices' has no texts and labels")
    texts, labels = texts_of(choices["text"], "choices", least=2), texts_of(choices["label"], "labels", least=2)
    if len(texts) != len(labels):
        raise QuestionFault(f"{len(texts)} choices and {len(labels)} labels")
    return texts, labels


def _choice(
    row: Row, place: Surroundings, options: tuple[str, ...], answer: Any, *, text: str | None = None, group: str = ""
) -> Question:
    if len(options) < 2:
        raise QuestionFault("fewer than two options")
    labels = letters(len(options))
    text = row.text("question") if text is None else text
    right = labels.index(answer) if answer in labels else place_of(answer, options, labels)
    return Question(_name(row, place), text, "choice", options, labels, right, group=group)


def _shuffled(
    row: Row, place: Surroundings, right: str, wrong: tuple[str, ...], *, name: str | None = None
) -> Question:
    """A choice with its options in an order that seed, set and question decide, whatever else is in the set."""
    if not wrong:
        raise QuestionFault("no wrong option")
    identity = _name(row, place) if name is None else name
    text = row.text("question", "Question")
    order = list(range(len(wrong) + 1))
    random.Random(f"{place.seed}/{place.set}/{text}").shuffle(order)
    options = tuple((right, *wrong)[position] for position in order)
    return Question(identity, text, "choice", options, letters(len(options)), order.index(0))


def _classified(row: Row, place: Surroundings, text: str, question: str, options: tuple[str, ...]) -> Question:
    answer = row.value("label")
    if answer == -1:
        raise QuestionFault("no gold label (-1)")
    answer = int(answer) if isinstance(answer, str) and answer.isdigit() else answer
    labels = letters(len(options))
    return Question(
        _name(row, place), question, "choice", options, labels, place_of(answer, options, labels), context=text
    )


def _number(row: Row, place: Surroundings, text: str, answer: Any) -> Question:
    if isinstance(answer, str):
        digits = re.sub(r"[,\s]", "", answer).replace("\u2212", "-")
        try:
            answer = float(digits)
        except ValueError as error:
            raise QuestionFault(f"answer {answer!r} is not a number") from error
    return Question(_name(row, place), text, "number", number=number_of(answer))


def _open(row: Row, place: Surroundings, accepted: Any) -> Question:
    return Question(_name(row, place), row.text("question", "Question"), "open", accepted=accepted_of(accepted))


def _listed(row: Row, *columns: str) -> list[str]:
    """The texts of a list, or of a text with semicolons between them."""
    value = row.value(*columns)
    texts = value.split(";") if isinstance(value, str) else value
    if not isinstance(texts, list):
        raise ColumnFault(f"column {columns[0]!r} is neither a list nor a text")
    return [text.strip() for text in texts if isinstance(text, str) and text.strip()]
