"""What Slurm says of a job, and which start of it may take a folder over from which."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from calprobe.runs.lock import OWNER_NAME, Owner, SlurmJob, forget_ended_job, tasks_of_step

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


@pytest.mark.parametrize(("is_there", "stays"), [(True, True), (False, False)])
def test_the_record_of_a_job_that_slurm_has_ended_is_removed(tmp_path: Path, is_there: bool, stays: bool) -> None:
    """It was killed on another machine, which nobody else can know."""
    asked = []

    def knows(cluster: str, number: str) -> bool:
        asked.append((cluster, number))
        return is_there

    owner = replace(Owner.here(), host="node7", job=JOB)
    (tmp_path / OWNER_NAME).write_text(json.dumps(asdict(owner)))
    forget_ended_job(tmp_path, knows)
    assert asked == [("tall", "4711")]
    assert (tmp_path / OWNER_NAME).exists() is stays
    # Nothing is asked of an owner that was no job, or that runs here.
    for other in (replace(owner, job=None), replace(Owner.here(), job=JOB)):
        (tmp_path / OWNER_NAME).write_text(json.dumps(asdict(other)))
        forget_ended_job(tmp_path, knows)
    assert len(asked) == 1
    assert (tmp_path / OWNER_NAME).exists()
