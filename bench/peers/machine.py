"""What recorded figures hold for: processor or card, threads, versions, date. Never the machine's name."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
from pathlib import Path
from typing import Any

import torch

_PACKAGES = ("torch", "transformers", "triton", "calprobe", "lm-pub-quiz", "lm_eval", "minicons")


def machine(device: str) -> dict[str, Any]:
    """Its description, as it goes into a result file."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text("utf-8").splitlines() if info.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    installed = {distribution.metadata["Name"].lower() for distribution in importlib.metadata.distributions()}
    return {
        "processor": names[0] if names else platform.processor(),
        "cores": os.cpu_count(),
        "isa": torch.backends.cpu.get_cpu_capability(),
        "card": torch.cuda.get_device_name() if device.startswith("cuda") else None,
        "system": platform.system(),
        "python": platform.python_version(),
        "versions": {name: importlib.metadata.version(name) for name in _PACKAGES if name.lower() in installed},
        "load_average": round(os.getloadavg()[0], 2),  # before the first child: what else wanted the cores
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }
