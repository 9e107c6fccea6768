"""What runs a sweep's jobs, by the name that `--on` gives it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calprobe.sweep import Engine, Planned


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """What the command line says of an engine."""

    jobs: int | None = None  # at once; None: as many as the engine finds room for
    own: Mapping[str, Any] = field(default_factory=dict)  # parameters that begin with an engine's name


def engine_of(name: str, options: EngineOptions) -> Engine:
    """The engine of that name, a key of `ENGINES`; raises CalprobeError where it is not installed or not reached."""
    return ENGINES[name](options)


def _local(options: EngineOptions) -> Engine:
    import torch

    from calprobe.models.memory import free_bytes
    from calprobe.sweep import Local

    cards = _visible_cards()
    if cards:
        own = torch.cuda.get_device_properties
        card_bytes = min(int(own(number).total_memory) for number in range(len(cards)))
        return Local(
            tuple({"CUDA_VISIBLE_DEVICES": card} for card in cards),
            jobs=options.jobs,
            places_of=lambda planned: _cards_of(planned, len(cards), card_bytes),
        )
    count = options.jobs or 1
    threads = str(max(1, (os.cpu_count() or 1) // count))
    place = {} if count == 1 or "OMP_NUM_THREADS" in os.environ else {"OMP_NUM_THREADS": threads}
    return Local((place,) * count, float(free_bytes(torch.device("cpu"))))


def _cards_of(planned: Planned, count: int, card_bytes: int) -> int:
    """GPUs of a job, all of them at most where its device map uses what there is."""
    from calprobe.sweep.gpus import gpus_of

    needed = gpus_of(planned, count, card_bytes)
    return min(needed, count) if "device-map" in planned.job.options else needed


def _visible_cards() -> list[str]:
    """The cards of this process by the names that CUDA_VISIBLE_DEVICES has for them."""
    import torch

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    named = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
    return named[:count] if named else [str(number) for number in range(count)]


def _slurm(options: EngineOptions) -> Engine:
    from calprobe.cli.sweep_slurm import engine_on_slurm

    return engine_on_slurm(options.jobs, options.own)


def _ray(options: EngineOptions) -> Engine:
    from calprobe.cli.sweep_ray import engine_on_ray

    return engine_on_ray(options.jobs, options.own)


ENGINES: Mapping[str, Callable[[EngineOptions], Engine]] = {"local": _local, "ray": _ray, "slurm": _slurm}
