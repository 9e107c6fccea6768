"""NumPy to Arrow and back without pandas.

`pa.array`, `pa.scalar` and `to_numpy` import it wherever it is installed, if only to ask whether they were given
something of pandas: 35 MiB and a third of a second, which scoring has no use for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from itertools import accumulate
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_SCALARS = {str: pa.string(), int: pa.int32(), float: pa.float64(), bool: pa.bool_()}


def type_of(kind: Any) -> pa.DataType:
    """The Arrow type for a type hint: a scalar, a Literal, a tuple of one type, a dataclass; each may be optional.

    >>> print(type_of(tuple[float | None, ...] | None))
    list<item: double>
    """
    origin, arguments = get_origin(kind), get_args(kind)
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        return pa.struct([(field.name, type_of(hints[field.name])) for field in fields(kind)])
    if origin in (Union, UnionType):
        return type_of(next(argument for argument in arguments if argument is not type(None)))
    if origin is tuple:
        return pa.list_(type_of(arguments[0]))
    return pa.string() if origin is Literal else _SCALARS[kind]


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
