"""What Slurm says of a job, and which start of it may take a folder over from which."""

from __future__ import annotations

from dataclasses import replace

import pytest

from calprobe.runs.lock import SlurmJob, tasks_of_step

JOB = SlurmJob("tall", "4711", 1)


@pytest.mark.parametrize(
    ("environment", "job", "tasks"),
    [
        ({}, None, 0),
        ({"SLURM_JOB_ID": "4711"}, SlurmJob("", "4711", 0), 0),
        (
            {"SLURM_JOB_ID": "4711", "SLURM_CLUSTER_NAME": "tall", "SLURM_RESTART_COUNT": "1", "SLURM_NTASKS": "8"},
            JOB,
            0,  # a batch script that has asked for eight, and is one process itself
        ),
        ({"SLURM_JOB_ID": "4711", "SLURM_STEP_NUM_TASKS": "2"}, SlurmJob("", "4711", 0), 2),
        ({"SLURM_JOB_ID": "4711", "SLURM_STEP_NUM_TASKS": "2", "RANK": "0"}, SlurmJob("", "4711", 0), 0),  # torchrun
    ],
)
def test_what_slurm_says(
    environment: dict[str, str], job: SlurmJob | None, tasks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("JOB_ID", "CLUSTER_NAME", "RESTART_COUNT", "NTASKS", "STEP_NUM_TASKS"):
        monkeypatch.delenv(f"SLURM_{name}", raising=False)
    monkeypatch.delenv("RANK", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert (SlurmJob.of_this_process(), tasks_of_step()) == (job, tasks)


@pytest.mark.parametrize(
    ("former", "follows"),
    [
        (replace(JOB, restarts=0), True),
        (JOB, False),  # another process of this very start may run
        (replace(JOB, restarts=2), False),
        (replace(JOB, restarts=0, number="4712"), False),
        (replace(JOB, restarts=0, cluster="small"), False),
        (None, False),
    ],
)
def test_only_a_later_start_of_the_job_follows(former: SlurmJob | None, follows: bool) -> None:
    assert JOB.follows(former) is follows
