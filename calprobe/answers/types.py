"""What a reader finds in a reply."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reading:
    """A value that was read off a reply, or the reason why there is none."""

    value: str | float | None  # a label, a number, a short text, a confidence in [0, 1]; None: nothing was read
    status: str  # ok, or why there is no value: none, several, cut, off_scale, ..
    rule: str  # name of the rule that fired; empty: none
    start: int = -1  # span of the value in the reply's text, in characters; -1: none
    end: int = -1
