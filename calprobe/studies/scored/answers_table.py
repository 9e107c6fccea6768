"""Answers of a run as a table, and as CSV with a line for each answer."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from typing import Literal

from calprobe.show.tables.csv import harmless
from calprobe.show.tables.layout import UNRANKED, Cells, Layout
from calprobe.show.tables.types import Cell, Column, Row, Table
from calprobe.studies.scored.answer_sentences import agreement, headline_of, notes_of, right_in, short
from calprobe.studies.scored.answers import COLUMNS, Answer, Shown

Statements = Literal["column", "note"]


def _place(place: int) -> str:
    return "no answer" if place < 0 else f"candidate {place}"


def _column(title: str, of: Callable[[Answer], Cell]) -> Cells[Answer]:
    return Cells(Column(title), of)


ANSWER = (
    _column("answer", lambda answer: _place(answer.place) if answer.predicted is None else answer.predicted),
    _column("right", lambda answer: _place(answer.answer_idx) if answer.answer is None else answer.answer),
    _column("confidence", lambda answer: answer.confidence),
)
OF_TEMPLATES = (_column("templates", agreement), _column("right in", right_in))
RELATION = _column("relation", lambda answer: answer.relation)
STATEMENT = _column("statement", lambda answer: answer.statement or "-")


def answers_table(shown: Shown, statements: Statements | None = None) -> Table:
    """A row for each answer. Statements have a column, or stand below the subject, or are left out."""
    templated = any(len(answer.templates) > 1 for answer in shown.answers)
    return Layout[Answer](
        f"Answers of {shown.model} on {shown.probe}: {headline_of(shown)}.",
        "answers",
        "subject",
        lambda answer: Row(
            short(answer.subject or f"instance {answer.instance}"),
            note=short(answer.statement or "") if statements == "note" else "",
        ),
        (*ANSWER, *(OF_TEMPLATES if templated else ()), RELATION, *([STATEMENT] if statements == "column" else [])),
        more={**UNRANKED, "tidy": False},
    ).table(shown.answers, *notes_of(shown), *_no_texts(shown))


def answers_csv(shown: Shown) -> str:
    """A head and a line for each answer, with the columns of `calprobe.answers`. Numbers have full precision.

    Text that a spreadsheet would take for a formula gets an apostrophe in front.
    """
    text = io.StringIO()
    records = [answer.record() for answer in shown.answers]
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(records[0] if records else COLUMNS)
    writer.writerows(map(_text, record.values()) for record in records)
    return text.getvalue().removesuffix("\n")


def _text(value: str | bool | float | None) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return harmless(value or "") if value is None or isinstance(value, str) else repr(value)


def _no_texts(shown: Shown) -> Iterator[str]:
    if any(answer.subject is None for answer in shown.answers):
        yield (
            "Subjects and answers are not known in words: the run has no labels, and its probe was not found. "
            "`calprobe show RUN --probe DIR` shows them; `calprobe score --save-labels` stores them in the run."
        )
