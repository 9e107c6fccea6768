"""Which cells are the best, by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from calprobe.metrics import Estimate
from calprobe.show.tables import Column, Row, Table, best_cells
from calprobe.show.tables.best import best_places

NAN = float("nan")
COLUMNS = (Column("ACE", "smaller"), Column("AUROC", "larger"), Column("mean conf"))


def table(*rows: Row, columns: tuple[Column, ...] = COLUMNS) -> Table:
    return Table("Caption.", "label", "estimator", columns, rows)


def row(*cells: float, group: str = "") -> Row:
    return Row("row", tuple(map(Estimate, cells)), group)


@pytest.mark.parametrize(
    ("values", "better", "best"),
    [
        ([0.3, 0.1, 0.2], "smaller", {1}),
        ([0.3, 0.1, 0.2], "larger", {0}),
        ([0.10001, 0.1, 0.2], "smaller", {0, 1}),  # both are printed 0.1000
        ([0.10005, 0.1, 0.2], "smaller", {1}),  # 0.1001, 0.1000
        ([NAN, 0.1, 0.2, None], "larger", {2}),
        ([NAN, 0.1, NAN], "smaller", set()),  # nothing to be better than
        ([0.1, 0.1], "smaller", set()),
        ([0.3, 0.1], None, set()),
        ([-0.00001, 0.00001, 1.0], "smaller", {0, 1}),  # 0 is 0, whatever its sign
        ([], "larger", set()),
    ],
)
def test_best_places(values: list[float | None], better: str | None, best: set[int]) -> None:
    assert best_places(values, better) == best


def test_within_the_table_by_each_columns_direction() -> None:
    assert best_cells(table(row(0.1, 0.6, 0.9), row(0.2, 0.8, 0.1))) == {(0, 0), (1, 1)}


def test_within_groups() -> None:
    rows = [row(0.1, 0.6, 0.0, group="a"), row(0.2, 0.6, 0.0, group="a"), row(0.3, 0.1, 0.0, group="b")]
    both = replace(table(*rows, row(0.4, 0.2, 0.0, group="b")), best_within="group")
    assert best_cells(both) == {(0, 0), (2, 0), (3, 1)}
    assert best_cells(replace(both, best_within=None)) == frozenset()


def test_rows_and_columns_can_be_left_out() -> None:
    columns = (replace(COLUMNS[0], ranked=False), *COLUMNS[1:])
    difference = replace(row(-0.9, 0.95, 0.0), ranked=False)
    assert best_cells(table(row(0.1, 0.6, 0.9), row(0.2, 0.8, 0.1), difference, columns=columns)) == {(1, 1)}


def test_text_and_gaps_are_never_the_best() -> None:
    rows = Row("a", ("none", None, 0.5)), Row("b", (0.5, 1, "text")), Row("c", (0.25, 2, None))
    assert best_cells(table(*rows)) == {(2, 0), (2, 1)}


def test_a_row_has_a_cell_for_each_column() -> None:
    with pytest.raises(ValueError, match="row 'row' has 1 cells; the columns are 3"):
        table(row(0.5))
