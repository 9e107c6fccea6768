"""Slurm by its commands: which jobs are still there, why one ended, and how arrays get in and out."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any, Protocol

from calprobe.errors import CalprobeError
from calprobe.sweep.on_slurm.task import Task

COMMANDS = ("sbatch", "srun", "squeue", "scancel", "scontrol")
MOST_STARTS = 20  # by time limits, each of which leaves the run further
_SECONDS_TO_ANSWER = 60
_NAMED_AT_ONCE = 500  # jobs on one command line
_LARGEST_ARRAY = 1000  # where Slurm does not say it; its own default is MaxArraySize=1001
# A job in any other state, as REQUEUED or COMPLETING, is there, even where squeue leaves it out for a moment.
_ENDED = {
    *("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED"),
    *("REVOKED", "TIMEOUT"),
}


@dataclass(frozen=True, slots=True)
class Listed:
    """A job that Slurm has not ended."""

    name: str  # of its array
    state: str  # PENDING, RUNNING, ..
    why: str  # it waits, in a word of Slurm's: Priority, Resources, PartitionTimeLimit, ..


@dataclass(frozen=True, slots=True)
class End:
    """How a job ended, as far as Slurm knows."""

    state: str = ""  # COMPLETED, FAILED, OUT_OF_MEMORY, TIMEOUT, NODE_FAIL, ..; empty: Slurm has forgotten it
    node: str = ""


class Cluster(Protocol):
    """What the engine needs of Slurm."""

    @property
    def largest_array(self) -> int:
        """Most jobs in an array."""
        ...

    def submit(self, tasks: Sequence[Task], folder: Path, name: str, given: Mapping[str, Any], parallel: int) -> str:
        """Submit an array, of one job too; its number. Raises CalprobeError with what Slurm says.

        Args:
            tasks: what its jobs run.
            folder: for submitit's own files; seen by all nodes.
            name: of all its jobs.
            given: options of sbatch, by name.
            parallel: how many run at once, at most.
        """
        ...

    def listed(self) -> dict[str, Listed]:
        """This user's jobs that have not ended, by number or NUMBER_INDEX. Raises CalprobeError without an answer."""
        ...

    def end_of(self, job: str) -> End | None:
        """How a job ended; None where the controller says that it has not."""
        ...

    def knows(self, cluster: str, number: str) -> bool:
        """Whether a job by its plain number, anybody's, has not ended; true where that cannot be known."""
        ...

    def cancel(self, jobs: Sequence[str]) -> None:
        """End jobs: processes get SIGTERM, and are killed after a while (`KillWait`)."""
        ...


@dataclass(frozen=True, slots=True)
class Slurm:
    """The cluster that this machine's commands reach."""

    name: str
    largest_array: int
    minutes: int  # time limit of a job
    python: str

    @classmethod
    def found(cls, minutes: int, python: str) -> Slurm:
        """Raises CalprobeError where no commands of Slurm are, or its controller does not answer."""
        missing = next((command for command in COMMANDS if shutil.which(command) is None), None)
        if missing is not None:
            raise CalprobeError(f"--on slurm: no {missing} here; call it on a machine that submits to Slurm")
        text = _asked("scontrol", "show", "config")
        config = dict(re.findall(r"^(\w+)\s*= (.*?)\s*$", text, re.MULTILINE))
        largest = config.get("MaxArraySize", "")
        # Indices stay below MaxArraySize.
        return cls(
            config.get("ClusterName", ""), int(largest) if largest.isdecimal() else _LARGEST_ARRAY, minutes, python
        )

    def submit(self, tasks: Sequence[Task], folder: Path, name: str, given: Mapping[str, Any], parallel: int) -> str:
        """See `Cluster`."""
        import submitit

        with _outside_of_a_job(), redirect_stderr(StringIO()):  # submitit prints the error that it raises
            executor = submitit.SlurmExecutor(folder, max_num_timeout=MOST_STARTS, python=self.python)
            executor.update_parameters(
                job_name=name,
                time=self.minutes,
                signal_delay_s=max(10, min(120, 6 * self.minutes)),
                array_parallelism=parallel,
                wckey=None,  # submitit's own, which clusters with wckeys refuse
                # From Slurm 22.05 on, srun does not take this from sbatch.
                srun_args=[f"--cpus-per-task={given['cpus-per-task']}"],
                additional_parameters={"requeue": True, **given},
            )
            try:
                jobs = executor.submit_array(list(tasks))
            except submitit.core.utils.FailedJobError as error:
                lines = str(error).strip().splitlines() or ["sbatch failed"]
                terms = ", ".join(f"{option}={value}" for option, value in given.items())
                why = (
                    lines[-1]
                    .removeprefix("sbatch: ")
                    .removeprefix("error: ")
                    .removeprefix("Batch job submission failed: ")
                )
                raise CalprobeError(f"Slurm refuses the jobs: {why}; they ask for {terms}") from error
        return str(jobs[0].job_id).split("_")[0]

    def listed(self) -> dict[str, Listed]:
        """See `Cluster`."""
        text = _asked("squeue", "--noheader", "--array", f"--user={os.getuid()}", "--format=%i|%j|%T|%r")
        rows = [line.split("|") for line in text.splitlines() if line.count("|") == 3]
        return {job: Listed(name, state, why) for job, name, state, why in rows}

    def end_of(self, job: str) -> End | None:
        """See `Cluster`. The controller forgets a job after minutes (`MinJobAge`); accounting, where it is, never."""
        try:
            fields = dict(re.findall(r"(\w+)=(\S*)", _asked("scontrol", "--oneliner", "show", "job", job)))
            end = End(fields.get("JobState", ""), fields.get("NodeList", "").replace("(null)", ""))
            return end if not end.state or end.state in _ENDED else None
        except CalprobeError:
            pass
        try:
            text = _asked("sacct", "--noheader", "--parsable2", "-X", f"--jobs={job}", "--format=State,NodeList")
        except CalprobeError:
            return End()
        state, _, node = (text.splitlines() or ["|"])[-1].partition("|")
        return End(state.split(" ")[0], "" if node == "None assigned" else node)  # CANCELLED by 1000

    def knows(self, cluster: str, number: str) -> bool:
        """See `Cluster`."""
        if cluster != self.name or not number.isdecimal():
            return True
        try:
            return bool(_asked("squeue", "--noheader", f"--jobs={number}", "--format=%T").strip())
        except CalprobeError as error:
            return "Invalid job id" not in str(error)

    def cancel(self, jobs: Sequence[str]) -> None:
        """See `Cluster`."""
        for start in range(0, len(jobs), _NAMED_AT_ONCE):
            _asked("scancel", "--quiet", *jobs[start : start + _NAMED_AT_ONCE])


def _asked(*command: str) -> str:
    """What a command of Slurm answers; raises CalprobeError with its error."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS_TO_ANSWER, check=True)
    except subprocess.CalledProcessError as error:
        lines = (error.stderr or error.stdout).strip().splitlines() or [f"exit code {error.returncode}"]
        raise CalprobeError(f"{command[0]}: {lines[-1].removeprefix(f'{command[0]}: ')}") from error
    except subprocess.TimeoutExpired as error:
        raise CalprobeError(f"{command[0]}: no answer within {_SECONDS_TO_ANSWER} s") from error
    except OSError as error:
        raise CalprobeError(f"{command[0]}: {error.strerror}") from error
    return done.stdout


@contextmanager
def _outside_of_a_job() -> Iterator[None]:
    """In the block, no variables of a job that this process runs in: sbatch hands them on, and srun would obey them."""
    inside = "SLURM_JOB_ID" in os.environ
    variables = {
        name: value for name, value in os.environ.items() if inside and re.match("SLURM_(?!CONF$|CLUSTERS$)", name)
    }
    for name in variables:
        del os.environ[name]
    try:
        yield
    finally:
        os.environ.update(variables)
