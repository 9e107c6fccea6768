"""Questions from the rows of any table: CSV, TSV, Parquet, JSON, JSON lines, a data set of the hub.

A field of a question is read from the column of its own name, or from the one that `--columns` names. Cells of CSV and
TSV are texts, so lists stand in them as JSON or with | between their items, and numbers are found by their digits.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from calprobe.errors import ProbeFormatError, UsageError
from calprobe.messages import columns_named, counted, did_you_mean, shown
from calprobe.questions.columns import Surroundings
from calprobe.questions.gold import QuestionFault, letters
from calprobe.questions.options import COLUMN_FIELDS
from calprobe.questions.question_file import OTHERS_KEYS, read_question
from calprobe.questions.question_rows import NAMES, Row
from calprobe.questions.types import Question

_NUMBER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_THOUSANDS = re.compile(r"[-+]?[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?")
# Numbers of languages with a decimal comma: 3,5 and 1.000,5 and 1.000.000; and 1.000, which is read as 1.
_DECIMAL_COMMA = re.compile(r"[-+]?(?:[0-9]+|[0-9]{1,3}(?:\.[0-9]{3})+),[0-9]+|[-+]?[0-9]{1,3}(?:\.[0-9]{3}){2,}")
_PERHAPS_THOUSANDS = re.compile(r"[-+]?[1-9][0-9]{0,2}\.[0-9]{3}")
_LISTS = ("options", "labels", "paraphrases")
TRUTH = ("True", "False")  # the options of a statement whose answer is a boolean


class _NoGoldError(Exception):
    """A row has no right answer."""


@dataclass(frozen=True, slots=True)
class Table:
    """The questions of a table, what its reader noticed, and how many rows cannot be asked."""

    questions: tuple[Question, ...]
    notes: tuple[str, ...]
    left_out: int


def read_table(
    rows: Sequence[Row], columns: Mapping[str, str], place: Surroundings, name: str, *, texts: bool, lenient: bool
) -> Table:
    """The questions of a table's rows. Rows without a right answer are left out and counted.

    Args:
        rows: of one table.
        columns: field of a question -> its column; see `QuestionOptions.columns`.
        place: set and split, for ids of rows that have none, and the seed of the order of options.
        name: of the table, for messages.
        texts: whether all cells are texts, as in CSV.
        lenient: of public data: rows that cannot be asked for another reason, and those with an earlier id, are left
            out, too.
    Raises:
        UsageError: a column is not there, or not said. ProbeFormatError: a row is not a question; names it and the fix.
    """
    header = tuple(dict.fromkeys(column for row in rows for column in row.content))
    of = _columns_of(header, columns, name)
    records = [_record(row, of, place, texts=texts) for row in rows]
    notes = [] if of["answer"][0] in of.get("options", ()) else _read_as_places(records, of, name, lenient=lenient)
    if texts:
        notes += _perhaps_thousands([row.content.get(of["answer"][0]) for row in rows], records)
    _refuse_letters_alone(records, of, name)
    questions: dict[str, Question] = {}
    where: dict[str, str] = {}
    faults: list[str] = []
    for row, record in zip(rows, records, strict=True):
        try:
            if texts:
                _refuse_commas(record)
            _refuse_lone_place(record)
            question = read_question(_with_gold(record))
            if question.id in questions:
                raise QuestionFault(f"id {question.id!r} is also in {where[question.id]}; give another")
        except _NoGoldError:
            faults.append(f"{row.where}: no right answer")
        except QuestionFault as fault:
            if not lenient:
                raise ProbeFormatError(f"{row.where}: {fault}") from fault
            faults.append(f"{row.where}: {fault}")
        else:
            questions[question.id] = question
            where[question.id] = row.where
    if not questions:
        raise ProbeFormatError(f"{faults[0] if faults else name}: and no other row can be asked")
    if faults:
        notes.append(f"Left out: {counted(len(faults), 'row')}, the first at {shown(faults[0])}.")
    # Of a part, `a.b`, the column is `a`.
    read = {name for parts in of.values() for part in parts for name in (part, part.partition(".")[0])}
    if unread := [column for column in header if column not in read]:
        notes.append(f"Columns that are not read: {columns_named(unread)}.")
    return Table(tuple(questions.values()), tuple(notes), len(faults))


def _columns_of(header: Sequence[str], columns: Mapping[str, str], name: str) -> dict[str, tuple[str, ...]]:
    """Field -> its columns, of options several. Raises UsageError for a column that is not there, or is not said."""
    of: dict[str, tuple[str, ...]] = {}
    for field in COLUMN_FIELDS:
        typed = columns.get(field)
        if typed is None:
            of |= {field: (field,)} if field in header and field != "subject" else {}
        elif typed:
            parts = (typed,) if typed in header else tuple(part.strip() for part in typed.split("+"))
            for part in parts:
                if part not in header and part.partition(".")[0] not in header:
                    near = did_you_mean(part, header)
                    raise UsageError(f"--columns {field}={typed}: {name} has no column {part!r}{near}\n{_has(header)}")
            if len(parts) > 1 and field != "options":
                raise UsageError(f"--columns {field}={typed}: only options have several columns; name one")
            of["group" if field == "subject" else field] = parts
    for field in ("question", "answer"):
        if field not in of:
            raise UsageError(
                f"{name}: no column {field!r}; say which it is: --columns question=COLUMN,answer=COLUMN,..\n"
                f"{_has(header)}"
            )
    (answer, *_) = of["answer"]
    if "options" not in {*of, *columns} and f"{answer}{NAMES}" in header:
        of["options"] = (f"{answer}{NAMES}",)
    for column in header:
        if OTHERS_KEYS.get(column) == "options" and "options" not in {*of, *columns}:
            raise UsageError(
                f"{name}: column {column!r} is not read; give --columns options={column}, or options= to leave it out"
            )
    return of


def _has(header: Sequence[str]) -> str:
    return f"it has the columns {columns_named(header)}" if header else "it has no columns"


def _record(row: Row, of: Mapping[str, Sequence[str]], place: Surroundings, *, texts: bool) -> dict[str, Any]:
    """The row as an object of a question file; without an answer where it has none."""
    record: dict[str, Any] = {}
    for field, columns in of.items():
        values = [value for column in columns if (value := _cell(row.content, column)) is not None]
        if field == "options" and len(columns) > 1:
            record[field] = [_as_text(value) for value in values]
        elif values:
            record[field] = _list(values[0]) if field in _LISTS else values[0]
    record.setdefault("id", f"{place.split}/{row.number}" if place.split else row.number)
    if isinstance(record["id"], float) and record["id"].is_integer():  # whole numbers beside empty cells
        record["id"] = int(record["id"])
    if isinstance(record.get("answer"), bool) and not record.get("options"):
        record |= {"options": list(TRUTH), "answer": str(record["answer"])}
    if record.get("options"):
        if of["answer"][0] in of.get("options", ()):
            _shuffle(record, place)
        elif isinstance(answer := record.get("answer"), list) and len(answer) == 1:
            record["answer"] = answer[0]
        return record
    record.pop("options", None)
    if texts and "answer" in record:
        record["answer"] = _answer_of_text(record["answer"], record.get("kind"))
    return record


def _cell(content: Mapping[str, Any], column: str) -> Any:
    """The value of a column, `a.b` within an object of the column `a`; None where there is none, or nothing in it."""
    if column in content:
        value = content[column]
    else:
        value = content
        for part in column.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
    if isinstance(value, Decimal):
        value = float(value)
    is_empty = value == [] or (isinstance(value, str) and not value.strip())
    return None if is_empty or (isinstance(value, float) and math.isnan(value)) else value


def _list(value: Any) -> Any:
    """A list, as such, as JSON, or as a text with | between its items."""
    if isinstance(value, str):
        items = _json_list(value)
        return [item.strip() for item in value.split("|")] if items is None else items
    return [_as_text(item) for item in value] if isinstance(value, list) else value


def _json_list(text: str) -> list[Any] | None:
    with suppress(ValueError):
        if text.lstrip().startswith("[") and isinstance(items := json.loads(text), list):
            return [_as_text(item) for item in items]
    return None


def _as_text(value: Any) -> Any:
    """A number as its digits, since an option may be one."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return f"{value:.15g}" if is_number else value


def _answer_of_text(text: str, kind: Any) -> Any:
    """The answer to a question without options: a number, a list of accepted texts, or one text."""
    if kind != "open" and _NUMBER.fullmatch(text.strip()):
        return float(text)
    items = _json_list(text)
    return items if items is not None else _list(text) if "|" in text else text


def _shuffle(record: dict[str, Any], place: Surroundings) -> None:
    """Put the options in an order that seed, set and question decide: the right one is a column of its own."""
    if record.get("answer") is None:
        return
    right = record["options"].index(_as_text(record["answer"]))
    order = list(range(len(record["options"])))
    random.Random(f"{place.seed}/{place.set}/{record.get('question')}").shuffle(order)
    record["options"] = [record["options"][position] for position in order]
    record["answer"] = order.index(right)


def _with_gold(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """The record. Raises _NoGoldError where it has no answer: an empty cell, or the -1 of hidden labels."""
    answer = record.get("answer")
    if answer is None or ("options" in record and type(answer) is int and answer == -1):
        raise _NoGoldError
    if "options" in record and isinstance(answer, list):
        raise QuestionFault(
            f"{len(answer)} right options; a choice has one: ask it as an open question (--columns options=), or as "
            "several questions"
        )
    return record


def _refuse_commas(record: Mapping[str, Any]) -> None:
    """Raise QuestionFault for 1,000 and 3,5, which would make the question an open one."""
    if "options" in record or record.get("kind") == "open":
        return
    text = str(answer := record.get("answer")).strip()
    with_point = text.replace(".", "").replace(",", ".")
    if _THOUSANDS.fullmatch(text):
        decimal = f" (or {with_point})" if text.count(",") == 1 and "." not in text else ""
        fix = f"write {text.replace(',', '')}{decimal}"
    elif _DECIMAL_COMMA.fullmatch(text):
        fix = f"write {with_point}"
    else:
        return
    raise QuestionFault(
        f"answer {answer!r} is not read as a number; {fix}, or give a column kind with open, for a text"
    )


def _perhaps_thousands(cells: Sequence[Any], records: Sequence[Mapping[str, Any]]) -> list[str]:
    """A note where each number with a point has three digits behind it, so that it may be a thousand."""
    pairs = zip(cells, records, strict=True)
    numbers = [cell.strip() for cell, record in pairs if isinstance(record.get("answer"), float) and "." in cell]
    if not numbers or not all(map(_PERHAPS_THOUSANDS.fullmatch, numbers)):
        return []
    whole = numbers[0].replace(".", "")
    return [f"The point in {numbers[0]} is read as a decimal point; if it separates thousands, write {whole}."]


def _refuse_lone_place(record: Mapping[str, Any]) -> None:
    """Raise QuestionFault for a number of an option in a column with other answers, where it is not read as a place."""
    answer = record.get("answer")
    if not record.get("options") or not isinstance(answer, str) or _whole(answer) is None:
        return
    if answer.strip() not in _names(record):
        raise QuestionFault(
            f"answer {answer!r} is no option's text or label; give one (A, B, ..): numbers are places only where every "
            "answer of the column is a place, from 0 or from 1"
        )


def _read_as_places(
    records: Sequence[dict[str, Any]], of: Mapping[str, Sequence[str]], name: str, *, lenient: bool
) -> list[str]:
    """Replace answers to choices by the options' places where the whole column can only be meant so; returns notes.

    A column is of one sort. Digits that are labels or texts of options in every row are these. Else, where all of them
    are numbers that lie within the options, they are places: from 0 if an answer is 0, from 1 if one is the number of
    its options. Where neither is so, names of class labels are counted from 0, and so is public data, with a note.

    Raises ProbeFormatError where two readings fit, and differ.
    """
    choices = [record for record in records if record.get("options") and _whole(record.get("answer")) is not None]
    all_choices = [r for r in records if r.get("options") and r.get("answer") not in (None, -1)]
    if not choices or len(choices) < len(all_choices):
        return []
    numbers = [int(_whole(record["answer"]) or 0) for record in choices]
    sizes = [len(record["options"]) for record in choices]
    first = next((f for f in (0, 1) if all(f <= n < f + k for n, k in zip(numbers, sizes, strict=True))), None)
    if any(isinstance(record["answer"], str) for record in choices):
        as_texts = [str(number) in _names(record) for number, record in zip(numbers, choices, strict=True)]
        if all(as_texts):
            other = [r for n, r in zip(numbers, choices, strict=True) if first is not None and not _at(r, n - first, n)]
            if other:
                raise ProbeFormatError(
                    f"{name}: the answers are places of options and also texts of options, in every row, as "
                    f"{other[0]['answer']} for {other[0]['question']!r:.60}; write labels: A, B, .."
                )
            return []
    if first is None:
        return []
    is_unclear = 0 not in numbers and first == 0 and not of["options"][0].endswith(NAMES)
    if is_unclear and not lenient:
        raise ProbeFormatError(
            f"{name}: the answers may be places from 0 or from 1: none is 0, and none the number of its options; "
            "write labels (A, B, ..) or texts of options"
        )
    for number, record in zip(numbers, choices, strict=True):
        record["answer"] = number - first
    if is_unclear:
        return ["Right options are read as numbered from 0; from 1 would fit, too."]
    return ["Right options are numbered from 1."] if first else []


def _whole(value: Any) -> int | None:
    """A whole number, or a text of its digits; None for anything else."""
    if isinstance(value, str):
        return int(value) if value.strip().isascii() and value.strip().isdigit() else None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if type(value) is int and value >= 0 else None


def _names(record: Mapping[str, Any]) -> list[Any]:
    return [*record["options"], *record.get("labels", ())]


def _at(record: Mapping[str, Any], place: int, number: int) -> bool:
    """Whether the option at that place has the number as its text or label."""
    labels = record.get("labels") or letters(len(record["options"]))
    return str(number) in (record["options"][place], labels[place])


def _refuse_letters_alone(records: Iterable[Mapping[str, Any]], of: Mapping[str, Any], name: str) -> None:
    """Raise UsageError where all answers are letters and no options are read: they stand in columns of other names."""
    answers = [record["answer"] for record in records if record.get("answer") is not None]
    if "options" not in of and answers and all(isinstance(a, str) and re.fullmatch(r"[A-J]", a) for a in answers):
        raise UsageError(
            f"{name}: all answers are letters, and there are no options; name their columns, such as --columns "
            "options=A+B+C+D"
        )
