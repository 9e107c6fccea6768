"""Random damage to files: to JSON one place at a time, to bytes a cut, an insertion or a flip."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from calprobe.errors import CalprobeError

NUMBERS = [True, -1, 0, 2, 2**31, 10**400, 1e308, float("nan"), float("inf"), float("-inf")]
TEXTS = ["", "1", "nan", "[0]", "\ud83c", "\0", "../x", "\ufeff", "a\r\n", "\u202e", "\x1b[2J", "x" * 10_000]
NESTED: list[Any] = [[], {}, [[]], [["-1.0", "False"]], {"gen_args_0": None}]
ODD = st.sampled_from([None, *NUMBERS, *TEXTS, *NESTED])
ANY = ODD | st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
# The same cases each time: a suite that fails at random does not show what broke. `make fuzz` looks further.
SAME = settings(max_examples=50, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def damaged(draw: st.DrawFn, value: Any) -> Any:
    """The JSON value with one place in it replaced or removed; at times as it was."""
    if not isinstance(value, dict | list) or not value or draw(st.integers(0, 4)) == 0:
        return draw(ANY)
    copy = dict(enumerate(value)) if isinstance(value, list) else dict(value)
    key = draw(st.sampled_from(list(copy)))
    if draw(st.integers(0, 3)):
        copy[key] = draw(damaged(copy[key]))
    else:
        del copy[key]
    return list(copy.values()) if isinstance(value, list) else copy


@st.composite
def lines(draw: st.DrawFn, rows: list[Any]) -> bytes:
    """JSON lines of the rows, one perhaps damaged, or the text itself cut or with other bytes in it."""
    rows = draw(damaged(rows) | st.just(rows)) if draw(st.booleans()) else rows
    content = "".join(json.dumps(row) + "\n" for row in (rows if isinstance(rows, list) else [rows])).encode()
    how = draw(st.integers(0, 5))
    place = draw(st.integers(0, len(content)))
    if how == 0:
        return content[:place]
    return content[:place] + draw(st.binary(max_size=3)) + content[place:] if how == 1 else content


@st.composite
def bent(draw: st.DrawFn, content: bytes) -> bytes:
    """The bytes cut, or with a few of them replaced, or with others in between."""
    place = draw(st.integers(0, len(content)))
    length = draw(st.sampled_from([0, 0, 1, 4, len(content)]))
    other = st.binary(max_size=6) | st.sampled_from([b"\0", b"\xff" * 4, b"\r\n", b"\xef\xbb\xbf", b'"', b","])
    return content[:place] + draw(other) + content[place + length :]


def holds(read: Callable[[Path], object]) -> None:
    """Run `read` in a fresh folder. If it refuses, it names a file there, in two lines at most, and leaves no run."""
    refusal = ""
    with tempfile.TemporaryDirectory() as folder:
        try:
            read(Path(folder))
        except CalprobeError as error:
            refusal = str(error)
        assert not refusal or not (Path(folder) / "run").exists()
        assert not refusal or folder in refusal
    assert refusal.count("\n") <= 1
