"""Slurm by its commands: which jobs are still there, why one ended, and how arrays get in and out."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Collection, Iterator, Mapping, Sequence
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
_REFUSED_LINES = 3  # of an sbatch that fails
_OF_SBATCH = re.compile(r"^sbatch: (error: )?(Batch job submission failed: )?")
_FORGOTTEN = "Invalid job id"  # what the controller says of a job that it does not know (any more)
_OF_CLUSTERS = "CLUSTER: "  # a line of squeue's in front of jobs, with SLURM_CLUSTERS
# Variables that change what the commands look at, or make them ask: set for people, and not for what is read here.
_OF_LOOKS = re.compile("(SQUEUE|SCANCEL|SACCT)_")
# Variables that sbatch takes before what its script says, of what the sweep says there; those of options come to these.
# Beside a number of cores it takes none of cores of a GPU.
_SAID_BY_THE_SWEEP = {
    *("SBATCH_ARRAY_INX", "SBATCH_CPUS_PER_GPU", "SBATCH_ERROR", "SBATCH_JOB_NAME", "SBATCH_NO_REQUEUE"),
    *("SBATCH_OPEN_MODE", "SBATCH_OUTPUT", "SBATCH_REQUEUE", "SBATCH_SIGNAL", "SBATCH_TIMELIMIT", "SBATCH_WAIT"),
}
MEMORY = {"mem", "mem-per-cpu", "mem-per-gpu"}  # options of sbatch of which it takes one
_OF_MEMORY = {"SBATCH_MEM_PER_CPU", "SBATCH_MEM_PER_GPU", "SBATCH_MEM_PER_NODE"}


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
    def name(self) -> str:
        """As Slurm calls it."""
        ...

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

    def end_of(self, job: str, name: str) -> End | None:
        """How the job of that number and name ended; None where the controller says that it has not."""
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
        name = config.get("ClusterName", "")
        if os.environ.get("SBATCH_CLUSTERS", name) not in ("", name):
            raise CalprobeError(
                "--on slurm: SBATCH_CLUSTERS sends jobs to where only sbatch looks\n"
                "Name the cluster in SLURM_CLUSTERS, which all of Slurm's commands read"
            )
        return cls(name, _largest_array(config), minutes, python)

    def submit(self, tasks: Sequence[Task], folder: Path, name: str, given: Mapping[str, Any], parallel: int) -> str:
        """See `Cluster`."""
        import submitit

        with _without(_in_the_way(given)), redirect_stderr(StringIO()):  # submitit prints the error that it raises
            executor = submitit.SlurmExecutor(folder, max_num_timeout=MOST_STARTS, python=self.python)
            executor.update_parameters(
                job_name=name,
                time=self.minutes,
                signal_delay_s=max(10, min(120, 6 * self.minutes)),
                array_parallelism=parallel,
                wckey=None,  # submitit's own, which clusters with wckeys refuse
                # From Slurm 22.05 on, srun does not take the cores from sbatch. Where sbatch exports nothing, neither
                # does srun, and submitit misses what its script exports.
                srun_args=[f"--cpus-per-task={given['cpus-per-task']}", "--export=ALL"],
                additional_parameters={"requeue": True, **given},
            )
            try:
                jobs = executor.submit_array(list(tasks))
            except submitit.core.utils.FailedSubmissionError as error:  # the number of the job is not to be seen
                raise CalprobeError(" ".join(str(error).splitlines()[:1])) from error
            except submitit.core.utils.FailedJobError as error:
                terms = ", ".join(f"{option}={value}" for option, value in given.items())
                raise CalprobeError(f"Slurm refuses the jobs: {_why_refused(error)}; they ask for {terms}") from error
        return str(jobs[0].job_id).split("_")[0]

    def listed(self) -> dict[str, Listed]:
        """See `Cluster`."""
        text = _asked("squeue", "--noheader", "--array", f"--user={os.getuid()}", "--format=%i|%j|%T|%r")
        rows = [line.split("|") for line in text.splitlines() if line.count("|") == 3]
        return {job: Listed(name, state, why) for job, name, state, why in rows}

    def end_of(self, job: str, name: str) -> End | None:
        """See `Cluster`. The controller forgets a job after minutes (`MinJobAge`); accounting, where it is, never."""
        try:
            fields = dict(re.findall(r"(\w+)=(\S*)", _asked("scontrol", "--oneliner", "show", "job", job)))
            if fields.get("JobName", name) != name:  # numbers begin again one day
                return End()
            end = End(fields.get("JobState", ""), fields.get("NodeList", "").replace("(null)", ""))
            return end if not end.state or end.state in _ENDED else None
        except CalprobeError as error:
            is_forgotten = _FORGOTTEN in str(error)  # else the controller is busy, and may have it
        where = [f"--clusters={self.name}"] if self.name else []  # sacct alone does not read SLURM_CLUSTERS
        try:
            text = _asked(
                *("sacct", "--noheader", "--parsable2", "-X", *where),
                *(f"--jobs={job}", f"--name={name}", "--format=State,NodeList"),
            )
        except CalprobeError:
            text = ""
        state, _, node = (text.splitlines() or ["|"])[-1].partition("|")
        end = End(state.partition(" ")[0], "" if node == "None assigned" else node)  # CANCELLED by 1000
        return end if is_forgotten or end.state in _ENDED else None

    def knows(self, cluster: str, number: str) -> bool:
        """See `Cluster`."""
        if cluster != self.name or not number.isdecimal():
            return True
        try:
            lines = _asked("squeue", "--noheader", f"--jobs={number}", "--format=%T").split("\n")
            return any(line and not line.startswith(_OF_CLUSTERS) for line in lines)
        except CalprobeError as error:
            return _FORGOTTEN not in str(error)

    def cancel(self, jobs: Sequence[str]) -> None:
        """See `Cluster`."""
        for start in range(0, len(jobs), _NAMED_AT_ONCE):
            _asked("scancel", "--quiet", *jobs[start : start + _NAMED_AT_ONCE])


def _asked(*command: str) -> str:
    """What a command of Slurm answers; raises CalprobeError with its error."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",  # names of other jobs may be anything
            env={name: value for name, value in os.environ.items() if not _OF_LOOKS.match(name)},
            timeout=_SECONDS_TO_ANSWER,
            check=True,
        )
    except subprocess.CalledProcessError as error:
        lines = (error.stderr or error.stdout).strip().splitlines() or [f"exit code {error.returncode}"]
        raise CalprobeError(f"{command[0]}: {lines[-1].removeprefix(f'{command[0]}: ')}") from error
    except subprocess.TimeoutExpired as error:
        raise CalprobeError(f"{command[0]}: no answer within {_SECONDS_TO_ANSWER} s") from error
    except OSError as error:
        raise CalprobeError(f"{command[0]}: {error.strerror}") from error
    return done.stdout


def _why_refused(error: Exception) -> str:
    """The last lines of sbatch: a site's own check says what to do before Slurm says `Unspecified error`."""
    lines = [_OF_SBATCH.sub("", line) for line in str(error).splitlines() if line.strip()]
    return "; ".join(dict.fromkeys(lines[-_REFUSED_LINES:])) or "sbatch failed"


def _largest_array(config: Mapping[str, str]) -> int:
    """Jobs in an array, by Slurm's configuration: indices stay below MaxArraySize, where 0 is for no arrays."""
    most = re.search(r"\bmax_array_tasks=(\d+)", config.get("SchedulerParameters", ""))
    limits = [config.get("MaxArraySize", ""), most[1] if most else ""]
    return max(1, min((int(limit) for limit in limits if limit.isdecimal()), default=_LARGEST_ARRAY))


def _in_the_way(given: Mapping[str, Any]) -> set[str]:
    """Variables that sbatch, or srun in its script, would take before what it is told here.

    These are of the options given, and of a job that this process runs in: sbatch hands them on, and srun obeys them.
    """
    own = {f"SBATCH_{name.upper().replace('-', '_')}" for name in given} | _SAID_BY_THE_SWEEP
    of_memory = set() if MEMORY.isdisjoint(given) else _OF_MEMORY
    is_inside = "SLURM_JOB_ID" in os.environ
    of_job = {name for name in os.environ if is_inside and re.match("SLURM_(?!CONF$|CLUSTERS$)", name)}
    return own | of_memory | of_job


@contextmanager
def _without(names: Collection[str]) -> Iterator[None]:
    """In the block, the environment lacks these variables."""
    variables = {name: os.environ.pop(name) for name in names if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(variables)
