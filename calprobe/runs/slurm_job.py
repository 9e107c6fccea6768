"""The job of Slurm that a process belongs to: the batch system knows what has ended on other machines."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SlurmJob:
    """One start of a job: a job that is put back into the queue keeps its number and counts its restarts."""

    cluster: str
    number: str
    restarts: int

    @classmethod
    def of_this_process(cls) -> SlurmJob | None:
        """As Slurm says it in the environment; None outside a job."""
        number = os.environ.get("SLURM_JOB_ID", "")
        if not number:
            return None
        return cls(os.environ.get("SLURM_CLUSTER_NAME", ""), number, _number("SLURM_RESTART_COUNT"))

    def follows(self, former: SlurmJob | None) -> bool:
        """Whether this is a later start of the same job: Slurm starts a job again when it has ended the former start.

        Of a machine that it cannot reach it only supposes so. What may still run there writes the same scores.
        """
        if former is None:
            return False
        return (self.cluster, self.number) == (former.cluster, former.number) and self.restarts > former.restarts


def tasks_of_step() -> int:
    """How many processes the srun has started that started this one; 0 without one, or with a launcher between."""
    return 0 if "RANK" in os.environ else _number("SLURM_STEP_NUM_TASKS")


def _number(name: str) -> int:
    text = os.environ.get(name, "")
    return int(text) if text.isascii() and text.isdigit() else 0
