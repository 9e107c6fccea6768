"""Contestants in processes of their own, seen from outside: start each, let it answer in turns, take its outcome."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from harness.contestants import CONTESTANTS
from harness.job import Job, Outcome, read, write

CHILD = Path(__file__).with_name("child.py")
_THREAD_COUNTS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")


def in_turns(jobs: Sequence[Job], repeats: int, script: Path = CHILD) -> dict[str, Outcome]:
    """Outcomes by contestant: all are loaded, then answer round by round, so that other work there meets all alike."""
    started = {job.scorer: _started(job, script) for job in jobs}
    for _ in range(repeats):
        for process in started.values():
            if isinstance(process, Process):
                process.repeat()
    return {name: each.outcome() if isinstance(each, Process) else each for name, each in started.items()}


def _started(job: Job, script: Path) -> Process | Outcome:
    """Its process, loaded and warm; or an outcome if it cannot take part."""
    contestant = CONTESTANTS[job.task][job.scorer]
    if (fault := contestant.missing()) is not None:
        return Outcome(job.scorer, fault=fault)
    return Process(job, contestant.version(), script)


class Process:
    """A child between repeats waits for a line and uses no processor: several can take turns on the same cores.

    Whatever goes wrong in it ends it, and is its `Outcome`; the methods in between then do nothing.
    """

    def __init__(self, job: Job, version: str, script: Path) -> None:
        """Start `script JOB` and wait until it is loaded and warm."""
        self._job, self._version = job, version
        self._folder = tempfile.TemporaryDirectory()
        folder = Path(self._folder.name)
        write(job, folder / "job")
        self._said = (folder / "stderr").open("w+", encoding="utf-8")
        self._child = subprocess.Popen(
            [sys.executable, str(script), str(folder / "job")],
            env=_environment(job),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
        )
        self._answer()

    def repeat(self) -> None:
        """Let it answer everything once more, and wait until it has."""
        try:
            _pipe(self._child.stdin).write("again\n")
            _pipe(self._child.stdin).flush()
        except BrokenPipeError:
            return
        self._answer()

    def outcome(self) -> Outcome:
        """Let it finish, and read what it found; to be called once."""
        try:
            self._child.communicate()
            if self._child.returncode == 0:
                outcome: Outcome = read(Path(self._folder.name, "outcome"))
                return outcome
            self._said.seek(0)
            lines = [line.strip() for line in self._said if line.strip()]
            fault = f"failed (exit status {self._child.returncode}): {lines[-1] if lines else 'it said nothing'}"
            return Outcome(self._job.scorer, self._version, fault=fault[:300])
        finally:
            self._said.close()
            self._folder.cleanup()

    def _answer(self) -> None:
        _pipe(self._child.stdout).readline()  # empty when it has ended


def _pipe(stream: IO[str] | None) -> IO[str]:
    assert stream is not None, "Popen was given PIPE"
    return stream


def _environment(job: Job) -> dict[str, str]:
    # Threads that spin while they wait would slow down whoever's turn it is; `calprobe score` lets them sleep too.
    switches = {"PYTHONSAFEPATH": "1", "HF_HUB_OFFLINE": "1", "OMP_WAIT_POLICY": "passive"}
    return os.environ | switches | dict.fromkeys(_THREAD_COUNTS, str(job.threads))
