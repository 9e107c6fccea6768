"""Layouts: columns beside where their cells are found, and what a row's head says of all of its cells."""

from __future__ import annotations

import pytest

from calprobe.metrics import ACCURACY, Estimate
from calprobe.metrics.ranking import AUROC
from calprobe.show.tables.layout import (
    UNRANKED,
    Layout,
    Numbers,
    by_name,
    cells,
    estimates,
    filled,
    metrics,
    quantity,
    where,
)
from calprobe.show.tables.types import Column, Row

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


def test_columns_stand_where_a_condition_holds_of_a_record() -> None:
    long = where(
        lambda word: len(word) > 3, *where(lambda word: word[0] == "t", quantity("last", lambda word: word[-1]))
    )
    layout = Layout[str].given("", "", "", quantity("first", lambda word: word[0]), *long)
    columns = {
        words: layout.of_rows((Row(word), word) for word in words.split()).columns for words in ("yes no", "true")
    }
    assert [[column.title for column in found] for found in columns.values()] == [["first"], ["first", "last"]]
    (row,) = layout.of_rows([(Row("A", group="B"), "true")]).rows
    assert (row.label, row.group, row.cells) == ("A", "B", ("t", "e"))
    with pytest.raises(TypeError, match="have no heads of their own"):
        layout.table(["true"])


def test_what_chance_makes_of_an_error_stands_beside_it_of_few_questions() -> None:
    found = {"ace": Estimate(0.1), "ace_if_calibrated": Estimate(0.05), "ace_p": Estimate(0.3), "brier": Estimate(0.2)}
    titles = {"ace": "ACE", "brier": "Brier"}
    for questions, shown in ((999, ["ACE", "ACE if cal.", "ACE p", "Brier"]), (1000, ["ACE", "Brier"])):
        layout = Layout[int].given("", "", "", *estimates(titles, lambda _: found, questions=lambda number: number))
        assert [column.title for column in layout.of_rows([(Row(""), questions)]).columns] == shown


def test_numbers_by_their_names_in_tidy_files() -> None:
    table = Layout("", "", "", lambda row: row.head, by_name({"n": "facts"})).table([Numbers(Row("a"), {"n": 3})])
    assert (table.columns[0].title, table.columns[0].keys, table.rows[0].cells) == ("facts", {"quantity": "n"}, (3,))
