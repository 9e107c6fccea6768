"""What recorded figures hold for: processor or card, threads, versions, date. Never the machine's name."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import resource
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil
import torch

_IDLE = ("idle", "iowait", "steal", "guest", "guest_nice")  # a guest's time is in the user's already
PACKAGES = ("torch", "transformers", "triton", "calprobe", "lm-pub-quiz", "lm_eval", "minicons")


def machine(device: str, packages: Sequence[str] = PACKAGES) -> dict[str, Any]:
    """Its description, as it goes into a result file, with the versions of those packages that are installed."""
    installed = {distribution.metadata["Name"].lower() for distribution in importlib.metadata.distributions()}
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "isa": torch.backends.cpu.get_cpu_capability(),
        "card": torch.cuda.get_device_name(device) if device.startswith("cuda") else None,
        "system": platform.system(),
        "python": platform.python_version(),
        "versions": {name: importlib.metadata.version(name) for name in packages if name.lower() in installed},
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }


def _processor() -> str:
    """Its name, with the family that tells generations of one name apart (AMD EPYC: 25 is Zen 4 here, 26 is Zen 5)."""
    info = Path("/proc/cpuinfo")
    lines = [line.partition(":") for line in info.read_text("utf-8").splitlines()] if info.is_file() else []
    found = {name.strip(): value.strip() for name, _, value in lines}  # all cores say the same
    if "model name" not in found:
        return platform.processor()
    return found["model name"] + (f", family {found['cpu family']}" if "cpu family" in found else "")


class Company:
    """How many cores other processes kept busy meanwhile: figures of a shared machine say so."""

    def __init__(self) -> None:
        """Begin to count."""
        self._started, self._others = time.perf_counter(), _others_seconds()

    def cores(self) -> float:
        """Their average since the beginning; children of this process count once they have been waited for."""
        elapsed = time.perf_counter() - self._started
        return round(max(0.0, (_others_seconds() - self._others) / elapsed), 2)


def _others_seconds() -> float:
    """Processor seconds of the machine minus those of this process and its ended children."""
    busy = sum(value for name, value in psutil.cpu_times()._asdict().items() if name not in _IDLE)
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        busy -= usage.ru_utime + usage.ru_stime
    return float(busy)
