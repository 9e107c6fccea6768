"""Arrow arrays made without pandas are those that pyarrow itself makes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calprobe.runs.arrow import from_numbers, from_strings, repeated, to_numbers


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.float32, np.float64])
@given(values=st.lists(st.integers(-128, 127), max_size=20), step=st.sampled_from([1, 2]))
def test_numbers_there_and_back(dtype: type[np.number], values: list[int], step: int) -> None:
    numbers = np.array(values, dtype)[::step]
    array = from_numbers(numbers)
    array.validate(full=True)
    assert array.equals(pa.array(numbers))
    assert np.array_equal(to_numbers(array), numbers)
    assert to_numbers(array).dtype == dtype


@given(values=st.lists(st.none() | st.floats(width=64), max_size=20))
def test_nulls_and_nan_are_two_things(values: list[float | None]) -> None:
    is_null = np.array([value is None for value in values], bool)
    array = from_numbers(np.array([value or 0.0 for value in values]), is_null)
    array.validate(full=True)
    assert np.array_equal(np.array(array.is_null()), is_null)
    expected = [value if value is None else value or 0.0 for value in values]
    assert repr(array.to_pylist()) == repr(expected)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # NumPy asks again, in the old way
def test_null_is_no_number() -> None:
    with pytest.raises(pa.ArrowTypeError):
        to_numbers(from_numbers(np.arange(2), np.array([False, True])))


@given(strings=st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=20))
def test_strings(strings: list[str]) -> None:
    array = from_strings(strings)
    array.validate(full=True)
    assert array.equals(pa.array(strings, pa.string()))


@pytest.mark.parametrize("n", [0, 1, 3])
def test_repeated(n: int) -> None:
    assert repeated("Ġa", n).to_pylist() == ["Ġa"] * n
