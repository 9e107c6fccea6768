"""Layouts: columns beside where their cells are found, and what a row's head says of all of its cells."""

from __future__ import annotations

import pytest

from calprobe.analysis.tables.layout import UNRANKED, Layout, Numbers, cells, filled, metrics, quantity
from calprobe.analysis.tables.types import Column, Row
from calprobe.metrics import ACCURACY, Estimate
from calprobe.metrics.ranking import AUROC

WORDS = Layout[str](
    "Words",
    "words",
    "word",
    lambda word: Row(word, keys={"word": word}, coverage=(len(word) / 4,)),
    (cells("letters", "n", len, "larger"), quantity("first", lambda word: word[0], name="letter")),
    ("A note.",),
    kind="words",
    more=UNRANKED,
)


def test_a_row_a_record_with_the_fields_of_the_layout_and_of_the_call() -> None:
    table = WORDS.table(["true", "no"], "Another.", general=("For all.",))
    assert [(row.label, row.cells) for row in table.rows] == [("true", (4, "t")), ("no", (2, "n"))]
    assert (table.notes, table.general, table.kind, table.best_within) == (
        ("A note.", "Another."),
        ("For all.",),
        "words",
        None,
    )
    assert table.columns == (
        Column("letters", "larger", keys={"metric": "n"}),
        Column("first", keys={"quantity": "letter"}),
    )


def test_a_coverage_of_one_number_is_that_of_all_cells() -> None:
    table = WORDS.table(["true", "no"])
    assert [row.coverage for row in table.rows] == [(1.0, 1.0), (0.5, 0.5)]
    one_too_many = Layout[str]("", "", "", lambda word: Row(word, coverage=(1.0, 1.0, 1.0)), WORDS.columns)
    with pytest.raises(ValueError, match=r"^row 'no' has 2 cells and 3 coverages$"):
        one_too_many.table(["no"])


def test_columns_of_nothing_are_left_out() -> None:
    shown = filled([quantity("none", lambda _: None), *WORDS.columns], ["yes"])
    assert [column.column.title for column in shown] == ["letters", "first"]


def test_numbers_by_name_under_metrics() -> None:
    accuracy, auroc = metrics([ACCURACY, AUROC], lambda row: row.cells, unranked=("accuracy",))
    row = Numbers(Row("a"), {"accuracy": Estimate(0.5)})
    assert (accuracy.of(row), auroc.of(row)) == (Estimate(0.5), None)
    assert (accuracy.column.ranked, auroc.column.ranked) == (False, True)
