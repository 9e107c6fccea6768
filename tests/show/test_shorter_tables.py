"""Tables for a first look: equal rows once, fewer digits, the names of what is left out."""

from __future__ import annotations

from calprobe.metrics import Estimate
from calprobe.show.tables.shorter import at_a_glance, equal_rows_once, others_named
from calprobe.show.tables.types import Column, Row, Table


def table(*rows: Row, kind: str = "confidence") -> Table:
    return Table("Caption", "label", "estimator", (Column("ACE"),), rows, kind=kind)


def test_equal_rows_of_a_group_are_one() -> None:
    half = (Estimate(0.5, 0.4, 0.6),)
    rows = equal_rows_once(
        table(Row("a", half, "x"), Row("b", half, "x"), Row("c", half, "x"), Row("d", half, "y"), Row("e", (0.5,), "x"))
    ).rows
    assert [(row.label, row.note) for row in rows] == [("a", "= b and 1 more"), ("d", ""), ("e", "")]


def test_a_row_for_several_names_is_explained() -> None:
    alike, apart = table(Row("a", (0.5,)), Row("b", (0.5,))), table(Row("a", (0.5,)), Row("b", (0.6,)))
    assert at_a_glance(alike, 2).notes == ("= NAME: it has the numbers of the row above.",)
    assert at_a_glance(apart, 2).notes == ()


def test_many_rows_have_no_intervals_and_few_digits() -> None:
    rows = [Row(str(number), (Estimate(number / 10, 0, 1),)) for number in range(7)]
    assert (at_a_glance(table(*rows), 2).intervals, at_a_glance(table(*rows[:6]), 2).intervals) == (False, True)
    assert at_a_glance(table(*rows), 2).decimals == 2


def test_what_is_left_out_is_named_once() -> None:
    shown, other = table(Row("a", (1,))), table(Row("a", (1,)), kind="stated")
    assert others_named([shown], [shown, other, other]) == ("More: --tables stated; --tables all.",)
    assert others_named([shown], [shown]) == ("More rows and columns: --tables all.",)
