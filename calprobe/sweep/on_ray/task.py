"""A job as a task of Ray: what happens on the node that it is given to."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calprobe.errors import CalprobeError
from calprobe.runs import lock
from calprobe.sweep import tether
from calprobe.sweep.on_ray import sent_folders

_SECONDS_BETWEEN_LOOKS, _SECONDS_BETWEEN_QUESTIONS = 0.05, 1.0
_RUN, _LOG = "run", "log"  # where no storage is shared


@dataclass(frozen=True, slots=True)
class Order:
    """What a node is told of a job."""

    name: str
    start: lock.SweepStart
    module: str  # that runs with the arguments
    arguments: tuple[str, ...]
    out: str  # all absolute, on the machine that has the sweep
    log: str
    token: str  # a file with the sweep's id: a node that sees it shares the storage
    folder: str  # current folder of the sweep
    environment: Mapping[str, str]
    has_earlier: bool  # whether a part of the run is there already


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a job on its node."""

    exit_code: int | None  # None: not begun
    seconds: float = 0.0
    host: str = ""
    node_id: str = ""
    is_asking: bool = False  # not begun: the part that is there already has to be sent along
    left_at: str | None = None  # folder on a node without the sweep's storage, with the run and the log
    files: tuple[tuple[str, int], ...] = ()  # of the run there


class Desk:
    """Where the tasks of a sweep meet its driver: an actor. If it is gone, so is the driver, and each job ends."""

    def __init__(self) -> None:
        self._begun: list[tuple[str, str]] = []
        self._closing = False

    def begins(self, name: str, host: str) -> bool:
        """A job's process is about to start; returns whether it should not."""
        if not self._closing:
            self._begun.append((name, host))
        return self._closing

    def taken(self) -> list[tuple[str, str]]:
        """Jobs and their machines that have begun since the last call."""
        begun, self._begun = self._begun, []
        return begun

    def close(self) -> None:
        """Let all jobs end."""
        self._closing = True

    def is_closing(self) -> bool:
        """Whether jobs should end."""
        return self._closing


def do(order: Order, earlier: Sequence[tuple[Any, Any]] | None, desk: Any) -> Outcome:
    """Do a job on this node, in the run's own folder, or in one of this node if it does not see that.

    Args:
        order: the job.
        earlier: pieces of the run that is to be resumed, and references to their bytes; None: not sent.
        desk: the actor `Desk`.
    """
    import ray

    here = {"host": socket.gethostname(), "node_id": ray.get_runtime_context().get_node_id()}
    work = None if _is_shared(order) else _own_folder(order)
    if work is not None and order.has_earlier and earlier is None:
        return Outcome(None, is_asking=True, **here)
    run = Path(order.out) if work is None else work / _RUN
    _await_former(run, order.start)
    if work is not None and earlier is not None:
        # What an earlier start has left on this node is older than what was sent, or nothing was sent.
        shutil.rmtree(run, ignore_errors=True)
        for piece, reference in earlier:
            sent_folders.write_piece(run, piece, _got(reference))
    if _got(desk.begins.remote(order.name, here["host"])):
        return Outcome(None, **here)
    began = time.monotonic()
    code = _ended(_started(order, run, work), desk)
    seconds = time.monotonic() - began
    if work is None:
        return Outcome(code, seconds, **here)
    return Outcome(code, seconds, **here, left_at=str(work), files=tuple(sent_folders.files_of(run)))


def _is_shared(order: Order) -> bool:
    try:
        return str(json.loads(Path(order.token).read_text(encoding="utf-8"))["id"]) == order.start.sweep
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _own_folder(order: Order) -> Path:
    """A folder of this node; the same one for each start of the same job, which finds what was never brought back."""
    name = hashlib.sha256("\0".join((order.start.sweep, *order.arguments)).encode()).hexdigest()[:16]
    parent = Path(tempfile.gettempdir()) / f"calprobe-{os.getuid()}"
    with suppress(FileExistsError):
        parent.mkdir(mode=0o700)
    # Its name can be guessed, and others can write beside it.
    status = parent.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o022:
        raise CalprobeError(
            f"{socket.gethostname()}: {parent} is no folder that only this user can write to; remove it, or start Ray "
            "there with another TMPDIR"
        )
    parent.chmod(0o700)
    (parent / name).mkdir(exist_ok=True, mode=0o700)
    return parent / name


def _await_former(run: Path, start: lock.SweepStart) -> None:
    """Wait for what an earlier start has left: it ends by its tether, so that waiting has an end too."""
    patience = time.monotonic() + tether.GRACE_S + 5
    while time.monotonic() < patience:
        owner = lock.read_owner(run)
        if owner is None or not start.follows(owner.start) or not (owner.runs or owner.is_elsewhere):
            return
        time.sleep(0.2)


def _started(order: Order, run: Path, work: Path | None) -> subprocess.Popen[bytes]:
    log = Path(order.log) if work is None else work / _LOG
    log.parent.mkdir(parents=True, exist_ok=True)
    words = [f"--out={run}" if word.startswith("--out=") else word for word in order.arguments]
    tied = (sys.executable, "-P", tether.__file__)
    with log.open("wb") as output:
        return subprocess.Popen(
            [*tied, order.module, *words],
            stdin=subprocess.PIPE,  # the tether
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **order.environment, lock.START_VARIABLE: order.start.text},
            cwd=order.folder if Path(order.folder).is_dir() else None,
            start_new_session=True,
        )


def _ended(process: subprocess.Popen[bytes], desk: Any) -> int:
    """The exit code of the process, which is interrupted once if the sweep ends, or this task is cancelled."""
    asked_at, ending = time.monotonic(), False
    try:
        while process.poll() is None:
            time.sleep(_SECONDS_BETWEEN_LOOKS)
            if not ending and time.monotonic() - asked_at > _SECONDS_BETWEEN_QUESTIONS:
                asked_at, ending = time.monotonic(), _is_closing(desk)
                if ending:
                    _interrupt(process)
    except BaseException:
        if not ending:
            _interrupt(process)
        process.wait()
        raise
    return process.returncode


def _is_closing(desk: Any) -> bool:
    import ray

    try:
        return bool(_got(desk.is_closing.remote(), timeout=_SECONDS_BETWEEN_QUESTIONS * 30))
    except ray.exceptions.GetTimeoutError:
        return False
    except ray.exceptions.RayError:
        return True


def _got(reference: Any, timeout: float | None = None) -> Any:
    """`ray.get` in another thread: a task that waits in its main one gives its cores to the next task meanwhile."""
    import ray

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(ray.get, reference, timeout=timeout).result()


def _interrupt(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        process.send_signal(signal.SIGINT)


def read(outcome: Outcome, piece: Sequence[sent_folders.Part]) -> list[bytes]:
    """A piece of the run that a job has left on this node."""
    return sent_folders.read_piece(str(Path(str(outcome.left_at)) / _RUN), piece)


def said(outcome: Outcome) -> bytes:
    """All that a job has said, where it has left it on this node."""
    return (Path(str(outcome.left_at)) / _LOG).read_bytes()


def remove(outcome: Outcome) -> None:
    """Remove what a job has left on this node, when it has been brought back."""
    shutil.rmtree(str(outcome.left_at), ignore_errors=True)


def card_bytes() -> int | None:
    """Memory of the smallest card of this node; None where nvidia-smi cannot tell."""
    query = ["nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits"]
    try:
        output = subprocess.run(query, capture_output=True, text=True, timeout=10, check=True).stdout
        return min(int(line) for line in output.split()) * 2**20
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
