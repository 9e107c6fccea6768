"""What was computed before and can be computed again: a JSON file in the user's cache, a value for each key."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

from calprobe.folders import cache_root
from calprobe.runs import atomic

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Remembered:
    """Values by key; `write` puts new ones on disk.

    A file that cannot be read or written counts as absent: what is lost is computed again. Another version of calprobe
    starts a file of its own. Of two processes that write at once, the values of one are lost.
    """

    name: str  # of the file
    known: dict[str, Any]
    new: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, name: str) -> Remembered:
        """What earlier processes of this user have kept in the file of that name."""
        path = cache_root() / name
        try:
            content = json.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            return cls(name, {})
        except (OSError, ValueError) as error:
            log.debug("%s: ignored: %s", path, error)
            return cls(name, {})
        usable = isinstance(content, dict) and content.get("calprobe") == metadata.version("calprobe")
        return cls(name, content["values"] if usable and isinstance(content.get("values"), dict) else {})

    def recall(self, key: str) -> Any:
        """The value; None where there is none."""
        return self.new.get(key, self.known.get(key))

    def keep(self, key: str, value: Any) -> None:
        """Remember a value that JSON can hold."""
        self.new[key] = value

    def write(self, is_of_use: Callable[[str], bool] = lambda key: True) -> None:
        """Store what is new, and forget earlier keys that are of no use any more."""
        if not self.new:
            return
        values = {key: value for key, value in self.known.items() if is_of_use(key)} | self.new
        text = json.dumps({"calprobe": metadata.version("calprobe"), "values": values}, separators=(",", ":"))
        path = cache_root() / self.name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            atomic.write_text(path, text + "\n")
        except OSError as error:
            log.debug("%s: not stored: %s", path, error)
