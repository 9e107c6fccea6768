"""NumPy to Arrow and back without pandas.

`pa.array`, `pa.scalar` and `to_numpy` import it wherever it is installed, if only to ask whether they were given
something of pandas: 35 MiB and a third of a second, which scoring has no use for.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def from_numbers(values: npt.NDArray[Any], is_null: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """The numbers [n] as they are, NaN too, without a copy where they are contiguous; null where `is_null` [n]."""
    validity = None if is_null is None else pa.py_buffer(np.packbits(~is_null, bitorder="little"))
    data = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [validity, data])


def to_numbers(numbers: pa.Array) -> npt.NDArray[Any]:
    """The numbers [n], not to be written to, without a copy. Raises pa.ArrowTypeError where one is null."""
    array: npt.NDArray[Any] = np.from_dlpack(numbers)
    return array


def from_strings(strings: Sequence[str]) -> pa.Array:
    """The strings [n]; none is null."""
    encoded = [string.encode() for string in strings]
    ends = np.fromiter(accumulate(map(len, encoded), initial=0), np.int32)
    return pa.StringArray.from_buffers(len(encoded), pa.py_buffer(ends), pa.py_buffer(b"".join(encoded)))


def repeated(string: str, n: int) -> pa.Array:
    """The string `n` times."""
    return pa.repeat(from_strings([string])[0], n)
