"""What jobs cost, in tokens that go through their models."""

from __future__ import annotations

from dataclasses import dataclass


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
