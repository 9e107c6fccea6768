"""Where calprobe keeps what it fetched and what it made, for all runs of this user."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryFile

import platformdirs

from calprobe.messages import reason


def cache_root() -> Path:
    """What can be made again (unpacked GGUF files, batch budgets): $CALPROBE_CACHE, else the user's cache."""
    return _chosen("CALPROBE_CACHE")


def data_root() -> Path:
    """What was fetched (probes, template sets): $CALPROBE_DATA, else calprobe's folder in the user's cache."""
    return _chosen("CALPROBE_DATA")


def write_fault(folder: Path) -> str:
    """Why no file can be made in the folder, or in the nearest one above it that exists; empty if one can.

    A nameless file is made there and forgotten: rights alone do not tell of disks that are full or only read.

    >>> write_fault(Path("/dev/null/runs"))
    'Not a directory'
    """
    try:
        while not folder.exists():
            folder = folder.parent
        with TemporaryFile(dir=folder):
            return ""
    except OSError as error:
        return reason(error)


def _chosen(variable: str) -> Path:
    chosen = os.environ.get(variable)
    return Path(chosen).expanduser() if chosen else platformdirs.user_cache_path("calprobe", appauthor=False)
