"""What became of a sweep's jobs: `sweep.json` in its folder, a record of the last attempt at each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from calprobe.errors import CalprobeError
from calprobe.messages import reason
from calprobe.runs.atomic import write_text
from calprobe.runs.decode import DecodeError, decode
from calprobe.runs.listing import list_runs
from calprobe.sweep.definition import Job

FILE_NAME = "sweep.json"
LOGS = "logs"
FORMAT = 1


@dataclass(frozen=True, slots=True)
class Attempt:
    """The last time that a job ran."""

    arguments: tuple[str, ...]  # behind `calprobe`
    exit_code: int  # below 0: the signal that killed it
    seconds: float
    ended: str  # UTC, ISO 8601; for people
    said: str = ""  # the last lines on stderr of one that failed


@dataclass(frozen=True, slots=True)
class Record:
    """The attempts of a sweep, by job."""

    attempts: Mapping[str, Attempt]

    def is_done(self, job: Job) -> bool:
        """Whether the job ended well with these very options, and its run is there and complete."""
        last = self.attempts.get(job.name)
        if last is None or last.exit_code or last.arguments != job.arguments or not job.out.is_dir():
            return False
        return any(run.complete for run in list_runs(job.out).runs)

    def with_attempt(self, job: Job, attempt: Attempt) -> Record:
        """The record with what became of a job."""
        return Record({**self.attempts, job.name: attempt})


def log_path(out: Path, job: Job) -> Path:
    """The file with all that a job's process has said; `+` stands in no name of a folder, so that no two share one."""
    return out / LOGS / f"{job.name.replace('/', '+')}.log"


def read_record(out: Path) -> Record:
    """The record in a sweep's folder; an empty one where there is none. Raises CalprobeError for a damaged file."""
    path = out / FILE_NAME
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["calprobe_sweep"] != FORMAT:
            raise ValueError("another format")
        attempts = {str(name): decode(Attempt, value) for name, value in found["attempts"].items()}
    except FileNotFoundError:
        return Record({})
    except (OSError, ValueError, KeyError, TypeError, AttributeError, DecodeError) as error:
        what = reason(error) if isinstance(error, OSError) else "not the record of a sweep, or of another version"
        raise CalprobeError(
            f"{path}: {what}; delete it: complete runs are found again, and are quick to check"
        ) from error
    return Record(attempts)


def write_record(out: Path, record: Record) -> None:
    """Write the record into a sweep's folder, at once or not at all."""
    attempts = {name: asdict(attempt) for name, attempt in sorted(record.attempts.items())}
    write_text(out / FILE_NAME, json.dumps({"calprobe_sweep": FORMAT, "attempts": attempts}, indent=2) + "\n")
