"""What jobs cost, in tokens that go through their models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from calprobe.runs.decode import DecodeError, decode
from calprobe.runs.remembered import Remembered

REMEMBERED = "costs.json"  # in the user's cache


@dataclass(frozen=True, slots=True)
class Cost:
    """Tokens of one job."""

    forwarded: int  # of prefix trees, masked rows or prompts
    generated: int = 0  # of replies at their longest
    counted: bool = True  # by the model's tokenizer; False: guessed by the letters
    exact: bool = True  # False: counted on a sample, and scaled

    @property
    def tokens(self) -> int:
        """All that go through the model."""
        return self.forwarded + self.generated


def recalled(store: Remembered, key: str) -> Cost | None:
    """A cost that was counted before; None where it is not known."""
    found = store.recall(key)
    try:
        return decode(Cost, found) if isinstance(found, Mapping) else None
    except DecodeError:
        return None


def keep(store: Remembered, key: str, cost: Cost) -> None:
    """Remember a cost."""
    store.keep(key, asdict(cost))
