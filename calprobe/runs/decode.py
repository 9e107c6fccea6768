"""JSON values into frozen dataclasses, by the dataclass's own type hints: strict, and the error says where."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, Literal, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


class DecodeError(ValueError):
    """A value that is not what the type says. The message begins with the keys that lead to it."""


def decode(kind: type[T], value: Any, where: str = "") -> T:
    """The value (as `json.loads` gives it) as a `kind`: dataclass, tuple, Mapping, optional, Literal or scalar.

    Raises DecodeError for a key that is missing or unknown and for a value of another type.
    """
    try:
        decoded: T = _decoder(kind)(value)  # type: ignore[arg-type]  # a class is hashable
    except _Wrong as wrong:
        place = "".join((where, *reversed(wrong.keys))).lstrip(".")
        raise DecodeError(f"{place}: {wrong.what}" if place else wrong.what) from None
    return decoded


Decoder = Callable[[Any], Any]


class _Wrong(Exception):
    """What is wrong with a value, with the keys that lead to it, the innermost first."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what
        self.keys: list[str] = []

    def within(self, key: str) -> _Wrong:
        self.keys.append(key)
        return self


@cache  # a run has hundreds of thousands of values of a few types
def _decoder(kind: Any) -> Decoder:
    origin, arguments = get_origin(kind), get_args(kind)
    if is_dataclass(kind):
        return _record(kind)
    if origin in (Union, types.UnionType):
        inner = _decoder(next(a for a in arguments if a is not type(None)))
        return lambda value: None if value is None else inner(value)
    if origin is Literal:
        expected = f"one of {', '.join(map(str, arguments))}"
        return lambda value: value if value in arguments else _refused(value, expected)
    if origin is tuple:
        return _items(_decoder(arguments[0]))
    if origin is not None and issubclass(origin, Mapping):
        return _entries(_decoder(arguments[1]))
    if kind is float:
        return lambda value: float(value) if _is_finite(value) else _refused(value, "a number")
    if kind is str:
        return lambda value: value if isinstance(value, str) and _is_whole_text(value) else _refused(value, "str")
    # bool is an int to isinstance, and never meant as one.
    return lambda value: (
        value
        if isinstance(value, kind) and (kind is bool) == isinstance(value, bool)
        else _refused(value, kind.__name__)
    )


def _items(item: Decoder) -> Decoder:
    def decoded(value: Any) -> tuple[Any, ...]:
        elements: list[Any] = []
        if not isinstance(value, list):
            _refused(value, "a list")
        try:
            for element in value:
                elements.append(item(element))  # its length is the place of what is wrong
        except _Wrong as wrong:
            raise wrong.within(f"[{len(elements)}]") from None
        return tuple(elements)

    return decoded


def _entries(item: Decoder) -> Decoder:
    text = _decoder(str)

    def decoded(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            _refused(value, "an object")
        for name in value:
            text(name)
        return _values(value, dict.fromkeys(value, item))

    return decoded


def _record(kind: Any) -> Decoder:
    attributes = fields(kind)
    required = {field.name for field in attributes if field.default is MISSING and field.default_factory is MISSING}
    decoders: dict[str, Decoder] = {}

    def decoded(value: Any) -> Any:
        if not decoders:  # at the first value, since a type may have itself among its fields
            hints = get_type_hints(kind)
            decoders.update((field.name, _decoder(hints[field.name])) for field in attributes)
        if not isinstance(value, dict):
            _refused(value, "an object")
        if unknown := value.keys() - decoders.keys():
            raise _Wrong(f"unknown key {', '.join(repr(key) for key in value if key in unknown)}")
        if missing := required - value.keys():
            raise _Wrong(f"missing key {', '.join(repr(name) for name in decoders if name in missing)}")
        return kind(**_values(value, decoders))

    return decoded


def _values(value: dict[str, Any], decoders: Mapping[str, Decoder]) -> dict[str, Any]:
    """The values of an object, each by the decoder of its key."""
    decoded = {}
    key = ""
    try:
        for key, entry in value.items():
            decoded[key] = decoders[key](entry)
    except _Wrong as wrong:
        raise wrong.within(f".{key}") from None
    return decoded


def _is_finite(value: Any) -> bool:
    """Whether a float can hold it; JSON, as Python reads it, has NaN, infinities and larger numbers."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _is_whole_text(value: str) -> bool:
    """Whether it can be written as UTF-8: JSON may escape half of a surrogate pair."""
    try:
        return value.isascii() or bool(value.encode())
    except UnicodeEncodeError:
        return False


def _refused(value: Any, expected: str) -> NoReturn:
    raise _Wrong(f"expected {expected}, got {value!r:.60}")
