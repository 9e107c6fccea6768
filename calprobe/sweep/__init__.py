"""Many runs by one file: models times probes, models times question sets times studies, each an ordinary run folder."""

from __future__ import annotations

from calprobe.sweep.definition import Job, Sweep, read_sweep
from calprobe.sweep.engine import Engine, Misfit
from calprobe.sweep.engines import PLACES, OnRayCluster, OnSlurmCluster, OnThisMachine, Place
from calprobe.sweep.job_record import Attempt, Record, add_attempt, read_record
from calprobe.sweep.local import Local
from calprobe.sweep.order import Planned, expected, longest_first
from calprobe.sweep.sweep_preview import SweepPlan
from calprobe.sweep.sweep_progress import SweepProgress
from calprobe.sweep.sweeping import SweepOptions, SweepResult

__all__ = [
    "PLACES",
    "Attempt",
    "Engine",
    "Job",
    "Local",
    "Misfit",
    "OnRayCluster",
    "OnSlurmCluster",
    "OnThisMachine",
    "Place",
    "Planned",
    "Record",
    "Sweep",
    "SweepOptions",
    "SweepPlan",
    "SweepProgress",
    "SweepResult",
    "add_attempt",
    "expected",
    "longest_first",
    "read_record",
    "read_sweep",
]
