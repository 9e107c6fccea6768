"""Where calprobe keeps what it fetched and what it made, for all runs of this user."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def cache_root() -> Path:
    """What can be made again (unpacked GGUF files, batch budgets): $CALPROBE_CACHE, else the user's cache."""
    return _chosen("CALPROBE_CACHE")


def data_root() -> Path:
    """What was fetched (probes, template sets): $CALPROBE_DATA, else calprobe's folder in the user's cache."""
    return _chosen("CALPROBE_DATA")


def _chosen(variable: str) -> Path:
    chosen = os.environ.get(variable)
    return Path(chosen).expanduser() if chosen else platformdirs.user_cache_path("calprobe", appauthor=False)
