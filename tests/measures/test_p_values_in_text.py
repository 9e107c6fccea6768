"""P-values as text: none looks like 0, or as if it were on the other side of .05."""

from __future__ import annotations

import numpy as np
import pytest

from calprobe.measures.number_text import p_text, short_p
from calprobe.metrics import Estimate
from calprobe.metrics.intervals import SIGNIFICANT
from calprobe.show.tables.cell_text import cell_text
from calprobe.show.tables.layout import Layout, cells, quantity
from calprobe.show.tables.types import Row, Table


@pytest.mark.parametrize("decimals", [2, 3, 4])
def test_no_p_value_looks_like_zero_or_is_on_the_other_side(decimals: int) -> None:
    for p in (*np.linspace(0, 1, 997), *np.linspace(0.049, 0.051, 401), *np.logspace(-9, -1, 100)):
        text = p_text(p, decimals)
        assert text.startswith("<") or float(text) > 0
        assert (float(text.removeprefix("<")) < SIGNIFICANT) == (p < SIGNIFICANT)
        assert float(text.removeprefix("<")) == pytest.approx(p, abs=0.001)
    assert p_text(float("nan"), decimals) == "undefined"
    assert (short_p(0.0004), short_p(0.04999), short_p(1.0)) == ("< .001", ".04999", "1.000")


def of_columns(value: Estimate | float) -> Table:
    layout = Layout[float].given(
        "Values",
        "values",
        "row",
        cells("error", "ece", lambda _: value),
        cells("p", "ece_p", lambda _: value),
        quantity("max-T p", lambda _: value),
    )
    return layout.of_rows([(Row("a"), 0.0), (Row("b", keys={"metric": "ace_p"}), 0.0)])


def test_tables_with_two_decimals_have_three_of_p() -> None:
    for value in (0.047, Estimate(0.047)):
        first, second = (tuple(cell_text(cell, 2) for cell in row.cells) for row in of_columns(value).rows)
        assert first == ("0.05", "0.047", "0.047")
        assert second == ("0.047",) * 3  # of the row
