"""Where calprobe keeps what it fetched and what it made, for all runs of this user."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile

import platformdirs

from calprobe.errors import CalprobeError
from calprobe.messages import reason

# As the system, safetensors and SQLite say it.
_FULL = (os.strerror(errno.ENOSPC), os.strerror(errno.EDQUOT), "disk is full")


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


@contextmanager
def filling_cache(n_bytes: int = 0) -> Iterator[None]:
    """Turn any error within into a CalprobeError that names CALPROBE_CACHE, if the cache is full or cannot be written.

    `n_bytes` is what is being written there; 0: little.
    """
    try:
        yield
    except CalprobeError:
        raise
    except Exception as error:
        root = cache_root()
        if any(words in str(error) for words in _FULL):
            size = f" {n_bytes / 1e9:.1f} GB" if n_bytes >= 1e8 else ""
            fix = f"free{size or ' space'} there, or set CALPROBE_CACHE to a folder on another disk"
            raise CalprobeError(f"{root}: no space left for calprobe's cache\n{fix}") from error
        if why := write_fault(root):
            fix = "set CALPROBE_CACHE to a folder that can be written to"
            raise CalprobeError(f"{root}: calprobe's cache cannot be written: {why}\n{fix}") from error
        raise


def _chosen(variable: str) -> Path:
    chosen = os.environ.get(variable)
    return Path(chosen).expanduser() if chosen else platformdirs.user_cache_path("calprobe", appauthor=False)
