"""Lines of a file of grades for the answers of a run: what each may say, checked, with file and line in every error."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from calprobe.errors import ProbeFormatError
from calprobe.messages import did_you_mean
from calprobe.probes.json_files import read_json_lines

_KEYS = {"set": str, "question": str, "variant": str, "paraphrase": int, "sample": int, "correct": bool, "by": str}
_NAMES = {str: "text", int: "a whole number", bool: "true or false"}


@dataclass(frozen=True, slots=True)
class GradeLine:
    """What a line says of one answer."""

    place: str  # FILE:LINE, for errors
    question: str
    correct: bool
    set: str | None = None  # None: the run's only one
    variant: str | None = None  # likewise
    paraphrase: int = 0
    sample: int = 0
    by: str = ""

    def fail(self, what: str) -> NoReturn:
        """Raise ProbeFormatError for the line."""
        raise ProbeFormatError(f"{self.place}: {what}")


def read_grade_lines(path: Path) -> Iterator[GradeLine]:
    """The lines of a JSON-lines file of grades.

    Raises ProbeFormatError for a file that cannot be read, a key that is unknown or missing, and a value of another
    type.
    """
    for number, content in read_json_lines(path, "write a line for each grade"):
        place = f"{path}:{number}"
        values = {key: value for key, value in content.items() if value is not None}
        for key, value in values.items():
            _check(place, key, value)
        for key in ("question", "correct"):
            if key not in values:
                raise ProbeFormatError(f"{place}: no {key}; every line names its question, and whether it is correct")
        yield GradeLine(place=place, **values)


def _check(place: str, key: str, value: Any) -> None:
    if key not in _KEYS:
        hint = did_you_mean(key, _KEYS) or f"; known are {', '.join(_KEYS)}"
        raise ProbeFormatError(f"{place}: unknown key {key!r}{hint}")
    kind = _KEYS[key]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ProbeFormatError(f"{place}: {key} is {value!r:.60}; give {_NAMES[kind]}")
