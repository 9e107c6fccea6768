"""What a sweep would do, as a dry run gives it: jobs with their costs, when each is expected to run, the commands."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from calprobe.interrupts import INTERRUPTED
from calprobe.messages import counted, listing
from calprobe.sweep.definition import Job, Sweep
from calprobe.sweep.engine import Engine, Misfit
from calprobe.sweep.job_record import Record, read_record
from calprobe.sweep.order import Planned, expected, longest_first
from calprobe.sweep.rates import measured_rates
from calprobe.sweep.workloads import Cost

_NOTE = (
    "tokens: forwarded, with replies at their longest behind the +; ~ counted on a sample and scaled, ? guessed by the "
    "letters, since the tokenizer is not here."
)


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """What a sweep would do; `str` of it is a table for people."""

    out: Path
    jobs: tuple[Planned, ...]  # in the order of starting; those that are done come last
    states: Mapping[str, str]  # by job: `done`, `to do`, `interrupted` or `failed (EXIT CODE)`
    times: Mapping[str, tuple[float, float]]  # by job: its expected start and end in seconds from now, where known
    n_timed: int  # runs that are done, whose rates the times are from
    at_once: int  # jobs, at most
    misfits: tuple[Misfit, ...]  # jobs that could never run there, which a sweep that is no dry run refuses

    def __str__(self) -> str:
        rows = [("job", "parameters", "work", "tokens", "state", *(("start", "end") if self.times else ()))]
        for planned in self.jobs:
            times = _minutes(self.times.get(planned.job.name)) if self.times else ()
            rows.append((*_size(planned), self.states[planned.job.name], *times))
        at_once = f"at most {self.at_once:,} at once" if self.at_once > 1 else "one after the other"
        lines = [
            listing(rows, "<>>><" + (">>" if self.times else "")),
            "",
            f"{counted(len(self.jobs), 'job')}, {at_once}, in {self.out}{self._expected()}",
            *((_NOTE,) if any(planned.cost is not None for planned in self.jobs) else ()),
            "",
            *(shlex.join(["calprobe", *planned.job.arguments]) for planned in self.jobs),
        ]
        return "\n".join(lines)

    def _expected(self) -> str:
        """How long what is left may take, by what has ended well; it is not known before any has."""
        n_left = sum(state != "done" for state in self.states.values())
        if not n_left:
            return "; all done"
        if not self.times:
            return "; how long they take is known when the first has ended"
        minutes = max(end for _, end in self.times.values()) / 60
        by = counted(self.n_timed, "run")
        return f"; {counted(n_left, 'job')} left, about {minutes:,.0f} min by the rates of {by} that are done"


def plan_of_sweep(sweep: Sweep, planned: Sequence[Planned], engine: Engine) -> SweepPlan:
    """All jobs of a sweep, as an engine would run them."""
    record = read_record(sweep.out)
    states = {job.name: _state(record, job) for job in sweep.jobs}
    done = [job for job in planned if states[job.job.name] == "done"]
    remaining = [job for job in planned if states[job.job.name] != "done"]
    rates = measured_rates(planned, record)
    schedule = expected(remaining, engine.at_once, engine.total_bytes, rates.seconds) if rates and remaining else ()
    return SweepPlan(
        out=sweep.out,
        jobs=(*longest_first(remaining), *longest_first(done)),
        states=states,
        times={job.job.name: (start, end) for job, start, end in schedule},
        n_timed=len(rates.of_jobs) if schedule else 0,
        at_once=engine.at_once,
        misfits=tuple(engine.misfits(remaining)),
    )


def _state(record: Record, job: Job) -> str:
    if record.is_done(job):
        return "done"
    last = record.attempts.get(job.name)
    if last is None or not last.exit_code:
        return "to do"
    return "interrupted" if last.exit_code == INTERRUPTED else f"failed ({last.exit_code})"


def _size(planned: Planned) -> tuple[str, str, str, str]:
    unit = "statements" if planned.job.command == "score" else "requests"
    size = "-" if planned.parameters is None else f"{planned.parameters / 1e6:,.4g} M"
    return planned.job.name, size, f"{planned.units:,} {unit}", _tokens(planned.cost)


def _tokens(cost: Cost | None) -> str:
    if cost is None:
        return "-"
    mark = "?" if not cost.counted else "" if cost.exact else "~"
    replies = f" + {_rounded(cost.generated)}" if cost.generated else ""
    return f"{mark}{_rounded(cost.forwarded)}{replies}"


def _rounded(tokens: int) -> str:
    """Three digits of large numbers.

    >>> [_rounded(tokens) for tokens in (950, 12_345, 4_567_890)]
    ['950', '12.3 k', '4.57 M']
    """
    for size, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if tokens >= size:
            return f"{tokens / size:.3g} {unit}"
    return f"{tokens:,}"


def _minutes(times: tuple[float, float] | None) -> tuple[str, str]:
    """Minutes from now; nothing of a job that is done."""
    return ("-", "-") if times is None else (f"{times[0] / 60:,.1f} min", f"{times[1] / 60:,.1f} min")
