"""A probe of two small relations, and a model that runs out of memory: what tests of scoring share."""

from __future__ import annotations

from typing import Any

import torch

from calprobe.probes import Instance, Probe, Relation

PROBE = Probe(
    name="two",
    relations=(
        Relation(
            name="capital",
            candidates=("Paris", "Rome", "Oslo"),
            instances=(Instance(0, "France", 0), Instance(1, "Italy", 1), Instance(2, "Norway", 2)),
            templates=("The capital of [X] is [Y].", "[Y] is the capital of [X]."),
        ),
        Relation(
            name="continent",
            candidates=("Europe", "Asia"),
            instances=(Instance(0, "France", 0), Instance(1, "Japan", 1), Instance(2, "China", 1)),
            templates=("[X] lies in [Y].", "[Y] is where [X] lies."),
        ),
    ),
    fingerprint="f" * 64,
)

CPU_MESSAGE = "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried ..."


class LimitedMemory:
    """Stands between a run and its model: a pass of more than `n_tokens` fails, from the pass after `well` on."""

    def __init__(self, network: torch.nn.Module) -> None:
        self.n_tokens, self.well, self.passes = 10**9, 0, 0
        self.hook = network.register_forward_pre_hook(self._look, with_kwargs=True)

    def _look(self, network: torch.nn.Module, args: Any, given: dict[str, torch.Tensor]) -> None:
        self.passes += 1
        if self.passes > self.well and given["input_ids"].numel() > self.n_tokens:
            raise RuntimeError(CPU_MESSAGE)
