"""Which jobs of a sweep are in Slurm's hands: a folder for each array, `slurm/NAME/` in the sweep's own.

A driver that was killed finds there what it had submitted. An array is written down before it is submitted, so that one
without a number may have been: the next driver withdraws the jobs of that name.
"""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from calprobe.runs.atomic import write_text
from calprobe.runs.decode import DecodeError, decode
from calprobe.sweep.definition import Job
from calprobe.sweep.on_slurm.task import Word, read_word

FOLDER = "slurm"
_FILE_NAME = "array.json"
_PREFIX = "calprobe-"


@dataclass(frozen=True, slots=True)
class Entry:
    """A job that was submitted."""

    name: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Array:
    """An array as it was submitted."""

    name: str  # of its jobs in Slurm, and of its folder
    entries: tuple[Entry, ...]  # by index
    number: str = ""  # Slurm's; empty until sbatch has said it

    @classmethod
    def of(cls, jobs: Sequence[Job]) -> Array:
        """A new one, with a name that no other has."""
        return cls(f"{_PREFIX}{secrets.token_hex(6)}", tuple(Entry(job.name, job.arguments) for job in jobs))

    def numbered(self, number: str) -> Array:
        """The array with what sbatch has said."""
        return replace(self, number=number)

    def folder(self, out: Path) -> Path:
        """Its folder in a sweep's."""
        return out.absolute() / FOLDER / self.name

    def job_of(self, index: int) -> str:
        """What Slurm calls the job of that index; one alone is no array."""
        return self.number if len(self.entries) == 1 else f"{self.number}_{index}"

    def word_path(self, out: Path, index: int) -> Path:
        """Where the job of that index says how it is."""
        return self.folder(out) / f"{index}.json"

    def words(self, out: Path, indices: Collection[int]) -> dict[int, Word]:
        """What the jobs of these indices have said last; of those that have not begun, nothing."""
        there = {path.name for path in self.folder(out).glob("*.json")}
        found = {index: read_word(self.word_path(out, index)) for index in indices if f"{index}.json" in there}
        return {index: word for index, word in found.items() if word is not None}

    def slurm_log(self, out: Path, index: int) -> Path:
        """What the job said before its own process began, and Slurm about it."""
        return self.folder(out) / f"{self.job_of(index)}_0_log.err"

    def write(self, out: Path) -> None:
        """Write it down."""
        self.folder(out).mkdir(parents=True, exist_ok=True)
        write_text(self.folder(out) / _FILE_NAME, json.dumps(asdict(self)) + "\n")

    def forget(self, out: Path) -> None:
        """Remove its folder."""
        shutil.rmtree(self.folder(out), ignore_errors=True)
        with suppress(OSError):
            self.folder(out).parent.rmdir()


def arrays_in(out: Path) -> Iterator[Array]:
    """The arrays that are written down in a sweep's folder."""
    for path in sorted((out.absolute() / FOLDER).glob(f"{_PREFIX}*/{_FILE_NAME}")):
        try:
            yield decode(Array, json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, DecodeError):
            continue  # nothing is submitted before it is written
