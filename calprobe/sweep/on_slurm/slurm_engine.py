"""A sweep on a Slurm cluster: arrays of jobs with like needs, submitted by submitit; the driver waits and collects.

A job that is preempted, reaches its time limit or loses its node starts again, and its run goes on. The driver may be
killed: another finds the jobs that are still there and waits for them.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from calprobe.errors import CalprobeError, UsageError
from calprobe.interrupts import Interrupted
from calprobe.messages import counted, reason
from calprobe.runs.lock import forget_ended_job
from calprobe.sweep.engine import CALPROBE, Ended, Misfit, Started, attempt_at
from calprobe.sweep.job_record import log_path
from calprobe.sweep.on_slurm.cluster import MEMORY, Cluster, Listed
from calprobe.sweep.on_slurm.job_arrays import Array, Words, arrays_in
from calprobe.sweep.on_slurm.task import Task, Word
from calprobe.sweep.on_slurm.waiting import Pace, Sent, Waiting
from calprobe.sweep.order import Planned, longest_first

log = logging.getLogger(__name__)

T = TypeVar("T")

_MOST_TRIES = 6  # of a question to a busy controller
_MOST_LOOKS, _LOOKS_IN_SILENCE = 30, 3  # at jobs that were withdrawn: a quarter of an hour in all
_GIB = 2**30
_GIB_BESIDE = 2  # of memory that a job has beside one and a half times its model


@dataclass(frozen=True, slots=True)
class Needs:
    """What a job asks of its node."""

    memory_gib: int | None  # None: what the cluster gives
    gpus: int


@dataclass(frozen=True, slots=True)
class OnSlurm:
    """Jobs of a cluster, and what each may ask for."""

    cluster: Cluster
    at_once: int  # see `Engine`
    is_limited: bool = False  # whether `at_once` is the user's, for all arrays together
    gpus: int = 0  # of a job that spreads its model over them; any other has one of them
    cpus: int = 4
    options: Mapping[str, str | bool] = field(default_factory=dict)  # of sbatch, for all jobs
    command: tuple[str, ...] = CALPROBE
    pace: Pace = field(default_factory=Pace)

    @property
    def total_bytes(self) -> float:
        """See `Engine`; Slurm sees to it."""
        return float("inf")

    def misfits(self, jobs: Sequence[Planned]) -> list[Misfit]:
        """See `Engine`; Slurm refuses itself what no node of it has, when it is submitted."""
        return []

    def run(self, jobs: Sequence[Planned], out: Path, started: Started, ended: Ended) -> None:
        """See `Engine`. Ctrl-C cancels the jobs; SIGTERM and SIGHUP, as of a lost connection, end this process alone.

        Raises:
            CalprobeError: Slurm does not answer, refuses the first array, or runs jobs on nodes that do not see `out`;
                or `out` cannot be written.
            UsageError: `out` is no path for sbatch.
            Interrupted: after Ctrl-C, when all have ended; after another signal, at once.
        """
        _refuse_as_pattern(out)
        waiting = Waiting(self.cluster, self.pace, out, started, ended)
        try:
            self._submit(self._take_over(jobs, waiting), waiting)
            waited_for = {sent.number for sent in waiting.left}
            waiting.until_all_ended()
        except KeyboardInterrupt as error:
            remaining = counted(len(jobs) - waiting.n_ended, "job")
            raise Interrupted(self._interrupted(str(error), remaining, waiting)) from None
        except OSError as error:
            raise CalprobeError(
                f"{out}: cannot be written: {reason(error)}; fix this and run the same command again: jobs that are in "
                "Slurm stay there"
            ) from error
        self._tidy(out, waited_for)

    def needs(self, planned: Planned) -> Needs:
        """What a job asks for: memory in powers of two, so that few arrays hold all jobs."""
        options = planned.job.options
        memory = None if planned.parameters is None else _next_power(1.5 * planned.bytes / _GIB + _GIB_BESIDE)
        if "base-url" in options or str(options.get("device", "auto")) == "cpu":
            return Needs(memory, 0)
        shared = int(options.get("tensor-parallel", 1)) * int(options.get("pipeline-parallel", 1))
        return Needs(memory, self.gpus if "device-map" in options or shared > 1 else min(self.gpus, 1))

    def _take_over(self, jobs: Sequence[Planned], waiting: Waiting) -> list[Planned]:
        """Wait also for what an earlier call has submitted, and withdraw what is in the way; the jobs that are left."""
        by_name, out = {planned.job.name: planned for planned in jobs}, waiting.out
        earlier = list(arrays_in(out))
        if jobs:
            self._refuse_elsewhere(out, earlier)
        listed = self.cluster.listed() if earlier else {}
        unnumbered = {array.name for array in earlier if not array.number}  # submitted by a call that was killed then
        in_the_way = [job for job, listing in listed.items() if listing.name in unnumbered]
        for array in earlier:
            words = Words(array.folder(out)).of(range(len(array.entries)))
            for index, entry in enumerate(array.entries):
                planned = by_name.get(entry.name)
                if planned is None or not array.number:
                    continue
                job = array.job_of(index)
                if job not in listed and self._may_start_again(array, index, words.get(index)):
                    listed[job] = Listed(array.name, "REQUEUED", "")
                is_same, is_there = planned.job.arguments == entry.arguments, array.is_in(listed, index)
                if is_there and is_same:
                    waiting.left.append(Sent(by_name.pop(entry.name), array, index))
                elif is_there:
                    in_the_way.append(job)
                elif is_same and index in words and words[index].exit_code == 0 and planned.job.out.is_dir():
                    waiting.tell(by_name.pop(entry.name).job, attempt_at(planned.job, out, 0, words[index].seconds))
        if waiting.left:
            log.info("%s of an earlier call are in Slurm; waiting for them", counted(len(waiting.left), "job"))
        self._withdraw(in_the_way)
        self._forget_ended(out, listed)
        return list(by_name.values())

    def _may_start_again(self, array: Array, index: int, word: Word | None) -> bool:
        """Whether a job that began is between two starts, where squeue leaves it out for a moment."""
        if word is None or word.is_final:
            return False
        return self.cluster.end_of(array.job_of(index), array.name) is None

    def _refuse_elsewhere(self, out: Path, arrays: Sequence[Array]) -> None:
        """Raise CalprobeError for jobs of an earlier call that another cluster may still have."""
        array = next((array for array in arrays if array.cluster not in ("", self.cluster.name)), None)
        if array is not None:
            raise CalprobeError(
                f"{out}: the Slurm cluster {array.cluster} may still have jobs of an earlier call, and this is "
                f"{self.cluster.name or 'another'}\nRun the same command there; or, where squeue there lists no "
                f"{array.name}, delete {array.folder(out)}"
            )

    def _withdraw(self, jobs: Sequence[str]) -> None:
        """Cancel jobs, and wait until they are gone; raises CalprobeError where Slurm does not get them out."""
        if not jobs:
            return
        self._answer(lambda: self.cluster.cancel(jobs))
        remaining = set(jobs)
        for looks, seconds in enumerate(self.pace.growing(_MOST_LOOKS)):
            listed = self._answer(self.cluster.listed)
            remaining &= listed.keys()
            if not remaining:
                return
            job = min(remaining)
            if looks == _LOOKS_IN_SILENCE:
                log.warning(
                    "waiting until Slurm has withdrawn %s, as %s: %s",
                    counted(len(remaining), "job"),
                    job,
                    listed[job].state,
                )
            time.sleep(seconds)
        raise CalprobeError(
            f"Slurm does not end {counted(len(remaining), 'job')}, as {job} ({listed[job].state}): its node may hang\n"
            "Run the same command again when squeue does not list it any more"
        )

    def _answer(self, ask: Callable[[], T]) -> T:
        """What Slurm answers, whose controller may be busy for a while; raises CalprobeError when it stays so."""
        for seconds in self.pace.growing(_MOST_TRIES - 1):
            try:
                return ask()
            except CalprobeError as error:
                log.warning("%s; asking Slurm again", error)
                time.sleep(seconds)
        return ask()

    def _submit(self, jobs: Sequence[Planned], waiting: Waiting) -> None:
        """Submit arrays, the one with the longest job first. What Slurm does not take any more has failed."""
        before = ":".join(dict.fromkeys(sent.array.number for sent in waiting.left))
        for needs, chosen in self._arrays(jobs):
            array = Array.of([planned.job for planned in chosen], self.cluster.name)
            array.write(waiting.out)
            for planned in chosen:
                path = log_path(waiting.out, planned.job)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.unlink(missing_ok=True)  # of an earlier call: a job that never begins has said none of it
                with suppress(OSError):
                    forget_ended_job(planned.job.out, self.cluster.knows)
            try:
                number = self.cluster.submit(
                    [self._task(planned, array, index, waiting.out) for index, planned in enumerate(chosen)],
                    *(array.folder(waiting.out), array.name, self._options(needs, before), self.at_once),
                )
            except CalprobeError as error:
                try:
                    self._withdraw(self._named({array.name}))  # an sbatch that was not answered may have submitted it
                    array.forget(waiting.out)
                except CalprobeError as later:
                    log.warning("%s; if Slurm has taken the jobs all the same, the next call withdraws them", later)
                if not waiting.left:
                    raise
                for planned in chosen:
                    failed = attempt_at(planned.job, waiting.out, 1, 0.0)
                    waiting.tell(planned.job, replace(failed, said=str(error)))
                continue
            before, array = number, array.numbered(number)
            array.write(waiting.out)
            waiting.left += [Sent(planned, array, index) for index, planned in enumerate(chosen)]
            log.info("submitted %s as Slurm job %s", counted(len(chosen), "job"), number)

    def _arrays(self, jobs: Sequence[Planned]) -> list[tuple[Needs, list[Planned]]]:
        """Jobs by what they need, none with more than Slurm takes; the longest first, among and in them."""
        groups: dict[Needs, list[Planned]] = {}
        for planned in longest_first(jobs):
            groups.setdefault(self.needs(planned), []).append(planned)
        most = self.cluster.largest_array
        return [
            (needs, all_[start : start + most]) for needs, all_ in groups.items() for start in range(0, len(all_), most)
        ]

    def _task(self, planned: Planned, array: Array, index: int, out: Path) -> Task:
        where = (str(Path.cwd()), str(log_path(out, planned.job).absolute()), str(array.word_path(out, index)))
        return Task((*self.command, *planned.job.arguments), *where, self.cpus)

    def _options(self, needs: Needs, before: str) -> dict[str, Any]:
        """What sbatch is told, by the names of its options."""
        options: dict[str, Any] = {"cpus-per-task": self.cpus}
        if needs.memory_gib is not None and MEMORY.isdisjoint(self.options):
            options["mem"] = f"{needs.memory_gib}G"
        if needs.gpus:
            options["gpus-per-node"] = needs.gpus
        if self.is_limited and before:  # one array after the other, so that no more run at once
            options["dependency"] = f"afterany:{before}"
        return options | dict(self.options)

    def _interrupted(self, why: str, jobs: str, waiting: Waiting) -> str:
        """After Ctrl-C end the jobs; what to say."""
        if why:
            return f"{why}; {jobs} left, which stay in Slurm.\nRun the same command again to wait for them"
        log.info("cancelling %s; what they have is kept. Ctrl-C again does not wait for them", jobs)
        try:
            self._cancel(waiting.out)
        except (KeyboardInterrupt, CalprobeError) as error:
            said = f": {error}" if str(error) else ""
            return (
                f"interrupted; {jobs} left, of which some may still be in Slurm{said}.\n"
                "Run the same command again to wait for them; to end them, press Ctrl-C there, or call scancel"
            )
        with suppress(KeyboardInterrupt, CalprobeError):
            waiting.left = [sent for sent in waiting.left if sent.has_begun]
            waited_for = {sent.number for sent in waiting.left}
            waiting.until_all_ended()
            self._tidy(waiting.out, waited_for)
        return f"interrupted; {jobs} left to do.\nRun the same command again to resume"

    def _cancel(self, out: Path) -> None:
        """Cancel all that this sweep has in Slurm."""
        jobs = self._named({array.name for array in arrays_in(out)})
        self._answer(lambda: self.cluster.cancel(jobs))

    def _named(self, names: Collection[str]) -> list[str]:
        """The jobs of these arrays that have not ended."""
        return [job for job, listing in self._answer(self.cluster.listed).items() if listing.name in names]

    def _tidy(self, out: Path, waited_for: Collection[str]) -> None:
        """Remove the folders of arrays that are over; what was waited for has ended, even where it is listed still."""
        with suppress(CalprobeError):
            listed = self.cluster.listed()
            self._forget_ended(out, {job: listing for job, listing in listed.items() if job not in waited_for})

    def _forget_ended(self, out: Path, listed: Mapping[str, Listed]) -> None:
        """Remove the folders of arrays of which no job is listed, by its number or by its name."""
        names = {listing.name for listing in listed.values()}
        for array in arrays_in(out):
            by_number = any(array.is_in(listed, index) for index in range(len(array.entries)))
            if not by_number and (array.number or array.name not in names):
                array.forget(out)


def _refuse_as_pattern(out: Path) -> None:
    """Raise UsageError for a folder that is another one for sbatch, to which %u is the user's name."""
    path = str(out.absolute())
    if not path.isprintable() or "%" in path or "\\" in path:
        raise UsageError(
            f"on slurm: {path!r} cannot be a sweep's out: in names of files sbatch takes no %, no \\ and nothing that "
            "cannot be printed"
        )


def _next_power(gib: float) -> int:
    return int(1 << max(0, int(-(-gib // 1)) - 1).bit_length())
