"""`calprobe sweep --dry-run` as text: jobs with their costs, when each is expected to run, and the commands."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from calprobe.interrupts import INTERRUPTED
from calprobe.messages import counted

if TYPE_CHECKING:
    from calprobe.sweep import Engine, Job, Planned, Record, Sweep
    from calprobe.sweep.costs import Cost
    from calprobe.sweep.rates import Rates

_NOTES = (
    "tokens: forwarded, with replies at their longest behind the +; ~ counted on a sample and scaled, ? guessed by the "
    "letters, since the tokenizer is not here.",
)


def sweep_preview(sweep: Sweep, planned: Sequence[Planned], engine: Engine) -> str:
    """All jobs in the order of starting, those that are done last."""
    from calprobe.cli.output import listing
    from calprobe.sweep import expected, longest_first, read_record
    from calprobe.sweep.rates import measured_rates

    record = read_record(sweep.out)
    done = {each.job.name for each in planned if record.is_done(each.job)}
    left = [each for each in planned if each.job.name not in done]
    rates = measured_rates(planned, record)
    times: dict[str, tuple[float, float]] = {}
    if rates and left:
        schedule = expected(left, engine.at_once, engine.total_bytes, rates.seconds)
        times = {each.job.name: (start, end) for each, start, end in schedule}
    ordered = [*longest_first(left), *longest_first([each for each in planned if each.job.name in done])]
    rows = [("job", "parameters", "work", "tokens", "state", *(("start", "end") if times else ()))]
    for each in ordered:
        own = times.get(each.job.name)
        state = "done" if each.job.name in done else _state(record, each.job)
        rows.append((*_size(each), state, *(_minutes(own) if times else ())))
    at_once = f"at most {engine.at_once:,} at once" if engine.at_once > 1 else "one after the other"
    lines = [
        listing(rows, "<>>><" + (">>" if times else "")),
        "",
        f"{counted(len(planned), 'job')}, {at_once}, in {sweep.out}{_expected(left, times, rates)}",
        *_notes(planned),
        "",
        *(_shown(each.job) for each in ordered),
    ]
    return "\n".join(lines)


def _size(each: Planned) -> tuple[str, str, str, str]:
    unit = "statements" if each.job.command == "score" else "requests"
    size = "-" if each.parameters is None else f"{each.parameters / 1e6:,.4g} M"
    return each.job.name, size, f"{each.units:,} {unit}", _tokens(each.cost)


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


def _expected(left: Sequence[Planned], times: dict[str, tuple[float, float]], rates: Rates) -> str:
    """How long what is left may take, by what has ended well; empty before any has."""
    if not left:
        return "; all done"
    if not times:
        return "; how long they take is known when the first has ended"
    minutes = max(end for _, end in times.values()) / 60
    by = counted(len(rates.of_jobs), "run")
    return f"; {counted(len(left), 'job')} left, about {minutes:,.0f} min by the rates of {by} that are done"


def _notes(planned: Sequence[Planned]) -> Sequence[str]:
    return _NOTES if any(each.cost is not None for each in planned) else ()


def _state(record: Record, job: Job) -> str:
    last = record.attempts.get(job.name)
    if last is None or not last.exit_code:
        return "to do"
    return "interrupted" if last.exit_code == INTERRUPTED else f"failed ({last.exit_code})"


def _shown(job: Job) -> str:
    return shlex.join(["calprobe", *job.arguments])
