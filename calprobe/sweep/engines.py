"""What `on` of a sweep says: where its jobs run and what they may take there, and the engine that this makes."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from calprobe.errors import CalprobeError, UsageError
from calprobe.messages import no_such
from calprobe.sweep.engine import Engine
from calprobe.sweep.gpus import gpus_of
from calprobe.sweep.local import Local
from calprobe.sweep.order import Planned

_MOST_AT_ONCE = 1024  # without a number of jobs; Slurm's own limits are usually lower
_MOST_MINUTES = 525_600  # a year
_TIME = re.compile(r"(?:(?P<d>\d+)-)?(?P<a>\d+)(?::(?P<b>\d+))?(?::(?P<c>\d+))?")
_MEMORY = re.compile(r"[1-9][0-9]*[KMGT]?", re.IGNORECASE)
# What the sweep says to sbatch itself, or by a field of its own.
_TAKEN = {
    *("array", "chdir", "cpus-per-task", "dependency", "error", "job-name", "nodes", "ntasks", "ntasks-per-node"),
    *("open-mode", "output", "parsable", "quiet", "requeue", "no-requeue", "signal", "tasks-per-node", "test-only"),
    *("wait", "wrap"),
    *("account", "gpus-per-node", "mem", "partition", "time"),
}


@dataclass(frozen=True, slots=True)
class OnThisMachine:
    """Processes of this machine, one on each visible GPU or one after the other on a CPU.

    Args:
        jobs: at once, as far as memory goes; None: one for each visible GPU, on a CPU one.
    """

    jobs: int | None = None

    def __post_init__(self) -> None:
        _refuse_too_small(jobs=(self.jobs, 1))

    def engine(self) -> Engine:
        """What runs the jobs there; raises CalprobeError where a package is missing or nothing answers."""
        import torch

        from calprobe.models.memory import free_bytes

        variable, cards = _visible_cards()
        if cards:
            properties = torch.cuda.get_device_properties
            card_bytes = min(int(properties(number).total_memory) for number in range(len(cards)))
            return Local(
                tuple({variable: card} for card in cards),
                jobs=self.jobs,
                places_of=lambda planned: _cards_of(planned, len(cards), card_bytes),
            )
        count = self.jobs or 1
        # In a job of a cluster, not all of the machine's.
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        threads = str(max(1, cores // count))
        place = {} if count == 1 or "OMP_NUM_THREADS" in os.environ else {"OMP_NUM_THREADS": threads}
        return Local((place,) * count, float(free_bytes(torch.device("cpu"))))


@dataclass(frozen=True, slots=True)
class OnRayCluster:
    """Tasks of a Ray cluster.

    Args:
        jobs: at once; None: as many as there is room for.
        address: `auto`, HOST:PORT or ray://HOST:PORT; None: RAY_ADDRESS, and without it a cluster on this machine.
        cpus: cores of a job; None: those of the smallest node, or of its GPUs' share, at most 8.
    """

    jobs: int | None = None
    address: str | None = None
    cpus: int | None = None

    def __post_init__(self) -> None:
        _refuse_too_small(jobs=(self.jobs, 1), cpus=(self.cpus, 1))

    def engine(self) -> Engine:
        """What runs the jobs there; raises CalprobeError where a package is missing or nothing answers."""
        from calprobe.sweep.on_ray import connected

        return connected(self.address, jobs=self.jobs, cpus=self.cpus)


@dataclass(frozen=True, slots=True)
class OnSlurmCluster:
    """Jobs of a Slurm cluster.

    Args:
        jobs: at once; None: as many as Slurm lets.
        partition: of the jobs; None: the cluster's own.
        account: that pays; None: yours.
        time: limit of a job, which then starts again and goes on, as sbatch takes it: 90 (minutes), 4:00:00, 2-12.
        gpus: of a job that spreads its model over them; any other has one.
        cpus: cores of a job.
        mem: memory of a job, as 64G; None: by the size of its model.
        options: any other options of sbatch, by name: {"qos": "long", "exclusive": True}.
    Raises:
        UsageError: a value that sbatch would not take, or that would put more into its script than an option.
    """

    jobs: int | None = None
    partition: str | None = None
    account: str | None = None
    time: str = "4:00:00"
    gpus: int = 0
    cpus: int = 4
    mem: str | None = None
    options: Mapping[str, str | bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _refuse_too_small(jobs=(self.jobs, 1), gpus=(self.gpus, 0), cpus=(self.cpus, 1))
        minutes_of(self.time)
        for name in self.options:
            if not re.fullmatch(r"[a-z][a-z0-9-]*", name):
                raise UsageError(f"on slurm: {name!r} is no option of sbatch such as qos=long")
            if name in ("cluster", "clusters"):
                raise UsageError(
                    f"on slurm: {name}: name the cluster in SLURM_CLUSTERS, which all of Slurm's commands read"
                )
            if name in _TAKEN:
                raise UsageError(f"on slurm: {name} is set by the sweep, or has an option of its own")
        for text in (self.partition, self.account, *self.options.values()):
            if isinstance(text, str) and not text.isprintable():
                raise UsageError(f"on slurm: {text!r} cannot stand in a line of sbatch")
        if self.mem is not None and not _MEMORY.fullmatch(self.mem):
            raise UsageError(f"on slurm: {self.mem!r} is no memory such as 64G")

    def engine(self) -> Engine:
        """What runs the jobs there; raises CalprobeError where a package is missing or nothing answers."""
        from calprobe.sweep.on_slurm import OnSlurm, Slurm

        if importlib.util.find_spec("submitit") is None:
            raise CalprobeError("--on slurm needs the package submitit: pip install 'calprobe[slurm]'")
        settings = {"partition": self.partition, "account": self.account, "mem": self.mem}
        return OnSlurm(
            Slurm.found(minutes_of(self.time), f"{shlex.quote(sys.executable)} -P"),
            at_once=self.jobs or _MOST_AT_ONCE,
            is_limited=self.jobs is not None,
            gpus=self.gpus,
            cpus=self.cpus,
            options={name: text for name, text in settings.items() if text}
            | {name: text for name, text in self.options.items() if text is not False},
        )


Place = OnThisMachine | OnRayCluster | OnSlurmCluster
PLACES: Mapping[str, type[Place]] = {"local": OnThisMachine, "ray": OnRayCluster, "slurm": OnSlurmCluster}


def place_of(on: str | Place) -> Place:
    """The place itself, or that of a name, a key of `PLACES`, with its defaults; raises UsageError for another name."""
    if not isinstance(on, str):
        return on
    if on not in PLACES:
        raise UsageError(f"on: {no_such(on, PLACES)}")
    return PLACES[on]()


def minutes_of(time: str) -> int:
    """Minutes, rounded up, of a time as sbatch takes it; raises UsageError for what is none, and above a year.

    >>> [minutes_of(time) for time in ("90", "90:01", "4:00:00", "2-12", "1-0:30")]
    [90, 91, 240, 3600, 1470]
    """
    match = _TIME.fullmatch(time)
    if match is None:
        raise UsageError(f"on slurm: {time!r} is no time such as 90 (minutes), 4:00:00 or 2-12 (days-hours)")
    days, numbers = int(match["d"] or 0), [int(match[name]) for name in "abc" if match[name] is not None]
    # Behind days stand hours; without days, one number is minutes and two are minutes and seconds.
    hours, minutes, seconds = (
        [*numbers, 0, 0] if match["d"] else [[0, *numbers, 0], [0, *numbers], numbers][len(numbers) - 1]
    )[:3]
    total = -(-(86400 * days + 3600 * hours + 60 * minutes + seconds) // 60)
    if not 0 < total <= _MOST_MINUTES:
        raise UsageError(f"on slurm: {time!r} is not between a minute and a year")
    return total


def _refuse_too_small(**counts: tuple[int | None, int]) -> None:
    """Raise UsageError for a count, by its name, that is below the least that it may be."""
    for name, (count, least) in counts.items():
        if count is not None and count < least:
            raise UsageError(f"{name} of a sweep must be {least} or more; got {count}")


def _cards_of(planned: Planned, count: int, card_bytes: int) -> int:
    """GPUs of a job, all of them at most where its device map uses what there is."""
    needed = gpus_of(planned, count, card_bytes)
    return min(needed, count) if "device-map" in planned.job.options else needed


def _visible_cards() -> tuple[str, list[str]]:
    """The variable that says which cards a process sees, and the names that it has for those of this process."""
    import torch

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    of_amd = torch.version.hip and "HIP_VISIBLE_DEVICES" in os.environ  # counts before the other
    variable = "HIP_VISIBLE_DEVICES" if of_amd else "CUDA_VISIBLE_DEVICES"
    names = [name for name in os.environ.get(variable, "").split(",") if name]
    return variable, names[:count] if names else [str(number) for number in range(count)]
