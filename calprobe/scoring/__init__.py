"""Runs a plan on a model: path, batches, progress; in memory by the engine, or piece by piece into a run folder."""

from __future__ import annotations

from calprobe.interrupts import Interrupted
from calprobe.runs.folder import default_out
from calprobe.scoring.engine import score_pieces
from calprobe.scoring.fit import Way, find_way
from calprobe.scoring.options import ScoreOptions
from calprobe.scoring.probe_selection import Selection, select
from calprobe.scoring.score import preview, score, score_in_memory
from calprobe.scoring.score_progress import ScoreProgress
from calprobe.scoring.workers import Stopped

__all__ = [
    "Interrupted",
    "ScoreOptions",
    "ScoreProgress",
    "Selection",
    "Stopped",
    "Way",
    "default_out",
    "find_way",
    "preview",
    "score",
    "score_in_memory",
    "score_pieces",
    "select",
]
