"""What a relation is called in the names of files: its own name where every file system takes that, else a safe one."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence

_PLAIN = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_. -]{0,98}[A-Za-z0-9_-])?")
_DEVICES = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)  # Windows's, whatever the suffix
_KEPT = 40  # characters of a name that are kept to be recognised


def file_name(relation: str) -> str:
    """The relation's name as a part of a file's name, different for different relations.

    Letters, digits, `_`, `-`, and `.` or blanks within, at most 100 characters, stay as they are (P30). In any other
    name (a path, a device of Windows, 300 characters, another script) what is not such a character becomes `_`, and
    `~` and 16 digits of its SHA-256 follow. Nothing that it gives leaves the folder, begins with a dot or is longer
    than a file system takes.

    >>> file_name("P30"), file_name("../../x")
    ('P30', '_x~9cdf6a50100a862e')
    """
    if _PLAIN.fullmatch(relation) and not _DEVICES.fullmatch(relation):
        return relation
    stem = re.sub(r"[^A-Za-z0-9_-]+", "_", relation)[:_KEPT]
    return f"{stem}~{hashlib.sha256(relation.encode()).hexdigest()[:16]}"


def same_on_some_disks(relations: Sequence[str]) -> tuple[str, str] | None:
    """The first two relations with names that differ only in case, which share a file on some disks; else None.

    >>> same_on_some_disks(["P30", "capital", "p30"])
    ('P30', 'p30')
    """
    counts = Counter(file_name(relation).lower() for relation in relations)
    alike = [relation for relation in relations if counts[file_name(relation).lower()] > 1]
    if not alike:
        return None
    first = alike[0]
    return first, next(second for second in alike[1:] if file_name(second).lower() == file_name(first).lower())
