"""Counts, causes and texts as people see them, for every message and report."""

from __future__ import annotations

import os
import re
from pathlib import Path

_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+(?=@)")  # https://USER:TOKEN@HOST
_TOKEN = re.compile(r"\bhf_\w{8,}")
_BEARER = re.compile(r"((?i:bearer)\s+)(?!hf_)\S+")


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


def without_secrets(text: str) -> str:
    """The text with `***` for what stands before the @ of an address, and for tokens of the hub.

    >>> without_secrets("https://me:hunter2@example.org/x")
    'https://***@example.org/x'
    """
    return _BEARER.sub(r"\1***", _TOKEN.sub("hf_***", _CREDENTIALS.sub("***", text)))


def shown(text: str) -> str:
    """The text as it may be pasted into a public report: without secrets, the home folder as `~`."""
    home = str(Path.home())
    # A home of `/` or `/root` alone is no name of a person, but `/` would match every path.
    within = re.escape(home) + r"(?=/|\\|$|[\s:;,'\")\]])"
    return without_secrets(text if home == "/" else re.sub(within, "~", text))
