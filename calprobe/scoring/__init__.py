"""Runs a plan on a model: batches, progress, pieces into the run folder."""

from __future__ import annotations

from calprobe.runs.folder import default_out
from calprobe.scoring.interrupts import Interrupted
from calprobe.scoring.options import ScoreOptions
from calprobe.scoring.processes import Stopped
from calprobe.scoring.score import score

__all__ = ["Interrupted", "ScoreOptions", "Stopped", "default_out", "score"]
