"""Files of JSON that one command writes and another reads: the object in one, or what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from calprobe.errors import DataMissingError, ProbeFormatError
from calprobe.messages import shown

Read = TypeVar("Read")


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """What a kind of files has in it, and how such a file is made."""

    what: str  # the value of `what` in each
    called: str  # as messages have it
    option: str  # that writes one
    example: str  # a command that does

    def text(self, fields: Mapping[str, Any]) -> str:
        """The text of a file."""
        return json.dumps({"what": self.what, **fields}, indent=2, allow_nan=False, ensure_ascii=False) + "\n"

    def read(self, named: str | Path, of_fields: Callable[[dict[str, Any]], Read]) -> Read:
        """What `of_fields` makes of the fields in the file beside `what`.

        Raises:
            DataMissingError: there is no such file.
            ProbeFormatError: it has something else in it; `of_fields` may say so by a ValueError or
                TypeError, a LookupError or AttributeError.
        """
        path = Path(named)
        if not path.is_file():
            raise DataMissingError(f"{shown(str(named))}: no such file; write one with `{self.example}`")
        try:
            fields = json.loads(path.read_text("utf-8"))
            if not isinstance(fields, dict) or fields.pop("what", None) != self.what:
                raise ValueError(f'no "what": "{self.what}"')
            return of_fields(fields)
        except (AttributeError, LookupError, OSError, TypeError, ValueError) as error:
            why = str(error) if type(error) is ValueError else f"{type(error).__name__}: {error}"
            raise ProbeFormatError(
                f"{shown(str(named))}: not a file of {self.called} ({why}); write one with {self.option}"
            ) from error
