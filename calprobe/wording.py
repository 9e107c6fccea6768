"""Counts and causes as people write them, for every message and report."""

from __future__ import annotations

import os


def counted(count: int, noun: str) -> str:
    """The count and its noun, which takes an s for any count but one.

    >>> counted(1, "relation"), counted(7731, "instance")
    ('1 relation', '7,731 instances')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def reason(error: OSError) -> str:
    """What the operating system says is wrong, without what a library puts around it.

    >>> reason(OSError(28, "Error writing bytes to file. Detail: [errno 28] No space left on device"))
    'No space left on device'
    >>> reason(OSError("the stream is closed"))
    'the stream is closed'
    """
    return os.strerror(error.errno) if error.errno else str(error)
