"""What runs inside a Slurm job: one process of calprobe, and a file in the sweep's folder that says how it is.

The driver reads that file, not Slurm's accounting, which many clusters have not.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from calprobe.interrupts import INTERRUPTED
from calprobe.runs.atomic import write_text
from calprobe.runs.decode import DecodeError, decode

if TYPE_CHECKING:
    from submitit.helpers import DelayedSubmission

_SECONDS_BETWEEN_LOOKS = 0.05


@dataclass(frozen=True, slots=True)
class Word:
    """How a job is, by its own word."""

    host: str
    starts: int
    seconds: float = 0.0  # that its processes took, over all starts that have ended
    exit_code: int | None = None  # of the last start; None while it runs, and when it was stopped to start again

    @property
    def is_final(self) -> bool:
        """Whether its process ended by itself: one that a signal has ended may start again."""
        return self.exit_code is not None and 0 <= self.exit_code < INTERRUPTED


@dataclass(slots=True)
class Task:
    """A job as submitit carries it to a node; called there."""

    command: tuple[str, ...]
    folder: str  # that the driver was called in: paths of the command may be relative to it
    log: str
    word: str
    threads: int
    child: subprocess.Popen[bytes] | None = field(default=None, init=False)
    said: Word | None = field(default=None, init=False)
    begun: float = field(default=0.0, init=False)

    def __call__(self) -> NoReturn:
        """Run the command and wait for it. Exits as it does, so that Slurm's accounting shows a failure as one.

        The exit also keeps submitit from writing a result, into a folder that may be gone by then.
        """
        former = read_word(Path(self.word)) or Word("", 0)
        self.said = replace(former, host=socket.gethostname(), starts=former.starts + 1, exit_code=None)
        self.begun = time.monotonic()
        self._say(self.said)
        self.child = self._started(former.starts)
        while self.child.poll() is None:
            time.sleep(_SECONDS_BETWEEN_LOOKS)
        self._say(replace(self.said, seconds=self._seconds(), exit_code=self.child.returncode))
        raise SystemExit(self.child.returncode if self.child.returncode >= 0 else 128 - self.child.returncode)

    def checkpoint(self) -> DelayedSubmission:
        """Called by submitit before a preemption or the time limit: let the process keep what it has, for a new start.

        It runs in a signal's handler, so that nothing here may wait for the lock of `Popen`.
        """
        from submitit.helpers import DelayedSubmission

        if self.child is not None and self.said is not None:
            with suppress(ProcessLookupError, ChildProcessError):
                os.kill(self.child.pid, signal.SIGTERM)
                os.waitid(os.P_PID, self.child.pid, os.WEXITED | os.WNOWAIT)
            self._say(replace(self.said, seconds=self._seconds()))
        return DelayedSubmission(Task(self.command, self.folder, self.log, self.word, self.threads))

    def _started(self, before: int) -> subprocess.Popen[bytes]:
        # Slurm sends the signal before a time limit to all processes of the job, and it would kill one that does not
        # know it. What is blocked here stays so in the child.
        blocked = {signal.SIGUSR1, signal.SIGUSR2}
        signal.pthread_sigmask(signal.SIG_BLOCK, blocked)
        try:
            with Path(self.log).open("ab" if before else "wb") as words:
                return subprocess.Popen(
                    self.command,
                    cwd=self.folder,
                    stdin=subprocess.DEVNULL,
                    stdout=words,
                    stderr=subprocess.STDOUT,
                    env={"OMP_NUM_THREADS": str(self.threads), **os.environ},
                )
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, blocked)

    def _seconds(self) -> float:
        """Of this start and those before."""
        return (self.said.seconds if self.said else 0.0) + time.monotonic() - self.begun

    def _say(self, word: Word) -> None:
        write_text(Path(self.word), json.dumps(asdict(word)) + "\n")


def read_word(path: Path) -> Word | None:
    """What a job has said last; None before it has begun."""
    try:
        return decode(Word, json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, DecodeError):
        return None
