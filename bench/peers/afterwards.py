"""What calprobe's statements take beside time: counts, the machine's roof, operators, and growth along one axis."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from peers.calprobe import Calprobe
from peers.roof import flop, matrix_peak, weight_shapes
from peers.statements import Piece, ScoreJob

CANDIDATES, TEMPLATES, INSTANCES = (5, 10, 20, 40, 60), (1, 2, 4, 8, 12), (5, 15, 30, 60)
_FEW, _SOME = 3, 20  # instances, where another axis is walked
_OPERATORS = 12


def facts(scorer: Any, job: ScoreJob) -> dict[str, Any]:
    """What is not part of the contest, measured once its figures are taken; of peers nothing."""
    if not isinstance(scorer, Calprobe):
        return {}
    counts = scorer.counts(job.pieces)
    weights = sum(parameter.numel() * parameter.element_size() for parameter in scorer.network.parameters())
    found: dict[str, Any] = {"path": scorer.way_for(job.pieces).path, **counts}
    found["weights_mib"] = round(weights / 2**20, 1)
    if job.then == "analyse":
        shapes = weight_shapes(scorer.network, counts)
        found |= {"flop": flop(shapes), "roof": matrix_peak(scorer.network, shapes)}
        found["profile"] = profiled(scorer, job.pieces)
    if job.then == "scale":
        found["scaling"] = scaling(scorer, job.pieces)
    return found


def profiled(scorer: Calprobe, pieces: Sequence[Piece]) -> dict[str, Any]:
    """Seconds of tokenising, planning and all; and each operator's share of the time in operators, largest first."""
    started = time.perf_counter()
    scorer.counts(pieces)
    planned = time.perf_counter()
    scorer.answer(pieces)
    scored = time.perf_counter()
    activities = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * torch.cuda.is_available()
    with profile(activities=activities) as recorded:
        scorer.answer(pieces)
    on_card = scorer.model.device.type == "cuda"
    times = {
        event.key: event.self_device_time_total if on_card else event.self_cpu_time_total
        for event in recorded.key_averages()
    }
    total = sum(times.values())
    largest = sorted(times, key=lambda name: -times[name])[:_OPERATORS]
    return {
        "tokenise_and_plan_s": round(planned - started, 4),
        "all_s": round(scored - planned, 4),
        "operators": {name: round(times[name] / total, 4) for name in largest},
    }


def scaling(scorer: Calprobe, pieces: Sequence[Piece]) -> list[dict[str, Any]]:
    """A row for each value of each axis, run once, already warm; what the relation is too small for is left out."""
    rows = []
    for axis, value, cut in _cuts(pieces):
        started = time.perf_counter()
        scorer.answer(cut)
        seconds = time.perf_counter() - started
        row: dict[str, Any] = {
            "axis": axis,
            "value": value,
            "statements": sum(piece.n_statements for piece in cut),
            **scorer.counts(cut),
        }
        rows.append(row | {"seconds": round(seconds, 3), "statements_per_s": round(row["statements"] / seconds, 1)})
    return rows


def _cuts(pieces: Sequence[Piece]) -> Iterator[tuple[str, int, list[Piece]]]:
    first = pieces[0]
    for value in CANDIDATES:
        if value <= len(first.candidates):
            yield "candidates", value, [_cut(first, _SOME, value)]
    for value in TEMPLATES:
        if value <= len(pieces):
            yield "templates", value, [_cut(piece, _FEW, len(first.candidates)) for piece in pieces[:value]]
    for value in INSTANCES:
        if value <= len(first.subjects):
            yield "instances", value, [_cut(first, value, len(first.candidates))]


def _cut(piece: Piece, instances: int, candidates: int) -> Piece:
    return replace(piece, subjects=piece.subjects[:instances], candidates=piece.candidates[:candidates])
