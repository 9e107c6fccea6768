"""A card of this machine that torch does not compute on, and why: a run on the CPU by mistake takes days."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import torch

_SMI_S = 5.0
_AMD = Path("/dev/kfd")  # the AMD driver's device, which it makes where it finds a GPU
# The newest build that drivers of CUDA 12 (525 and later) run, and one for AMD, whose wheels bring their libraries.
_FOR_CUDA, _FOR_ROCM = "cu128", "rocm6.4"


class UnseenCard(NamedTuple):
    """What is there, and what to do about it."""

    what: str
    fix: str


def unseen_card() -> UnseenCard | None:
    """A GPU that is there and that torch does not compute on; None where there is none, torch sees one, or the user
    hides it (an empty CUDA_VISIBLE_DEVICES, or -1).
    """
    if torch.cuda.is_available() or os.environ.get("CUDA_VISIBLE_DEVICES", "0").strip() in ("", "-1"):
        return None
    if (driver := nvidia_driver()) is not None:
        return _unseen_nvidia(driver)
    if _AMD.exists():
        fix = f"install torch's build for ROCm ({install_line(_FOR_ROCM)})"
        if torch.version.hip:
            fix = "see whether HIP_VISIBLE_DEVICES hides it, and whether you may read /dev/kfd (groups video, render)"
        return UnseenCard(f"an AMD GPU is there, but torch (built for {torch_built_for()}) does not see it", fix)
    for name, backend in (("Apple", torch.backends.mps), ("Intel", getattr(torch, "xpu", None))):
        if backend is not None and backend.is_available():
            return UnseenCard(f"the {name} GPU is not used", "calprobe computes on CUDA and ROCm devices and on CPUs")
    return None


def _unseen_nvidia(driver: str) -> UnseenCard:
    if torch.version.cuda is None:
        what = f"a GPU with driver {driver} is there, but this torch ({torch.__version__}) is CPU-only"
        return UnseenCard(what, f"install torch's build for CUDA ({install_line(_FOR_CUDA)})")
    reason = _reason()
    what = f"a GPU with driver {driver} is there, but torch (built for CUDA {torch.version.cuda}) does not see it"
    if "too old" in reason:
        fix = f"update the driver, or install torch's build for an older CUDA ({install_line(_FOR_CUDA)})"
    else:
        fix = "see whether CUDA_VISIBLE_DEVICES hides it, and whether the driver is as new as torch's CUDA"
    return UnseenCard(f"{what} ({reason})" if reason else what, fix)


def _reason() -> str:
    """What torch says of its CUDA devices; its warning is said once a process only, and perhaps to nobody."""
    init: Any = torch.cuda.init
    with suppress(AssertionError):
        try:
            init()
        except RuntimeError as error:
            return str(error).strip().splitlines()[0].split(". ")[0].removesuffix(".")
    return ""


def install_line(build: str) -> str:
    """The command for another build of torch, `cu128` or `rocm6.4`; pip would take the one that is there for it."""
    return f"pip install --force-reinstall torch --index-url https://download.pytorch.org/whl/{build}"


def torch_built_for() -> str:
    """The kind of card that torch is built for, with the version of its libraries; CPU where there is none."""
    if torch.version.cuda:
        return f"CUDA {torch.version.cuda}"
    return f"ROCm {torch.version.hip}" if torch.version.hip else "CPU"


def nvidia_driver() -> str | None:
    """The version of the NVIDIA driver, as nvidia-smi tells it; None where there is none, or no card."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return None
    command = [tool, "--query-gpu=driver_version", "--format=csv,noheader"]
    with suppress(OSError, subprocess.SubprocessError):
        versions = subprocess.run(command, capture_output=True, text=True, timeout=_SMI_S, check=True).stdout.split()
        return versions[0] if versions else None  # a line for each card
    return None
