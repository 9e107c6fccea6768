"""A large sweep: a thousand models, many GPUs, and nodes that fail.

What is known: the tokens of each task, counted by the planner for the one model of the sweeps in `--tasks`, whose
tokenizer is here (replies at their longest), and the order in which `calprobe sweep` starts jobs, which is its own
function. What is assumed, and printed with the result: the sizes of the models, the rates of a card, seconds to start,
and how often something fails. A node that fails takes its jobs along: each loses what it has not yet written, waits for
its turn, starts again and resumes. A job that always fails does so when it has loaded its model.

Three ways to give the jobs out are simulated: longest first, as the engines do; in the order of the file; and longest
first without resuming, so that a job of a lost node begins anew.
"""

from __future__ import annotations

import argparse
import heapq
import random
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

from calprobe.cli.job_commands import job_commands
from calprobe.runs.remembered import Remembered
from calprobe.sweep import Job, Planned, longest_first, read_sweep
from calprobe.sweep.commands import checked_jobs
from calprobe.sweep.workloads import Costs


@dataclass(frozen=True, slots=True)
class Assumed:
    """What no measurement here says; of one card with 80 GB."""

    tflops: float = 400.0  # reached in products, bfloat16
    gb_s: float = 3000.0  # at which a step reads the weights
    step_s: float = 0.02  # of a step of replies, beside reading weights
    at_once: float = 64.0  # replies that are written together
    start_s: float = 30.0  # Python, imports, checks
    read_gb_s: float = 2.0  # weights from storage to the card
    kept_every_s: float = 30.0  # so often a run writes what it has
    card_gb: float = 70.0  # of weights that a card takes, beside all else
    repair_s: float = 900.0  # until a failed node is back


# Parameters in billions, and how many of a hundred models have them: as the hub's text models are spread, roughly.
SIZES = {0.1: 8, 0.4: 12, 1.0: 15, 1.5: 10, 3.0: 15, 7.0: 20, 8.0: 6, 14.0: 6, 32.0: 5, 70.0: 3}


@dataclass(slots=True)
class Work:
    """A job and how far it is."""

    planned: Planned
    cards: int
    load_s: float
    left_s: float  # of work, loading not included
    fails: bool = False


@dataclass(slots=True)
class Outcome:
    """What one way to give jobs out takes."""

    way: str
    wall_h: float = 0.0
    card_h: float = 0.0  # in which cards had a job
    idle: float = 0.0  # share of the time of all cards
    lost_h: float = 0.0  # of cards, in work that was done again, starts included
    node_failures: int = 0
    failed_jobs: int = 0
    simulated_in_s: float = 0.0  # processor time


def tasks_of(files: Sequence[Path]) -> list[Planned]:
    """The jobs of the files' sweeps with their tokens, counted; each sweep is of one model."""
    commands = job_commands()
    costs = Costs(Remembered.read("costs.json"), counting=True)
    found = [planned for file in files for planned in checked_jobs(read_sweep(file, commands.known), commands, costs)]
    if guessed := [each.job.name for each in found if each.cost is None or not each.cost.counted]:
        raise SystemExit(f"{guessed[0]}: its tokens cannot be counted; name a model whose tokenizer is here")
    return found


def seconds_of(task: Planned, parameters: float, cards: int, assumed: Assumed) -> float:
    """Of work on that many cards, which are taken to share it evenly; replies go in steps of one token each."""
    assert task.cost is not None
    reading = 2 * parameters * task.cost.forwarded / (assumed.tflops * 1e12)
    step = assumed.step_s + 2 * parameters / (assumed.gb_s * 1e9) / cards
    return reading / cards + task.cost.generated / assumed.at_once * step


def works(n_models: int, tasks: Sequence[Planned], failing: float, assumed: Assumed, seed: int) -> list[Work]:
    """All jobs of the sweep, in the order of the file; the share `failing` of them always fails."""
    drawn = random.Random(seed)
    found = []
    for number in range(n_models):
        (billions,) = drawn.choices(list(SIZES), list(SIZES.values()))
        parameters, cards = round(billions * 1e9), -int(-2 * billions // assumed.card_gb)
        for task in tasks:
            job = Job(f"m{number}/{task.job.name}", task.job.command, f"m{number}", {}, task.job.out, ())
            load = assumed.start_s + 2 * billions / assumed.read_gb_s
            seconds = seconds_of(task, parameters, cards, assumed)
            planned = replace(task, job=job, parameters=parameters)
            found.append(Work(planned, cards, load, seconds, drawn.random() < failing))
    return found


@dataclass(slots=True)
class Cluster:
    """Nodes of a few cards each, what runs on them, and what will happen."""

    free: list[int]  # cards of each node
    running: list[dict[int, tuple[Work, float]]]  # by node: number of the attempt, its job and when it began
    down_until: list[float]
    events: list[tuple[float, int, str, int]] = field(default_factory=list)  # time, number, what, node
    numbers: count[int] = field(default_factory=count)
    now: float = 0.0

    def place_for(self, cards: int) -> int | None:
        """The fullest node that is up and has so many cards."""
        able = [n for n, free in enumerate(self.free) if free >= cards and self.down_until[n] <= self.now]
        return min(able, key=lambda node: self.free[node], default=None)

    def start(self, work: Work, node: int, seconds: float) -> None:
        """Begin a job that ends after so many seconds unless its node fails."""
        number = next(self.numbers)
        self.free[node] -= work.cards
        self.running[node][number] = work, self.now
        heapq.heappush(self.events, (self.now + seconds, number, "ends", node))

    def will(self, what: str, node: int, after: float) -> None:
        """Let something happen to a node later."""
        heapq.heappush(self.events, (self.now + after, next(self.numbers), what, node))


def simulated(way: str, jobs: Sequence[Work], given: argparse.Namespace, assumed: Assumed) -> Outcome:
    """Run the jobs on nodes that fail once in `--node-mtbf-h` hours each, on average."""
    began, outcome, drawn = time.process_time(), Outcome(way), random.Random(given.seed)
    n_nodes, mtbf_s = given.gpus // given.gpus_each, given.node_mtbf_h * 3600
    cluster = Cluster([given.gpus_each] * n_nodes, [{} for _ in range(n_nodes)], [0.0] * n_nodes)
    waiting = _in_order(way, jobs)
    for node in range(n_nodes):
        cluster.will("fails", node, drawn.expovariate(1 / mtbf_s))
    while waiting or any(cluster.running):
        _start_all_that_fit(cluster, waiting)
        cluster.now, number, what, node = heapq.heappop(cluster.events)
        if what == "ends" and number in cluster.running[node]:
            work, started = cluster.running[node].pop(number)
            cluster.free[node] += work.cards
            outcome.card_h += work.cards * (cluster.now - started) / 3600
            outcome.failed_jobs += work.fails
            outcome.wall_h = cluster.now / 3600
        elif what == "fails":
            outcome.node_failures += 1
            lost = sorted(cluster.running[node].items())
            cluster.running[node] = {}
            for _, (work, started) in lost:
                _lose(work, cluster.now - started, outcome, 0.0 if way == "without resuming" else assumed.kept_every_s)
            waiting[:0] = [work for _, (work, _) in lost]
            cluster.free[node], cluster.down_until[node] = given.gpus_each, cluster.now + assumed.repair_s
            cluster.will("is back", node, assumed.repair_s)
            cluster.will("fails", node, assumed.repair_s + drawn.expovariate(1 / mtbf_s))
    outcome.idle = 1 - outcome.card_h / (outcome.wall_h * n_nodes * given.gpus_each)
    outcome.simulated_in_s = time.process_time() - began
    return outcome


def _in_order(way: str, jobs: Sequence[Work]) -> list[Work]:
    copies = {work.planned.job.name: replace(work) for work in jobs}
    if way == "in the order of the file":
        return list(copies.values())
    return [copies[planned.job.name] for planned in longest_first([work.planned for work in jobs])]


def _start_all_that_fit(cluster: Cluster, waiting: list[Work]) -> None:
    """Behind a job for which there is no room, smaller ones may go first."""
    at = 0
    while at < min(len(waiting), _LOOKED_AT):
        work = waiting[at]
        node = cluster.place_for(work.cards)
        if node is None:
            at += 1
            continue
        cluster.start(waiting.pop(at), node, work.load_s + (0.0 if work.fails else work.left_s))


def _lose(work: Work, ran: float, outcome: Outcome, kept_every_s: float) -> None:
    """Account for an attempt whose node has failed: what it has written need not be done again."""
    worked = max(0.0, ran - work.load_s)
    kept = worked - worked % kept_every_s if kept_every_s else 0.0
    work.left_s -= kept
    outcome.card_h += work.cards * ran / 3600
    outcome.lost_h += work.cards * (ran - kept) / 3600


_LOOKED_AT = 64  # jobs at the head of the queue
WAYS = ("longest first", "in the order of the file", "without resuming")


def add_options(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    parser.add_argument("--tasks", type=Path, nargs="+", required=True, metavar="FILE.toml", help="sweeps of one model")
    parser.add_argument("--models", type=int, default=1000)
    parser.add_argument("--gpus", type=int, default=64)
    parser.add_argument("--gpus-each", type=int, default=8, help="of a node (default: 8)")
    parser.add_argument("--node-mtbf-h", type=float, default=10.0, help="hours between failures of a node (10)")
    parser.add_argument("--failing", type=float, default=0.02, help="share of jobs that always fail")
    parser.add_argument("--seed", type=int, default=0)


def simulate(given: argparse.Namespace) -> dict[str, Any]:
    """Print and return what each way takes."""
    assumed = Assumed()
    tasks = {planned.job.name.rsplit("/", 1)[-1]: planned for planned in tasks_of(given.tasks)}
    jobs = works(given.models, list(tasks.values()), given.failing, assumed, given.seed)
    outcomes = [simulated(way, jobs, given, assumed) for way in WAYS]
    hours = dict.fromkeys(tasks, 0.0)
    for work in jobs:
        hours[work.planned.job.name.rsplit("/", 1)[-1]] += work.cards * (work.load_s + work.left_s) / 3600
    costs = {name: planned.cost for name, planned in tasks.items() if planned.cost is not None}
    print(f"assumed: {', '.join(f'{name} {value:g}' for name, value in asdict(assumed).items())}")
    print(f"{'task':24} {'M tokens':>9} {'M written':>9} {'GPU h':>8}")
    for name, cost in costs.items():
        print(f"{name:24} {cost.forwarded / 1e6:9.2f} {cost.generated / 1e6:9.2f} {hours[name]:8.1f}")
    for outcome in outcomes:
        print(
            f"{outcome.way:26} wall {outcome.wall_h:5.1f} h, {outcome.card_h:6.0f} GPU h, idle {outcome.idle:5.1%}, "
            f"{outcome.node_failures} failures of nodes cost {outcome.lost_h:.1f} GPU h, "
            f"{outcome.failed_jobs} jobs failed"
        )
    names = ("models", "gpus", "gpus_each", "node_mtbf_h", "failing", "seed")
    return {
        "settings": {name: getattr(given, name) for name in names},
        "assumed": asdict(assumed),
        "sizes_percent": SIZES,
        "tasks": {name: asdict(cost) for name, cost in costs.items()},
        "gpu_hours_by_task": {name: round(value, 1) for name, value in hours.items()},
        "outcomes": [asdict(outcome) for outcome in outcomes],
    }
