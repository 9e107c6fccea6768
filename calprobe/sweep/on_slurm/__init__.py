"""A sweep on a Slurm cluster. `submitit`, which `pip install 'calprobe[slurm]'` brings, is imported to submit."""

from __future__ import annotations

from calprobe.sweep.on_slurm.cluster import Slurm
from calprobe.sweep.on_slurm.slurm_engine import OnSlurm

__all__ = ["OnSlurm", "Slurm"]
