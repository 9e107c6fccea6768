"""Many runs by one file: models times probes, models times question sets times studies, each an ordinary run folder."""

from __future__ import annotations

from calprobe.sweep.definition import Job, Sweep, read_sweep
from calprobe.sweep.local import LocalOptions, run_locally
from calprobe.sweep.order import Planned, expected, longest_first
from calprobe.sweep.progress import SweepProgress
from calprobe.sweep.record import Attempt, Record, read_record, write_record

__all__ = [
    "Attempt",
    "Job",
    "LocalOptions",
    "Planned",
    "Record",
    "Sweep",
    "SweepProgress",
    "expected",
    "longest_first",
    "read_record",
    "read_sweep",
    "run_locally",
    "write_record",
]
