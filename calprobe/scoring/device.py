"""The name of the device that scores, and what multiplies on it: for manifests, remembered budgets and the doctor."""

from __future__ import annotations

import platform
from pathlib import Path

import torch

from calprobe.kernels.onednn import onednn_takes, stretches_pay
from calprobe.scoring.options import Path as ScoringPath


def device_name(device: torch.device) -> str | None:
    """The card's name, or the processor's with what torch uses of it."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{_processor()} ({torch.backends.cpu.get_cpu_capability()})" if device.type == "cpu" else None


def _processor() -> str:
    """The processor's name; `platform` knows no more than its architecture on Linux."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text("utf-8").splitlines() if info.is_file() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def cpu_products(dtype: str, path: ScoringPath) -> str:
    """What makes the float32 products of that path for a model of that dtype on a CPU."""
    # The head multiplies float32, whatever the dtype; the plain path has none of calprobe's products.
    if path == "plain" or not onednn_takes(torch.empty(0)):
        return "torch"
    body = torch.empty(0, dtype=getattr(torch, dtype))
    return "onednn" if stretches_pay(body) else "onednn for the head"
