"""Where calprobe's time goes on one slice: its stages by the clock, and the operators that torch counts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import torch
from torch.profiler import ProfilerActivity
from torch.profiler import profile as torch_profile

from peers.calprobe import Calprobe
from peers.job import Piece

_OPERATORS = 12


def profile(scorer: Calprobe, pieces: Sequence[Piece]) -> dict[str, Any]:
    """Seconds of tokenising, planning and all; and each operator's share of the time in operators, largest first."""
    started = time.perf_counter()
    scorer.counts(pieces)
    planned = time.perf_counter()
    scorer.score(pieces, None)
    scored = time.perf_counter()
    activities = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * torch.cuda.is_available()
    with torch_profile(activities=activities) as recorded:
        scorer.score(pieces, None)
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
