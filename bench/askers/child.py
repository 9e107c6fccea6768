"""One contestant in a process of its own: loads, tries batch sizes on a sample, answers once a turn."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import numpy as np
import torch
from peers.child import peak_mib
from peers.job import Outcome

from askers.contestants import ALL, Asker
from askers.job import AskJob


def run(job_file: Path) -> None:
    """Do what the job says, a repeat for each line on stdin; the answer lies beside the job."""
    channel = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever a peer prints is no answer
    job = AskJob.read(job_file)
    torch.set_num_threads(job.threads)
    contestant = ALL[job.scorer]
    started = time.perf_counter()
    asker: Asker = contestant.load(job)
    load_s = time.perf_counter() - started
    trials = _trials(asker, job)
    batch_size = max(trials, key=lambda size: trials[size])
    print("ready", file=channel, flush=True)
    seconds = []
    labels, texts = np.zeros(0), list[str]()
    for _ in sys.stdin:
        started = time.perf_counter()
        labels, texts = asker.answer(job.prompts, batch_size)
        seconds.append(time.perf_counter() - started)
        print("done", file=channel, flush=True)
    Outcome(
        scorer=job.scorer,
        version=contestant.version(),
        sums=labels,
        batch_size=batch_size,
        trials={str(size): round(speed, 2) for size, speed in trials.items() if size is not None},
        seconds=tuple(round(value, 4) for value in seconds),
        load_s=round(load_s, 2),
        peak_mib=round(peak_mib(), 1),
        facts={"texts": texts},
    ).write(job_file.parent)


def _trials(asker: Asker, job: AskJob) -> dict[int | None, float]:
    """Prompts/s of each batch size on the sample, after one run that counts for nothing."""
    sample = job.thinned()
    sizes = job.batch_sizes or (None,)
    asker.answer(sample[: len(sample) // 4 + 1], sizes[0])
    found: dict[int | None, float] = {}
    for size in sizes:
        started = time.perf_counter()
        asker.answer(sample, size)
        found[size] = len(sample) / (time.perf_counter() - started)
    return found
