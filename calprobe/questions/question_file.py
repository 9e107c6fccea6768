"""A user's question file: JSON lines, plain or gzipped.

A line: `{"id", "question", "options"?, "labels"?, "answer", "unit"?, "context"?, "group"?, "kind"?, "paraphrases"?}`.
Without a kind, options make a choice, a number makes a number, and a text or a list of texts an open
question. A file that calprobe wrote says in each line, too, where its questions were taken from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from calprobe.errors import ProbeFormatError
from calprobe.messages import did_you_mean
from calprobe.probes.json_files import read_json_lines
from calprobe.questions.gold import (
    QuestionFault,
    accepted_of,
    check_distinct,
    letters,
    number_of,
    place_of,
    text_of,
    texts_of,
)
from calprobe.questions.types import Question, QuestionKind

NEEDED = ("id", "question", "answer")
TAKEN_FROM = "taken_from"
KEYS = (*NEEDED, "options", "labels", "unit", "context", "group", "kind", "paraphrases", TAKEN_FROM)
KINDS: tuple[QuestionKind, ...] = get_args(QuestionKind)
# Keys of other formats. A line with one of them would be read as a question of another kind, or not as meant.
OTHERS_KEYS = {
    **dict.fromkeys(("choices", "candidates", "alternatives", "answer_choices", "answer_options"), "options"),
    **dict.fromkeys(("answers", "gold", "target", "correct_answer", "answer_index", "answer_idx"), "answer"),
    **dict.fromkeys(("subject", "category"), "group"),
    "passage": "context",
}


def is_own_format(record: Mapping[str, Any]) -> bool:
    """Whether an object looks like a line of a question file: it has an id and an answer, and a question that is text.

    >>> is_own_format({"id": "q1", "question": "How many?", "answer": 3})
    True
    """
    return "id" in record and isinstance(record.get("question", ""), str) and "answer" in record


def read_question_file(path: Path) -> tuple[tuple[Question, ...], tuple[str, ...]]:
    """The questions of a file, in its order, and what is odd about it.

    Raises:
        ProbeFormatError: a line is not a question; names file, line and fix.
    """
    questions: list[Question] = []
    line_of: dict[str, int] = {}
    unread: Counter[str] = Counter()
    origins: list[object] = []
    for line, record in read_json_lines(path, if_empty="add questions, one a line"):
        try:
            question = read_question(record)
            origins = [*origins[:1], record.get(TAKEN_FROM)]
            if origins[0] != origins[-1]:
                raise QuestionFault(f"{TAKEN_FROM} differs from that of the first question; remove it from all lines")
            if question.id in line_of:
                raise QuestionFault(f"id {question.id!r} is also in line {line_of[question.id]}; give another")
        except QuestionFault as fault:
            raise ProbeFormatError(f"{path}:{line}: {fault}") from fault
        line_of[question.id] = line
        unread.update(key for key in record if key not in KEYS)
        questions.append(question)
    notes = (f"Keys that are not read: {', '.join(unread)}.",) if unread else ()
    return tuple(questions), notes


def read_question(record: Mapping[str, Any]) -> Question:
    """The question that a line holds.

    Raises QuestionFault: a key is missing, has a value of the wrong kind, or the answer is none or ambiguous.

    >>> read_question({"id": 1, "question": "2 + 2?", "options": ["3", "4"], "answer": "B"}).gold
    'B'
    """
    _check_keys(record)
    kind = _kind_of(record)
    if "unit" in record and kind == "open" and "kind" not in record:
        fault = f"a unit belongs to a number, and answer {record['answer']!r:.60} is not read as one"
        raise QuestionFault(f"{fault}; write digits alone, as 1000 or 0.5 (in JSON without quotes), or remove the unit")
    if "unit" in record and kind != "number":
        raise QuestionFault(f"a unit belongs to a number, and this is a question of kind {kind}; remove it")
    if kind != "choice" and ("options" in record or "labels" in record):
        raise QuestionFault(f"options and labels belong to a choice, and kind is {kind}; remove them")
    text = text_of(record["question"], "question")
    paraphrases = texts_of(record["paraphrases"], "paraphrases") if record.get("paraphrases") else ()
    check_distinct((text, *paraphrases), "question with its paraphrases")
    options, labels = _options_of(record) if kind == "choice" else ((), ())
    return Question(
        id=_name(record["id"], "id"),
        text=text,
        kind=kind,
        options=options,
        labels=labels,
        answer=_place(record, options, labels) if kind == "choice" else None,
        number=number_of(record["answer"]) if kind == "number" else None,
        unit=text_of(record["unit"], "unit") if record.get("unit") is not None else None,
        accepted=_accepted(record["answer"]) if kind == "open" else (),
        context=_context(record),
        group=_name(record["group"], "group") if record.get("group") not in (None, "") else "",
        paraphrases=paraphrases,
    )


def _check_keys(record: Mapping[str, Any]) -> None:
    for key in record:
        free = [name for name in KEYS if name not in record]
        if OTHERS_KEYS.get(key) in free:
            raise QuestionFault(f"key {key!r} is not read; call it {OTHERS_KEYS[key]!r}")
        if key not in KEYS and (meant := did_you_mean(key, free)):
            raise QuestionFault(f"key {key!r} is not read{meant}")
    for key in NEEDED:
        if key not in record:
            raise QuestionFault(f"key {key!r} missing; add it")


def _kind_of(record: Mapping[str, Any]) -> QuestionKind:
    kind, answer = record.get("kind"), record["answer"]
    if kind is not None:
        if kind not in KINDS:
            raise QuestionFault(f"kind {kind!r} is unknown; give {', '.join(KINDS)}")
        return KINDS[KINDS.index(kind)]
    if "options" in record:
        return "choice"
    if isinstance(answer, list | str):
        return "open"
    return "number"


def _options_of(record: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The options of a choice and their labels."""
    if "options" not in record:
        raise QuestionFault("a choice has options; add 'options', a list of texts")
    options = texts_of(record["options"], "options", least=2)
    if TAKEN_FROM not in record:  # a public set may have an option twice
        check_distinct(options, "options")
    if record.get("labels") is None:
        return options, letters(len(options))
    labels = texts_of(record["labels"], "labels", least=2)
    if len(labels) != len(options):
        raise QuestionFault(f"{len(labels)} labels and {len(options)} options; give one label an option")
    check_distinct(labels, "labels")
    return options, labels


def _place(record: Mapping[str, Any], options: tuple[str, ...], labels: tuple[str, ...]) -> int:
    """The place of the right option; in a line that calprobe wrote a number is a place, whatever the labels are."""
    answer = record["answer"]
    if TAKEN_FROM in record and type(answer) is int and 0 <= answer < len(options):
        return answer
    return place_of(answer, options, labels)


def _accepted(answer: Any) -> tuple[str, ...]:
    return accepted_of([answer] if isinstance(answer, str) else answer)


def _name(value: Any, key: str) -> str:
    """An id or a group: a text, or a whole number as its digits."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else text_of(value, key)


def _context(record: Mapping[str, Any]) -> str:
    context = record.get("context")
    return "" if context in (None, "") else text_of(context, "context")
