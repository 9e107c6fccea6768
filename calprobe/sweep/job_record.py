"""What became of a sweep's jobs: `sweep.jsonl` in its folder, a line for each attempt; a job's last one counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from calprobe.errors import CalprobeError
from calprobe.messages import reason, shown
from calprobe.runs.decode import DecodeError, decode
from calprobe.runs.listing import list_runs
from calprobe.sweep.definition import Job
from calprobe.sweep.json_lines import add_line, read_lines

FILE_NAME = "sweep.jsonl"
LOGS = "logs"
FORMAT = 1
_HEAD = {"calprobe_sweep": FORMAT}


@dataclass(frozen=True, slots=True)
class Attempt:
    """The last time that a job ran."""

    arguments: tuple[str, ...]  # behind `calprobe`; in the file with ~ for the home folder
    exit_code: int  # below 0: the signal that killed it
    seconds: float
    ended: str  # UTC, ISO 8601; for people
    said: str = ""  # the last lines on stderr of one that failed

    def is_of(self, job: Job) -> bool:
        """Whether the job had these very options then."""
        return [shown(word) for word in self.arguments] == [shown(word) for word in job.arguments]


@dataclass(frozen=True, slots=True)
class Record:
    """The attempts of a sweep, by job."""

    attempts: Mapping[str, Attempt]

    def is_done(self, job: Job) -> bool:
        """Whether the job ended well with these very options, and its run is there and complete."""
        last = self.attempts.get(job.name)
        if last is None or last.exit_code or not last.is_of(job) or not job.out.is_dir():
            return False
        return any(run.complete for run in list_runs(job.out).runs)


def log_path(out: Path, job: Job) -> Path:
    """The file with all that a job's process has said; `+` stands in no name of a folder, so that no two share one."""
    return out / LOGS / f"{job.name.replace('/', '+')}.log"


def read_record(out: Path) -> Record:
    """The record in a sweep's folder; an empty one where there is none. Raises CalprobeError for a damaged file."""
    path = out / FILE_NAME
    try:
        head, *entries = read_lines(path) or [_HEAD]
        if head != _HEAD:
            raise ValueError("another format")
        return Record({str(entry.pop("job")): decode(Attempt, entry) for entry in entries})
    except FileNotFoundError:
        return Record({})
    except (OSError, ValueError, KeyError, TypeError, AttributeError, DecodeError) as error:
        problem = reason(error) if isinstance(error, OSError) else "not the record of a sweep, or of another version"
        raise CalprobeError(
            f"{path}: {problem}; delete it: complete runs are found again, and are quick to check"
        ) from error


def add_attempt(out: Path, job: Job, attempt: Attempt) -> None:
    """Write what became of a job behind what is in the sweep's folder, and have it on disk before this returns.

    One process at a time may do so. A line that a killed process has not finished is taken away first.
    """
    words = {"arguments": [shown(word) for word in attempt.arguments], "said": shown(attempt.said)}
    add_line(out / FILE_NAME, {"job": job.name, **asdict(attempt), **words}, head=_HEAD)
