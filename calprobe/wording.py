"""Counts as people write them, for every message and report."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """The count and its noun, which takes an s for any count but one.

    >>> counted(1, "relation"), counted(7731, "instance")
    ('1 relation', '7,731 instances')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
