"""JSON values into frozen dataclasses, by the dataclass's own type hints: strict, and the error says where."""

from __future__ import annotations

import sys
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


class DecodeError(ValueError):
    """A value that is not what the type says. The message begins with the keys that lead to it."""


def decode(kind: type[T], value: Any, where: str = "") -> T:
    """The value (as `json.loads` gives it) as a `kind`: dataclass, tuple, Mapping, optional, Literal or scalar.

    Raises DecodeError for a key that is missing or unknown and for a value of another type.
    """
    decoded: T = _decode(kind, value, where)
    return decoded


def _decode(kind: Any, value: Any, where: str) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if is_dataclass(kind):
        return _decode_record(kind, value, where)
    if origin in (Union, types.UnionType):
        return None if value is None else _decode(next(a for a in arguments if a is not type(None)), value, where)
    if origin is Literal:
        return _checked(value in arguments, value, where, f"one of {', '.join(map(str, arguments))}")
    if origin is tuple:
        _checked(isinstance(value, list), value, where, "a list")
        return tuple(_decode(arguments[0], item, f"{where}[{i}]") for i, item in enumerate(value))
    if origin is not None and issubclass(origin, Mapping):
        _checked(isinstance(value, dict), value, where, "an object")
        return {_decode(str, k, where): _decode(arguments[1], item, f"{where}.{k}") for k, item in value.items()}
    if kind is float:
        return float(_checked(_is_finite(value), value, where, "a number"))
    if kind is str:
        return _checked(isinstance(value, str) and _is_whole_text(value), value, where, "str")
    # bool is an int to isinstance, and never meant as one.
    return _checked(isinstance(value, kind) and (kind is bool) == isinstance(value, bool), value, where, kind.__name__)


_hints = cache(get_type_hints)


def _decode_record(kind: Any, value: Any, where: str) -> Any:
    _checked(isinstance(value, dict), value, where, "an object")
    known = {field.name: field for field in fields(kind)}
    unknown = [key for key in value if key not in known]
    if unknown:
        raise DecodeError(f"{_place(where)}unknown key {', '.join(map(repr, unknown))}")
    required = [n for n, f in known.items() if f.default is MISSING and f.default_factory is MISSING]
    missing = [name for name in required if name not in value]
    if missing:
        raise DecodeError(f"{_place(where)}missing key {', '.join(map(repr, missing))}")
    hints = _hints(kind)
    return kind(**{key: _decode(hints[key], item, f"{where}.{key}".lstrip(".")) for key, item in value.items()})


def _is_finite(value: Any) -> bool:
    """Whether a float can hold it; JSON, as Python reads it, has NaN, infinities and larger numbers."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _is_whole_text(value: str) -> bool:
    """Whether it can be written as UTF-8: JSON may escape half of a surrogate pair."""
    return not any("\ud800" <= character <= "\udfff" for character in value)


def _checked(holds: bool, value: Any, where: str, expected: str) -> Any:
    if not holds:
        raise DecodeError(f"{_place(where)}expected {expected}, got {value!r:.60}")
    return value


def _place(where: str) -> str:
    return f"{where}: " if where else ""
