"""One contestant in a process of its own: its memory and its crash are its own.

python bench/harness/child.py JOB      (as harness.process starts it)
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import IO

import torch

sys.path.append(str(Path(__file__).resolve().parents[1]))
from harness.contestants import CONTESTANTS, afterwards
from harness.job import Answer, Job, Loaded, Outcome, read, write


def run(job_file: Path) -> None:
    """Do what the job says, a repeat for each line on stdin; the outcome lies beside the job."""
    # What harness.process listens to; whatever a peer prints goes to stderr from here on.
    channel = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    job: Job = read(job_file)
    torch.set_num_threads(job.threads)
    write(take_part(job, sys.stdin, channel), job_file.with_name("outcome"))


def take_part(job: Job, turns: Iterable[str], channel: IO[str]) -> Outcome:
    """Load, try batch sizes on a sample, answer all items once a turn, and say on the channel when that is done."""
    contestant = CONTESTANTS[job.task][job.scorer]
    started = time.perf_counter()
    loaded = contestant.load(job)
    load_s, loaded_mib = time.perf_counter() - started, peak_mib()
    trials = _trials(loaded, job)
    size = max(trials, key=lambda size: trials[size])
    print("ready", file=channel, flush=True)
    seconds, processor_seconds, counts = list[float](), list[float](), dict[str, list[int]]()
    answer = Answer()
    for repeat, _ in enumerate(turns):
        started, spent = time.perf_counter(), time.process_time()
        answer = loaded.answer(job.items, size, repeat)
        seconds.append(round(time.perf_counter() - started, 4))
        processor_seconds.append(round(time.process_time() - spent, 2))
        for name, value in answer.counts.items():
            counts.setdefault(name, []).append(value)
        print("done", file=channel, flush=True)
    outcome = Outcome(
        scorer=job.scorer,
        version=contestant.version(),
        sums=answer.sums,
        batch_size=size,
        trials={str(size): round(speed, 2) for size, speed in trials.items() if size is not None},
        seconds=tuple(seconds),
        processor_seconds=tuple(processor_seconds),
        load_s=round(load_s, 2),
        peak_mib=round(peak_mib(), 1),
        gpu_peak_mib=_gpu_peak_mib(),
        facts={"loaded_mib": round(loaded_mib, 1), **answer.facts, **counts},
    )
    return replace(outcome, facts=outcome.facts | afterwards(loaded, job))


def _trials(loaded: Loaded, job: Job) -> dict[int | None, float]:
    """Units a second of each batch size on a sample, after one run that counts for nothing; also the warm-up."""
    sample, sizes = job.sample(), job.batch_sizes or (None,)
    loaded.answer(sample, sizes[0], 0)
    found: dict[int | None, float] = {}
    for size in sizes:
        started = time.perf_counter()
        try:
            loaded.answer(sample, size, 0)
        except torch.OutOfMemoryError:
            print(f"batches of {size}: out of memory", file=sys.stderr)
            torch.cuda.empty_cache()
            continue
        found[size] = job.count(sample) / (time.perf_counter() - started)
    return found


def peak_mib() -> float:
    """Largest resident set of this process so far; Linux counts in KiB, macOS in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def _gpu_peak_mib() -> float | None:
    return round(torch.cuda.max_memory_allocated() / 2**20, 1) if torch.cuda.is_available() else None


if __name__ == "__main__":
    run(Path(sys.argv[1]))
