"""One contestant in a process of its own: its memory and its crash are its own."""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch

from peers.calprobe import Calprobe
from peers.job import Job, Outcome, Piece
from peers.profile import profile
from peers.roof import flop, matrix_peak, weight_shapes
from peers.scaling import scaling
from peers.scorers import ALL, Scorer


def run(job_file: Path) -> None:
    """Do what the job says, a repeat for each line on stdin; the answer lies beside the job (`Outcome.read`)."""
    channel = _own_stdout()
    job = Job.read(job_file)
    torch.set_num_threads(job.threads)
    take_part(job, sys.stdin, channel).write(job_file.parent)


def take_part(job: Job, turns: Iterable[str], channel: IO[str]) -> Outcome:
    """Load, score once a turn, and say on the channel when that is done."""
    contestant = ALL[job.scorer]
    started = time.perf_counter()
    scorer = contestant.load(job.model)
    if isinstance(scorer, Calprobe):
        scorer = scorer.ready(job.pieces)
    load_s = time.perf_counter() - started
    loaded_mib = peak_mib()
    trials = _trials(scorer, thinned(job.pieces, job.sample_statements), job.batch_sizes)
    batch_size = max(trials, key=lambda size: trials[size])
    seconds, sums = [], np.zeros(0)
    print("ready", file=channel, flush=True)
    for _ in turns:
        started = time.perf_counter()
        sums = scorer.score(job.pieces, batch_size)
        seconds.append(time.perf_counter() - started)
        print("done", file=channel, flush=True)
    outcome = Outcome(
        scorer=job.scorer,
        version=contestant.version(),
        sums=sums,
        batch_size=batch_size,
        trials={str(size): round(speed, 2) for size, speed in trials.items() if size is not None},
        seconds=tuple(round(value, 4) for value in seconds),
        load_s=round(load_s, 2),
        peak_mib=round(peak_mib(), 1),
        gpu_peak_mib=_gpu_peak_mib(job.model.device),
        facts={"loaded_mib": round(loaded_mib, 1)},
    )
    if isinstance(scorer, Calprobe):
        facts: dict[str, Any] = {"path": scorer.way_for(job.pieces).path, **scorer.counts(job.pieces)}
        facts["weights_mib"] = round(sum(p.numel() * p.element_size() for p in scorer.network.parameters()) / 2**20, 1)
        outcome = replace(outcome, facts=outcome.facts | facts | _afterwards(scorer, job))
    return outcome


def _own_stdout() -> IO[str]:
    """What `process.Process` listens to; whatever a peer prints goes to stderr from here on."""
    channel = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return channel


def _afterwards(scorer: Calprobe, job: Job) -> dict[str, Any]:
    """What is not part of the contest, measured once its figures are taken."""
    if job.then == "analyse":
        shapes = weight_shapes(scorer.network, scorer.counts(job.pieces))
        return {
            "flop": flop(shapes),
            "roof": matrix_peak(scorer.network, shapes),
            "profile": profile(scorer, job.pieces),
        }
    if job.then == "scale":
        return {"scaling": scaling(scorer, job.pieces)}
    return {}


def thinned(pieces: Sequence[Piece], n_statements: int) -> tuple[Piece, ...]:
    """About `n_statements` of them: complete instances, evenly spread; if one is too many, its first candidates."""
    units = [(piece, subject) for piece in pieces for subject in piece.subjects]
    total = sum(piece.n_statements for piece in pieces)
    n_units = max(1, min(len(units), round(len(units) * n_statements / total)))
    at_most = n_statements if n_units == 1 else None  # candidates
    kept = [units[place * len(units) // n_units] for place in range(n_units)]
    by_piece: dict[Piece, list[str]] = {}
    for piece, subject in kept:
        by_piece.setdefault(piece, []).append(subject)
    return tuple(
        replace(piece, subjects=tuple(subjects), candidates=piece.candidates[:at_most])
        for piece, subjects in by_piece.items()
    )


def _trials(scorer: Scorer, sample: Sequence[Piece], batch_sizes: Sequence[int]) -> dict[int | None, float]:
    """Statements/s of each batch size on a sample, after one run that counts for nothing; also the warm-up."""
    n_statements = sum(piece.n_statements for piece in sample)
    sizes: Sequence[int | None] = batch_sizes or [None]
    scorer.score(sample, sizes[0])
    found: dict[int | None, float] = {}
    for size in sizes:
        started = time.perf_counter()
        try:
            scorer.score(sample, size)
        except torch.OutOfMemoryError:
            print(f"batches of {size}: out of memory", file=sys.stderr)
            torch.cuda.empty_cache()
            continue
        found[size] = n_statements / (time.perf_counter() - started)
    return found


def peak_mib() -> float:
    """Largest resident set of this process so far; Linux counts in KiB, macOS in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def _gpu_peak_mib(device: str) -> float | None:
    return round(torch.cuda.max_memory_allocated() / 2**20, 1) if device.startswith("cuda") else None
