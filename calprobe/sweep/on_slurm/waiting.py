"""Waiting for jobs of Slurm: by the states that they write to the sweep's folder, else by Slurm's queue."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from calprobe.errors import CalprobeError
from calprobe.interrupts import INTERRUPTED
from calprobe.sweep.definition import Job
from calprobe.sweep.engine import Ended, Started, attempt_at
from calprobe.sweep.job_record import Attempt
from calprobe.sweep.on_slurm.cluster import Cluster, End, Listed
from calprobe.sweep.on_slurm.job_arrays import Array, Words
from calprobe.sweep.on_slurm.task import Word
from calprobe.sweep.order import Planned

log = logging.getLogger(__name__)

_KILLED = -9
_LOOKED_AT_A_PACE = 200  # files; more of them are looked at more seldom, as others use the storage too
# What Slurm says of an end that is not the process's own, and what can be done.
_ENDS = {
    "OUT_OF_MEMORY": "out of memory; --slurm-mem gives more",
    "TIMEOUT": "its time was over; the same command again goes on, --slurm-time gives more",
    "NODE_FAIL": "its node failed",
    "PREEMPTED": "preempted, and not started again",
    "CANCELLED": "cancelled",
    "BOOT_FAIL": "its node did not start",
    "DEADLINE": "its deadline passed",
}
_OUT_OF_MEMORY = re.compile(r"oom[-_ ]kill|exceeded (?:job )?memory limit", re.IGNORECASE)  # in Slurm's log of a job
_OF_SRUN = re.compile(r"srun: error: .*: task \d+: ")  # with which code a process ended, behind what it has said
# Why jobs wait in the usual course; any other reason is said.
_USUAL = {"None", "Priority", "Resources", "Dependency", "JobArrayTaskLimit", "BeginTime", "Cleaning", "Prolog"}


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds between looks. Sites ask not to call squeue often; files tell most."""

    files: float = 1.0
    squeue_first: float = 2.0
    squeue_most: float = 30.0
    grace: float = 60.0  # after a job has left the queue, that its last word may need to be seen from here

    def growing(self, count: int) -> Iterator[float]:
        """So many waits between questions to Slurm, each longer than the one before, to a limit."""
        seconds = self.squeue_first
        for _ in range(count):
            yield seconds
            seconds = min(1.5 * seconds, self.squeue_most)


@dataclass(slots=True, eq=False)
class Sent:
    """A job in Slurm's hands."""

    planned: Planned
    array: Array
    index: int
    has_begun: bool = False
    gone_since: float | None = None  # when it was first missed in the queue

    @property
    def number(self) -> str:
        """What Slurm calls it."""
        return self.array.job_of(self.index)


@dataclass(slots=True)
class Waiting:
    """The jobs that are left, and who is told of them."""

    cluster: Cluster
    pace: Pace
    out: Path  # the sweep's folder
    started: Started
    ended: Ended
    left: list[Sent] = field(default_factory=list)
    readers: dict[str, Words] = field(default_factory=dict, init=False)  # by array
    n_ended: int = 0
    any_word: bool = False  # whether any job could write to `out`
    squeue_wait: float = 0.0
    squeue_last: float = float("-inf")
    complained: set[str] = field(default_factory=set)

    def until_all_ended(self) -> None:
        """Say of each what became of it, as it ends. Raises CalprobeError where jobs cannot see the sweep's folder."""
        while self.left:
            listed, words = self._listed(), self._words()
            for sent in list(self.left):
                word = words[sent.array.name].get(sent.index)
                if word is not None:
                    self.any_word = True
                    self._begins(sent)
                attempt = self._attempt(sent, word, listed)
                if attempt is not None:
                    self.left.remove(sent)
                    self._begins(sent)
                    self.n_ended += 1
                    self.ended(sent.planned.job, attempt)
                    self.squeue_wait = self.pace.squeue_first
            if self.left:
                time.sleep(self.pace.files * max(1.0, sum(sent.has_begun for sent in self.left) / _LOOKED_AT_A_PACE))

    def tell(self, job: Job, attempt: Attempt) -> None:
        """Say what became of a job that nobody has waited for."""
        self.started(job)
        self.n_ended += 1
        self.ended(job, attempt)

    def _begins(self, sent: Sent) -> None:
        if not sent.has_begun:
            sent.has_begun = True
            self.started(sent.planned.job)

    def _words(self) -> dict[str, dict[int, Word]]:
        """What the jobs that are left have said last, by array and index."""
        arrays: dict[str, tuple[Array, set[int]]] = {}
        for sent in self.left:
            arrays.setdefault(sent.array.name, (sent.array, set()))[1].add(sent.index)
        return {
            name: self.readers.setdefault(name, Words(array.folder(self.out))).of(indices)
            for name, (array, indices) in arrays.items()
        }

    def _listed(self) -> dict[str, Listed] | None:
        """Slurm's queue; None where it is too early to look again, or Slurm does not answer."""
        if time.monotonic() - self.squeue_last < self.squeue_wait:
            return None
        self.squeue_wait = min(max(1.5 * self.squeue_wait, self.pace.squeue_first), self.pace.squeue_most)
        try:
            listed = self.cluster.listed()
        except CalprobeError as error:
            self._complain(f"{error}; waiting for Slurm's controller")
            return None
        finally:
            self.squeue_last = time.monotonic()
        for sent in self.left:
            listing = listed.get(sent.number)
            if listing is not None and listing.state == "PENDING" and listing.why not in _USUAL:
                self._complain(f"Slurm lets jobs wait, as {sent.number}: {listing.why}")
        return listed

    def _complain(self, text: str) -> None:
        """Warn, once of each reason."""
        reason = text.rpartition(": ")[2]
        if reason not in self.complained:
            self.complained.add(reason)
            log.warning("%s", text)

    def _attempt(self, sent: Sent, word: Word | None, listed: Mapping[str, Listed] | None) -> Attempt | None:
        """What became of a job; None while it is there, or may be."""
        code = None if word is None else word.exit_code
        if word is not None and code is not None and word.is_final:
            return attempt_at(sent.planned.job, self.out, code, word.seconds)
        now = time.monotonic()
        if listed is not None:
            sent.gone_since = None if sent.number in listed else (sent.gone_since or now)
        if sent.gone_since is None or (code is None and now - sent.gone_since < self.pace.grace):
            return None
        end = self.cluster.end_of(sent.number, sent.array.name)
        if end is None:  # between two starts
            sent.gone_since = None
            return None
        slurm_log = sent.array.slurm_log(self.out, sent.index)
        if not self.any_word and end.state == "FAILED" and not slurm_log.exists():
            self.cluster.cancel(sorted({unfinished.array.number for unfinished in self.left}))
            raise CalprobeError(
                f"{self.out}: {end.node or 'the node'} cannot write there: Slurm job {sent.number} failed without a "
                "word\nGive the file an `out` on storage that all nodes share"
            )
        return _unusual(sent, word, end, self.out, slurm_log)


def _unusual(sent: Sent, word: Word | None, end: End, out: Path, slurm_log: Path) -> Attempt:
    """What became of a job whose process did not end by itself, what Slurm says first."""
    code = word.exit_code if word is not None and word.exit_code else _KILLED
    code = INTERRUPTED if end.state == "CANCELLED" else code
    attempt = attempt_at(sent.planned.job, out, code, word.seconds if word is not None else 0.0)
    log_text = slurm_log.read_text(encoding="utf-8", errors="replace").strip() if slurm_log.exists() else ""
    # Where only the process was killed for it, the job has merely failed.
    state = "OUT_OF_MEMORY" if end.state in ("", "FAILED") and _OUT_OF_MEMORY.search(log_text) else end.state
    where = f" on {end.node}" if end.node else ""
    cause = _ENDS.get(state, "killed, and Slurm does not say why")
    if state == "FAILED" and word is None:  # no such Python on its node, or without submitit
        cause = "failed before calprobe began"
    first = f"Slurm job {sent.number}{where}: {cause}{f' ({state})' if state else ''}"
    words = [line for line in log_text.splitlines() if line.strip() and not _OF_SRUN.match(line)]
    if words and state not in _ENDS and (word is None or word.exit_code is None):
        first = f"{first}: {words[-1]}"
    return replace(attempt, said="\n".join(line for line in (first, attempt.said) if line))
