"""Trackers of experiments: runs with their configuration and figures, through the trackers' own libraries."""

from __future__ import annotations

from calprobe.trackers.registry import NAMES, open_trackers
from calprobe.trackers.tracker import Place, TrackedRun, Tracker, Trackers

__all__ = ["NAMES", "Place", "TrackedRun", "Tracker", "Trackers", "open_trackers"]
