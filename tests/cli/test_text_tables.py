"""Tables of the command line as plain text."""

from __future__ import annotations

import pytest

from calprobe.cli.tables import text_table


def test_columns_stand_two_apart_on_the_side_that_is_asked_for() -> None:
    rows = [("name", "size", "kind", ""), ("a", "1,000", "b", "ready"), ("longer", "2", "c", "")]
    assert text_table(rows, "<><<").splitlines() == [
        "name     size  kind",
        "a       1,000  b     ready",
        "longer      2  c",
    ]


def test_a_row_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        text_table([("a", "b"), ("c",)], "<<")
    with pytest.raises(ValueError, match="zip"):
        text_table([("a", "b")], "<")
