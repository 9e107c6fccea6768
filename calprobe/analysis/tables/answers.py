"""Answers of a run as a table, and as CSV with a line for each answer."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from typing import Literal

from calprobe.analysis.answers import Answer, Shown
from calprobe.analysis.prose_answers import agreement, headline_of, of_paraphrases, right_in, short
from calprobe.analysis.tables.csv import harmless
from calprobe.analysis.tables.layout import UNRANKED, Cells, Layout
from calprobe.analysis.tables.types import Cell, Column, Row, Table

Statements = Literal["column", "note"]


def _place(place: int) -> str:
    return "no answer" if place < 0 else f"candidate {place}"


def _column(title: str, of: Callable[[Answer], Cell]) -> Cells[Answer]:
    return Cells(Column(title), of)


ANSWER = (
    _column("answer", lambda one: _place(one.place) if one.predicted is None else one.predicted),
    _column("right", lambda one: _place(one.answer_idx) if one.answer is None else one.answer),
    _column("confidence", lambda one: one.confidence),
)
OF_TEMPLATES = (_column("templates", agreement), _column("right in", right_in))
RELATION = _column("relation", lambda one: one.relation)
STATEMENT = _column("statement", lambda one: one.statement or "-")


def answers_table(shown: Shown, statements: Statements | None = None) -> Table:
    """A row for each answer. Statements have a column, or stand below the subject, or are left out."""
    several = any(len(answer.templates) > 1 for answer in shown.answers)
    return Layout[Answer](
        f"Answers of {shown.model} on {shown.probe}: {headline_of(shown)}.",
        "answers",
        "subject",
        lambda answer: Row(
            short(answer.subject or f"instance {answer.instance}"),
            note=short(answer.statement or "") if statements == "note" else "",
        ),
        (*ANSWER, *(OF_TEMPLATES if several else ()), RELATION, *([STATEMENT] if statements == "column" else [])),
        more={**UNRANKED, "tidy": False},
    ).table(shown.answers, *of_paraphrases(shown), *_no_texts(shown))


def answers_csv(shown: Shown) -> str:
    """A head and a line for each answer, with the columns of `calprobe.answers`. Numbers have full precision.

    Text that a spreadsheet would take for a formula gets an apostrophe in front.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    estimators = list(shown.answers[0].estimators) if shown.answers else []
    numbers = [one.template for one in shown.answers[0].templates] if shown.answers else []
    by_template = [f"{name}_{number}" for number in numbers for name in ("predicted", "confidence")]
    fixed = ("relation", "instance", "subject", "answer", "predicted", "statement", "correct", "confidence")
    writer.writerow([*fixed, *estimators, *by_template])
    for one in shown.answers:
        words = [harmless(word or "") for word in (one.subject, one.answer, one.predicted, one.statement)]
        verdict = ["true" if one.correct else "false", repr(one.confidence)]
        given = [cell for by in one.templates for cell in (harmless(by.label or ""), repr(by.confidence))]
        sure = [repr(by.confidence) for by in one.estimators.values()]
        writer.writerow([harmless(one.relation), one.instance, *words, *verdict, *sure, *given])
    return text.getvalue().removesuffix("\n")


def _no_texts(shown: Shown) -> Iterator[str]:
    if any(answer.subject is None for answer in shown.answers):
        yield (
            "Subjects and answers are not known in words: the run has no labels, and its probe was not found. "
            "`calprobe show RUN --probe DIR` shows them; `calprobe score --save-labels` stores them in the run."
        )
