"""A sweep on a Ray cluster: this side of its driver, which is a process of its own.

this process -> driver      {"address": ..}; {"jobs": [..], ..}; then lines "stop" and "kill"
driver -> this process      {"nodes": [..]} or {"error": ..}; then {"started": job}, {"lost": job, "why": ..},
                            {"ended": job, "exit_code": .., "seconds": ..}, at last {"over": true} or {"error": ..}
"""

from __future__ import annotations

import json
import logging
import os
import queue
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, NoReturn

from calprobe.errors import CalprobeError
from calprobe.interrupts import Interrupted
from calprobe.messages import counted, reason, shown
from calprobe.runs.atomic import write_text
from calprobe.sweep.definition import Job
from calprobe.sweep.engine import Ended, Misfit, Started, attempt_at
from calprobe.sweep.job_record import LOGS, log_path
from calprobe.sweep.on_ray.needs import Node, misfits_of, needs_of, places
from calprobe.sweep.order import Planned, longest_first

log = logging.getLogger(__name__)

LOCAL = "local"  # the address of a cluster that is started here and ends with the sweep

_FOLDER, _TOKEN = ".on-ray", "sweep.json"
_STARTS_A_CALL = 1000  # numbers that a call of a sweep has for the starts of a job
_SECONDS_TO_KNOCK, _SECONDS_TO_CONNECT, _SECONDS_TO_END = 10.0, 120.0, 30.0
_LAST_BYTES = 65536  # of what Ray has said
# Ray sends counts of its use to its makers unless it is told not to; nor does it write to the terminal.
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_LOG_TO_DRIVER": "0",
    "RAY_COLOR_PREFIX": "0",
}


@dataclass(slots=True)
class _Line:
    """The driver's process, and what it says, line by line."""

    process: subprocess.Popen[str]
    chatter: IO[bytes]
    heard: queue.SimpleQueue[dict[str, Any] | None] = field(default_factory=queue.SimpleQueue)

    @classmethod
    def opened(cls, place: str) -> _Line:
        chatter = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the process
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "calprobe.sweep.on_ray.driver"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=chatter,
            text=True,
            env={**_token(place), **os.environ, **_QUIET},
            start_new_session=True,  # Ctrl-C reaches it through this process alone
        )
        line = cls(process, chatter)
        # In a thread, so that Ctrl-C cuts no line in two.
        threading.Thread(target=line._listen, daemon=True).start()
        return line

    def _listen(self) -> None:
        for line in self.process.stdout or ():
            self.heard.put(json.loads(line))
        self.heard.put(None)

    def tell(self, what: object) -> None:
        """Say it, if the driver still listens."""
        words = what if isinstance(what, str) else json.dumps(what)
        with suppress(BrokenPipeError):
            if self.process.stdin is not None:
                self.process.stdin.write(f"{words}\n")
                self.process.stdin.flush()

    def close(self) -> None:
        """End the driver, by force where it does not end by itself."""
        with suppress(BrokenPipeError):
            if self.process.stdin is not None:
                self.process.stdin.close()
        try:
            self.process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    @property
    def last_words(self) -> str:
        """What Ray has said last, for a driver that ended without a word of its own."""
        end = self.chatter.seek(0, os.SEEK_END)
        self.chatter.seek(max(0, end - _LAST_BYTES))
        return self.chatter.read().decode("utf-8", errors="replace")


@dataclass(frozen=True, slots=True)
class OnRay:
    """A Ray cluster that has been reached; see `connected`."""

    address: str
    nodes: tuple[Node, ...]
    line: _Line
    jobs: int | None = None  # at once, at most; None: as many as there is room for
    cpus: int | None = None  # of a job
    module: str = "calprobe"  # what runs with a job's arguments

    @property
    def at_once(self) -> int:
        """See `Engine`."""
        n_places = places(self.nodes, self.cpus)
        return n_places if self.jobs is None else min(self.jobs, n_places)

    @property
    def total_bytes(self) -> float:
        """See `Engine`."""
        return float("inf")

    def misfits(self, jobs: Sequence[Planned]) -> list[Misfit]:
        """See `Engine`."""
        return misfits_of(jobs, [needs_of(planned, self.nodes, self.cpus) for planned in jobs], self.nodes)

    def run(self, jobs: Sequence[Planned], out: Path, started: Started, ended: Ended) -> None:
        """See `Engine`. Raises CalprobeError where the cluster is lost."""
        try:
            if jobs:
                self._run(longest_first(jobs), out, started, ended)
        finally:
            self.line.close()

    def _run(self, jobs: Sequence[Planned], out: Path, started: Started, ended: Ended) -> None:
        needs = [needs_of(planned, self.nodes, self.cpus) for planned in jobs]
        for planned in jobs:
            with suppress(OSError):
                log_path(out, planned.job).unlink()  # of an earlier call: a job that never begins has said none of it
        self.line.tell(
            {
                "jobs": [
                    {"order": _order(planned.job, out), "needs": need.to_json()}
                    for planned, need in zip(jobs, needs, strict=True)
                ],
                "module": self.module,
                "at_once": self.jobs,
                "folder": str(Path.cwd()),
                "environment": {"OMP_WAIT_POLICY": os.environ.get("OMP_WAIT_POLICY", "passive")},
                **_start(out),
            }
        )
        remaining = {planned.job.name: planned.job for planned in jobs}
        try:
            self._hear(remaining, out, started, ended)
        except KeyboardInterrupt as error:
            log.info("ending what runs on the cluster; what it has is kept")
            self.line.tell("stop")
            try:
                self._hear(remaining, out, started, ended)
            except KeyboardInterrupt:
                self.line.tell("kill")
                self._hear(remaining, out, started, ended)
            why = f"{str(error) or 'interrupted'}; {counted(len(remaining), 'job')} left to do"
            raise Interrupted(f"{why}.\nRun the same command again to resume") from None

    def _hear(self, left: dict[str, Job], out: Path, started: Started, ended: Ended) -> None:
        """Pass on what becomes of jobs, until all are over; those that end well leave `left`."""
        while True:
            message = self.line.heard.get()
            match message:
                case {"started": str(name)}:
                    started(left[name])
                case {"lost": str(name), "why": why}:
                    log.warning("%s: lost with its node (%s); it begins again", name, why)
                case {"ended": str(name), "exit_code": int(code), "seconds": float(seconds), **told}:
                    attempt = attempt_at(left[name], out, code, seconds)
                    ended(left[name], attempt if attempt.said else replace(attempt, said=str(told.get("why", ""))))
                    if not code:
                        del left[name]
                case {"over": True}:
                    return
                case _:
                    self._raise_lost(message, out, len(left))

    def _raise_lost(self, message: Mapping[str, Any] | None, out: Path, n_left: int) -> NoReturn:
        words = out / LOGS / "ray.log"
        words.parent.mkdir(parents=True, exist_ok=True)
        words.write_text(shown(self.line.last_words), encoding="utf-8")
        why = f" ({message['error']})" if message else ""
        raise CalprobeError(
            f"the Ray cluster at {self.address} was lost{why}, with {counted(n_left, 'job')} left to do: {words}\n"
            "When it is there again, run the same command again to resume"
        )


def connected(address: str | None = None, *, jobs: int | None = None, cpus: int | None = None) -> OnRay:
    """Reach a cluster, or start one on this machine.

    Args:
        address: `auto`, HOST:PORT or ray://HOST:PORT; None: RAY_ADDRESS, and without that a cluster on this machine.
        jobs: at once, at most; None: as many as there is room for.
        cpus: cores of each job; None: see `needs_of`.
    Raises:
        CalprobeError: Ray is not installed, there is no cluster at the address, or it has another version.
    """
    if find_spec("ray") is None:
        raise CalprobeError("--on ray needs the package ray: pip install 'calprobe[ray]'")
    place = address or os.environ.get("RAY_ADDRESS") or LOCAL
    _refuse_closed(place)
    line = _Line.opened(place)
    line.tell({"address": place})
    try:
        answer = line.heard.get(timeout=_SECONDS_TO_CONNECT)
    except queue.Empty:
        answer = {"error": f"no answer within {_SECONDS_TO_CONNECT:.0f} s"}
        line.process.kill()
    except BaseException:
        line.process.kill()
        raise
    if answer is None or "nodes" not in answer:
        line.close()
        why = answer["error"] if answer else (line.last_words.strip().splitlines() or ["it ended without a word"])[-1]
        raise _not_there(place, why)
    return OnRay(place, tuple(Node.of(node) for node in answer["nodes"]), line, jobs, cpus)


def _token(place: str) -> dict[str, str]:
    """Of a cluster that is started here, for as long as it lives; Ray would leave one in the home folder."""
    return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)} if place == LOCAL else {}


def _refuse_closed(place: str) -> None:
    """Ray tries for minutes to reach a port that nothing listens to."""
    host, _, port = place.removeprefix("ray://").rpartition(":")
    if not (host and port.isdigit()):
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), _SECONDS_TO_KNOCK).close()
    except OSError as error:
        raise _not_there(place, reason(error)) from None
    except UnicodeError:
        raise _not_there(place, "that is no address") from None


def _not_there(place: str, why: str) -> CalprobeError:
    fix = "" if place == LOCAL else "\nStart one with `ray start --head`, or leave --ray-address out for one of its own"
    return CalprobeError(f"no Ray cluster at {place}: {why}{fix}")


def _order(job: Job, out: Path) -> dict[str, Any]:
    return {
        "name": job.name,
        "arguments": job.arguments,
        "out": str(job.out.absolute()),
        "log": str(log_path(out, job).absolute()),
    }


def _start(out: Path) -> dict[str, Any]:
    """Who this call of the sweep is, in a file that nodes look for: a later call has the same id and larger numbers."""
    path = out.absolute() / _FOLDER / _TOKEN
    try:
        former = json.loads(path.read_text(encoding="utf-8"))
        identity, calls = str(former["id"]), int(former["calls"]) + 1
    except (OSError, ValueError, KeyError, TypeError):
        identity, calls = secrets.token_hex(8), 1
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps({"id": identity, "calls": calls}) + "\n")
    return {"token": str(path), "start": {"sweep": identity, "number": calls * _STARTS_A_CALL}}
