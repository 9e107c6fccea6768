"""Many runs by one file: models times probes, models times question sets times studies, each an ordinary run folder."""

from __future__ import annotations

from calprobe.sweep.definition import Job, Sweep, read_sweep
from calprobe.sweep.engine import Engine, Misfit
from calprobe.sweep.local import Local
from calprobe.sweep.order import Planned, expected, longest_first
from calprobe.sweep.progress import SweepProgress
from calprobe.sweep.record import Attempt, Record, add_attempt, read_record

__all__ = [
    "Attempt",
    "Engine",
    "Job",
    "Local",
    "Misfit",
    "Planned",
    "Record",
    "Sweep",
    "SweepProgress",
    "add_attempt",
    "expected",
    "longest_first",
    "read_record",
    "read_sweep",
]
