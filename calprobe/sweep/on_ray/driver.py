"""Ray's driver, a process of its own: jobs on standard input, what becomes of them on standard output.

Ray ends its driver from within when the cluster is lost, and writes to the terminal as it likes; so the sweep leaves
this process between Ray and itself. Each line is a JSON object; see `engine` for what is said to whom.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TextIO

from calprobe.errors import CalprobeError
from calprobe.messages import reason
from calprobe.runs.lock import START_VARIABLE, SweepStart, locked
from calprobe.sweep.on_ray import nodes, sent_folders, task
from calprobe.sweep.on_ray.needs import Needs, Node

MOST_STARTS = 4  # of a job whose nodes are lost
_MOST_WAITING = 16  # jobs of a kind that Ray is given before there is room for them; it orders them no more
_SECONDS_BETWEEN_LOOKS = 0.1
_SECONDS_FOR_FORMER = 90.0
_SECONDS_WITHOUT_ROOM = 30.0  # in which a node may come back before what fits on no other is given up


@dataclass(slots=True)
class _Job:
    """A job, and how often it was started."""

    order: task.Order
    needs: Needs
    starts: int = 0
    has_begun: bool = False  # at any of its starts
    runs: bool = False
    given: float = 0.0  # when Ray got it


@dataclass(slots=True)
class Driver:
    """Gives jobs to Ray, and hears what became of them."""

    tell: Any  # a function of what is said
    waiting: list[_Job]  # the longest first
    at_once: int | None  # None: as many as there is room for
    asked: list[str]  # what the sweep has asked for meanwhile: stop, kill
    given: dict[Any, _Job] = field(default_factory=dict)  # by reference of the task
    sends: bool = False  # whether a node was seen that has other storage
    desk: Any = None
    nodes: list[Node] = field(default_factory=list)  # looked at where `at_once` bounds what runs

    def run(self) -> None:
        """Until nothing is left to do."""
        import ray

        placement = nodes.on_node(ray.get_runtime_context().get_node_id())
        self.desk = ray.remote(task.Desk).options(num_cpus=0, **placement).remote()
        answered = 0
        over: list[Any] = []
        while self.waiting or self.given:
            if self.at_once is not None and (over or not self.nodes):
                self.nodes = nodes.nodes_of(ray)
            if len(self.asked) > answered:
                answered = len(self.asked)
                self._stop(self.asked[-1] == "kill")
            while (place := self._next()) is not None:
                self._give(self.waiting.pop(place))
            if not self.given:
                continue
            over, _ = ray.wait(list(self.given), num_returns=1, timeout=_SECONDS_BETWEEN_LOOKS)
            self._hear_of_begun()
            for reference in over:
                self._take(reference, self.given.pop(reference))
            self._give_up_what_fits_nowhere()

    def _next(self) -> int | None:
        """The place of the first job that Ray may get now: each kind of need has room of its own to wait in."""
        if self.at_once is not None and len(self.given) >= self.at_once:
            return None
        room: dict[tuple[int, ...], bool] = {}
        for place, job in enumerate(self.waiting):
            if job.needs.kind not in room:
                room[job.needs.kind] = self._has_room(job.needs)
            if room[job.needs.kind]:
                return place
        return None

    def _has_room(self, needs: Needs) -> bool:
        alike = [job for job in self.given.values() if job.needs.kind == needs.kind]
        if self.at_once is None:
            return sum(not job.runs for job in alike) < _MOST_WAITING
        # What waits takes up one of the places, so that no more of a kind are given than may run.
        return len(alike) < max(1, sum(needs.times_on(node) for node in self.nodes))

    def _give(self, job: _Job) -> None:
        import ray

        order = replace(job.order, start=replace(job.order.start, number=job.order.start.number + job.starts))
        run = Path(order.out)
        sent_folders.settle(run)
        files = sent_folders.files_of(run)
        earlier = None
        if self.sends and files:
            earlier = [
                (piece, ray.put(sent_folders.read_piece(str(run), piece))) for piece in sent_folders.pieces_of(files)
            ]
        takes = {"num_cpus": job.needs.cpus, "num_gpus": job.needs.gpus, "memory": job.needs.bytes or None}
        # A job is started again here, with a larger number, and not by Ray.
        reference = (
            ray.remote(task.do)
            .options(**takes, max_retries=0, name=f"calprobe {order.name}")
            .remote(replace(order, has_earlier=bool(files)), earlier, self.desk)
        )
        job.runs, job.given = False, time.monotonic()
        self.given[reference] = job

    def _hear_of_begun(self) -> None:
        import ray

        by_name = {job.order.name: job for job in self.given.values()}
        for name, host in ray.get(self.desk.taken.remote()):
            job = by_name.get(name)
            if job is None:  # a start that Ray had given up
                continue
            job.runs = True
            if not job.has_begun:
                self.tell(started=name, host=host)
            job.has_begun = True

    def _take(self, reference: Any, job: _Job) -> None:
        """What became of a job: over, lost with its node, or never begun."""
        import ray

        try:
            outcome: task.Outcome = ray.get(reference)
            if outcome.exit_code is None:
                if outcome.is_asking and not self.asked:
                    self.sends = True
                    self.waiting.insert(0, job)
                return
            if outcome.left_at is not None:
                nodes.bring(outcome, job.order)
        except ray.exceptions.TaskCancelledError:
            if job.has_begun:
                self._fail(job, "ended with its task; what it has is kept")
        except ray.exceptions.RayTaskError as error:
            self._fail(job, f"could not be done on its node: {_first_line(error.cause or error)}")
        except ray.exceptions.RayError as error:
            self._lost(job, error)
        except OSError as error:
            self._fail(job, f"{job.order.out}: cannot be written: {reason(error)}; make room and run the same again")
        else:
            self._begins_at_last(job)
            self.tell(ended=job.order.name, exit_code=outcome.exit_code, seconds=outcome.seconds)

    def _lost(self, job: _Job, error: Exception) -> None:
        why = _first_line(error)
        if self.asked:
            self._fail(job, f"lost with its node at the end of the sweep: {why}")
        elif job.starts + 1 >= MOST_STARTS:
            self._fail(job, f"lost with its node {MOST_STARTS} times, or killed for its memory: {why}")
        else:
            job.starts += 1
            self.waiting.insert(0, job)
            self.tell(lost=job.order.name, why=why)

    def _fail(self, job: _Job, why: str) -> None:
        """End a job that has no exit code of its own; why is the last that its log says."""
        self._begins_at_last(job)
        log = Path(job.order.log)
        with suppress(OSError):  # on a full disk it cannot be written either
            log.parent.mkdir(parents=True, exist_ok=True)
            with log.open("a", encoding="utf-8") as words:
                words.write(f"calprobe: {why}\n")
        self.tell(ended=job.order.name, exit_code=1, seconds=0.0, why=why)

    def _begins_at_last(self, job: _Job) -> None:
        if not job.has_begun:
            self.tell(started=job.order.name, host="")
            job.has_begun = True

    def _give_up_what_fits_nowhere(self) -> None:
        """Fail jobs for which no node is left, once nothing has begun for a while."""
        import ray

        now = time.monotonic()
        if any(job.runs or now - job.given < _SECONDS_WITHOUT_ROOM for job in self.given.values()):
            return
        remaining = nodes.nodes_of(ray)
        for reference, job in list(self.given.items()):
            job.given = now  # looked at again after as long
            if not any(job.needs.fit(node) for node in remaining):
                del self.given[reference]
                ray.cancel(reference)
                self._fail(job, f"needs {job.needs.shown}, and no node that is left has them")

    def _stop(self, by_force: bool) -> None:
        """Let what runs end by itself, and what has not begun never begin."""
        import ray

        self.waiting.clear()
        ray.get(self.desk.close.remote())
        for reference, job in self.given.items():
            if by_force or not job.runs:
                ray.cancel(reference, force=by_force)


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]


def _why_not_reached(error: BaseException) -> str:
    """Ray says only deep inside that it wants a token, which it sends to no given address unless it is told to."""
    cause: BaseException | None = error
    while cause is not None:
        if "InvalidAuthToken" in str(cause):
            return "it wants its token: set RAY_AUTH_MODE=token, with the token in ~/.ray/auth_token or RAY_AUTH_TOKEN"
        cause = cause.__cause__
    return _first_line(error)


def _jobs(work: Mapping[str, Any]) -> list[_Job]:
    jobs, start = [], SweepStart(**work["start"])
    common = {name: work[name] for name in ("module", "token", "folder")}
    for job in work["jobs"]:
        needs = Needs(**job["needs"])
        hidden = {} if needs.gpus else {"CUDA_VISIBLE_DEVICES": ""}  # cards that Ray was not told of
        environment = {**work["environment"], **hidden}
        order = task.Order(**common, **job["order"], start=start, environment=environment, has_earlier=False)
        jobs.append(_Job(order, needs))
    return jobs


def main() -> None:
    """Connect, say which nodes there are, do the work that is asked for."""
    output = _own_output()

    def tell(**message: Any) -> None:
        with suppress(BrokenPipeError):  # a sweep that was killed hears nothing, and what runs is ended all the same
            output.write(json.dumps(message) + "\n")
            output.flush()

    settings = json.loads(sys.stdin.readline())
    os.chdir(os.sep)  # Ray's workers would import from the current folder
    import ray

    try:
        ray.init(
            address=settings["address"],
            log_to_driver=False,
            logging_level="ERROR",
            namespace="calprobe",
            **({"include_dashboard": False} if settings["address"] == "local" else {}),
        )
        tell(nodes=[asdict(node) for node in nodes.nodes_of(ray, with_cards=True)])
    except Exception as error:  # noqa: BLE001 - Ray has its own for each way of not being reached
        tell(error=_why_not_reached(error))
        return
    line = sys.stdin.readline()
    if not line:
        return
    work = json.loads(line)
    commands: list[str] = []
    threading.Thread(target=_listen, args=(commands,), daemon=True).start()
    try:
        with _alone(work):
            Driver(tell, _jobs(work), work["at_once"], commands).run()
        tell(over=True)
    except (CalprobeError, OSError, ray.exceptions.RayError) as error:
        tell(error=_first_line(error))


@contextmanager
def _alone(work: Mapping[str, Any]) -> Iterator[None]:
    """Wait until the driver of an earlier call, which was killed, has ended what it ran; keep a later one waiting."""
    start = SweepStart(**work["start"])
    os.environ[START_VARIABLE] = start.text
    patience = time.monotonic() + _SECONDS_FOR_FORMER
    while True:
        with ExitStack() as held:
            try:
                held.enter_context(locked(Path(work["token"]).parent))
            except CalprobeError:
                if time.monotonic() > patience:
                    raise
                time.sleep(_SECONDS_BETWEEN_LOOKS)
                continue
            yield
            return


def _own_output() -> TextIO:
    """Standard output for this file alone: what others write there goes where errors go."""
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return output


def _listen(commands: list[str]) -> None:
    """Hear what the sweep asks for; its end is that of the sweep."""
    for line in sys.stdin:
        commands.append(line.strip())
    commands.append("stop")


if __name__ == "__main__":
    main()
