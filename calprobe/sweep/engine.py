"""What runs a sweep's jobs, and what all engines do alike: how a job is called, and what became of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from calprobe.messages import shown
from calprobe.sweep.definition import Job
from calprobe.sweep.job_record import Attempt, log_path
from calprobe.sweep.order import Planned

# What makes `calprobe` of this installation, before a job's own arguments.
CALPROBE = (sys.executable, "-P", "-m", "calprobe")

_LAST_BYTES, _LAST_LINES = 4000, 4  # of a failed job's words that are kept

Started = Callable[[Job], None]
Ended = Callable[[Job, Attempt], None]


@dataclass(frozen=True, slots=True)
class Misfit:
    """A job that could never run where the engine runs jobs."""

    job: Job
    why: str  # goes on after the job's name: `needs about 152.0 GiB of memory, and ..`
    remedy: str  # a sentence


class Engine(Protocol):
    """Runs jobs, each as a process of its own somewhere."""

    @property
    def at_once(self) -> int:
        """How many jobs run at once, at most."""
        ...

    @property
    def total_bytes(self) -> float:
        """Memory that all jobs together may take; infinite where the engine sees to it itself."""
        ...

    def misfits(self, jobs: Sequence[Planned]) -> list[Misfit]:
        """The jobs that could never run here, as far as that is known before they are tried."""
        ...

    def run(self, jobs: Sequence[Planned], out: Path, started: Started, ended: Ended) -> None:
        """Run jobs, the longest first. A job that fails stops no other.

        Args:
            jobs: what is to be done.
            out: the sweep's folder; what a job's process says goes to its `log_path`.
            started: called before a job's process starts.
            ended: called with what became of it, in the order of ending.
        Raises:
            Interrupted: Ctrl-C, SIGTERM or SIGHUP, after all processes have ended.
        """
        ...


def attempt_at(job: Job, out: Path, exit_code: int, seconds: float) -> Attempt:
    """What became of a job whose process has just ended; of one that failed, with its last words."""
    _keep_home_out(log_path(out, job))
    return Attempt(
        arguments=job.arguments,
        exit_code=exit_code,
        seconds=round(seconds, 3),
        ended=datetime.now(UTC).isoformat(timespec="seconds"),
        said=_last_words(log_path(out, job)) if exit_code else "",
    )


def not_begun(job: Job, why: str) -> Attempt:
    """What became of a job whose process could not be started."""
    return Attempt(job.arguments, 1, 0.0, datetime.now(UTC).isoformat(timespec="seconds"), why)


def _keep_home_out(log: Path) -> None:
    """Write ~ for the home folder into a log that nothing writes to any more: folders of sweeps are shared."""
    with suppress(OSError):
        text = log.read_bytes().decode("utf-8", errors="surrogateescape")
        if (masked := shown(text)) != text:
            log.write_bytes(masked.encode("utf-8", errors="surrogateescape"))


def _last_words(path: Path) -> str:
    """The error at the end of a log, else its last lines, without what stands before them in a progress bar's line."""
    try:
        content = path.read_bytes()[-_LAST_BYTES:].decode("utf-8", errors="replace")
    except OSError:  # nothing was written, or something else is in its place
        return ""
    lines = [line.rsplit("\r", 1)[-1].strip() for line in content.splitlines()]
    words = [line for line in lines if line][-_LAST_LINES:]
    error = next((index for index, line in enumerate(words) if line.startswith("calprobe: ")), -2)
    return "\n".join(words[error:])
