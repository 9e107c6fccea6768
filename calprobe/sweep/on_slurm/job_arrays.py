"""Which jobs of a sweep are in Slurm's hands: a folder for each array, `slurm/NAME/` in the sweep's own.

A driver that was killed finds there what it had submitted. An array is written down before it is submitted, so that one
without a number may have been: the next driver withdraws the jobs of that name.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from calprobe.runs.atomic import write_text
from calprobe.runs.decode import DecodeError, decode
from calprobe.sweep.definition import Job
from calprobe.sweep.on_slurm.cluster import Listed
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
    cluster: str = ""  # that has it

    @classmethod
    def of(cls, jobs: Sequence[Job], cluster: str = "") -> Array:
        """A new one, with a name that no other has."""
        entries = tuple(Entry(job.name, job.arguments) for job in jobs)
        return cls(f"{_PREFIX}{secrets.token_hex(6)}", entries, cluster=cluster)

    def numbered(self, number: str) -> Array:
        """The array with what sbatch has said."""
        return replace(self, number=number)

    def folder(self, out: Path) -> Path:
        """Its folder in a sweep's."""
        return out.absolute() / FOLDER / self.name

    def job_of(self, index: int) -> str:
        """What Slurm calls the job of that index; one alone is no array."""
        return self.number if len(self.entries) == 1 else f"{self.number}_{index}"

    def is_in(self, listed: Mapping[str, Listed], index: int) -> bool:
        """Whether the queue has the job of that index; numbers begin again one day, and names do not."""
        listing = listed.get(self.job_of(index))
        return listing is not None and listing.name == self.name

    def word_path(self, out: Path, index: int) -> Path:
        """Where the job of that index says how it is."""
        return self.folder(out) / f"{index}.json"

    def slurm_log(self, out: Path, index: int) -> Path:
        """What the job said before its own process began, and Slurm about it."""
        return self.folder(out) / f"{self.job_of(index)}_0_log.err"

    def write(self, out: Path) -> None:
        """Write it down."""
        # The tasks in it have their commands whole, with what an address may hold before its @.
        self.folder(out).mkdir(parents=True, exist_ok=True, mode=0o700)
        write_text(self.folder(out) / _FILE_NAME, json.dumps(asdict(self)) + "\n")

    def forget(self, out: Path) -> None:
        """Remove its folder."""
        shutil.rmtree(self.folder(out), ignore_errors=True)
        with suppress(OSError):
            self.folder(out).parent.rmdir()


@dataclass(slots=True)
class Words:
    """What the jobs of an array say, read again where its file has changed."""

    folder: Path
    _read: dict[int, tuple[tuple[int, int, int], Word]] = field(default_factory=dict)  # by index

    def of(self, indices: Collection[int]) -> dict[int, Word]:
        """What the jobs of these indices have said last; of those that have not begun, nothing."""
        names = {f"{index}.json": index for index in indices}
        try:
            with os.scandir(self.folder) as entries:
                states = {names[entry.name]: _state(entry) for entry in entries if entry.name in names}
        except OSError:  # removed meanwhile, or not yet seen from here
            return {}
        for index, state in states.items():
            former = self._read.get(index)
            word = None if former is not None and former[0] == state else read_word(self.folder / f"{index}.json")
            if word is not None:
                self._read[index] = state, word
        return {index: self._read[index][1] for index in states if index in self._read}


def _state(entry: os.DirEntry[str]) -> tuple[int, int, int]:
    """What changes when a file is put in another's place."""
    try:
        status = entry.stat()
    except OSError:
        return 0, 0, 0
    return status.st_mtime_ns, status.st_ino, status.st_size


def arrays_in(out: Path) -> Iterator[Array]:
    """The arrays that are written down in a sweep's folder."""
    for path in sorted((out.absolute() / FOLDER).glob(f"{_PREFIX}*/{_FILE_NAME}")):
        try:
            yield decode(Array, json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, DecodeError):
            continue  # nothing is submitted before it is written
