"""A card of this machine that torch does not compute on, and why: a run on the CPU by mistake takes days."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import torch

from calprobe.messages import reason

_SMI_S = 5.0
_NO_CARD = "No devices were found"
_MODULE = Path("/proc/driver/nvidia/version")  # there without nvidia-smi, which a container may lack
# What torch says where there is no card: no driver, no card behind it, or the toolkit's stub in the driver's place.
_NO_DRIVER = "Found no NVIDIA driver"
_NONE_TO_SEE = (_NO_DRIVER, "No CUDA GPUs", "you might not have a CUDA gpu", "driver is a stub library")
_AMD = Path("/dev/kfd")  # the AMD driver's device, which it makes where it finds a GPU
_OF_AMD = ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
_NONE = ("", "-1", "NoDevFiles")  # values that hide all cards; the last is Slurm's, in a job without one
# The newest build that drivers of CUDA 12 run, which has code for RTX 50, and that those of CUDA 11 do; the last with
# code for V100; and one for AMD, whose wheels bring their libraries.
_FOR_CUDA, _FOR_CUDA_11, _FOR_OLD_CARDS, _FOR_ROCM = "cu128", "cu118", "cu126", "rocm6.4"
_OF_DRIVERS = (((525, 60), _FOR_CUDA), ((450, 80), _FOR_CUDA_11))  # the first driver for each
_OF_VERSIONS = (((12, 0), _FOR_CUDA), ((11, 0), _FOR_CUDA_11))  # likewise by the CUDA of the driver
_NEWEST = "cu130"  # for a card that the build for drivers of CUDA 12 has no code for


class UnseenCard(NamedTuple):
    """What is there, and what to do about it."""

    what: str
    fix: str


class Driver(NamedTuple):
    """The driver's version, None where there is none, or no card; the error of nvidia-smi, else empty."""

    version: str | None
    fault: str = ""


def unseen_card(driver: Driver | None = None) -> UnseenCard | None:
    """A GPU that is there, or may be, that torch does not compute on; None where torch sees one, or none is there.

    Args:
        driver: `nvidia_driver()`, where it was called already.
    """
    if torch.cuda.is_available():
        return None
    driver = driver or nvidia_driver()
    if driver.version is not None:
        return _hidden("CUDA_VISIBLE_DEVICES") or _unseen_nvidia(driver.version)
    if not driver.fault and (unseen := _unseen_by_cuda()) is not None:
        return unseen
    if _AMD.exists():  # with or without an nvidia-smi that is left over
        if (hidden := next(filter(None, map(_hidden, _OF_AMD)), None)) is not None:
            return hidden
        fix = f"install torch's build for ROCm ({install_line(_FOR_ROCM)})"
        if torch.version.hip:
            fix = f"see whether {_OF_AMD[0]} hides it, and whether you may read /dev/kfd (groups video, render)"
        return UnseenCard(f"an AMD GPU is there, but torch (built for {torch_built_for()}) does not see it", fix)
    if driver.fault:
        fix = "mend or restart the GPU's driver; on a machine without a GPU, --device cpu"
        return UnseenCard(f"nvidia-smi is there but fails: {driver.fault}", fix)
    for name, backend in (("Apple", torch.backends.mps), ("Intel", getattr(torch, "xpu", None))):
        if backend is not None and backend.is_available():
            return UnseenCard(f"the {name} GPU is not used", "calprobe computes on CUDA and ROCm devices and on CPUs")
    return None


def _hidden(variable: str) -> UnseenCard | None:
    """What the variable does, if its value is of no card."""
    value = os.environ.get(variable, "0").strip()
    if value not in _NONE:
        return None
    return UnseenCard(f"{variable} is {value or 'empty'}: it hides all cards", "unset it, or use --device cpu")


def _unseen_nvidia(driver: str) -> UnseenCard:
    there = f"a GPU with driver {driver} is there, but"
    if torch.version.cuda is not None:
        return _unused(f"{there} torch (built for CUDA {torch.version.cuda}) does not see it", _reason())
    what = f"{there} this torch ({torch.__version__}) is CPU-only"
    version = re.match(r"(\d+)\.(\d+)", driver)
    build = _build_for((int(version[1]), int(version[2])), _OF_DRIVERS) if version else _FOR_CUDA
    fix = f"install torch's build for CUDA ({install_line(build or _FOR_CUDA)})"
    return UnseenCard(what, fix if build else f"update the driver, and {fix}")


def _build_for(version: tuple[int, int], of: Sequence[tuple[tuple[int, int], str]]) -> str | None:
    """The newest build of torch that runs with a driver; None where no build of a torch that calprobe takes does."""
    return next((build for least, build in of if version >= least), None)


def _unseen_by_cuda() -> UnseenCard | None:
    """What torch says where nothing else tells of a driver; None where that means that there is no card."""
    reason = _reason() if torch.version.cuda is not None else ""
    if not reason or any(words in reason for words in _NONE_TO_SEE):
        return None
    return _unused(f"torch (built for CUDA {torch.version.cuda}) does not see a GPU", reason)


def _unused(what: str, reason: str) -> UnseenCard:
    fix = "see whether CUDA_VISIBLE_DEVICES hides it, and whether the driver is as new as torch's CUDA"
    if "too old" in reason:
        found = re.search(r"found version (\d+)", reason)
        build = _build_for(divmod(int(found[1]) // 10, 100), _OF_VERSIONS) if found else _FOR_CUDA  # 11040 is 11.4
        other = f", or install torch's build for an older CUDA ({install_line(build)})" if build else ""
        fix = f"update the driver{other}"
    elif _NO_DRIVER in reason:
        fix = "if this is a container, start it with the GPUs (docker run --gpus all); else reinstall the driver"
    return UnseenCard(f"{what} ({reason})" if reason else what, fix)


def _reason() -> str:
    """What torch says of its CUDA devices; its warning is said once a process only, and perhaps to nobody."""
    init: Any = torch.cuda.init
    with suppress(AssertionError):
        try:
            init()
        except RuntimeError as error:
            line = str(error).strip().partition("\n")[0]
            by_number = re.search(r"Error \d+: .*", line)  # CUDA's own words, behind a guess of torch
            return (by_number[0] if by_number else line.split(". ")[0]).removesuffix(".")
    return ""


def no_card_here(count: int = 0) -> str:
    """What to say of a GPU that was asked for, where torch sees fewer: how many, and why or what to do."""
    unseen = unseen_card() if count == 0 else None
    return f"torch sees {count} GPU(s) here; {'; '.join(unseen) if unseen else 'use --device auto or cpu'}"


def without_code(device: torch.device) -> UnseenCard | None:
    """A card that this torch has no code for (V100 with CUDA 13), and why; None where it has, or does not say."""
    built_for = _CODE.findall(" ".join(torch.cuda.get_arch_list())) if torch.version.cuda else []
    if not built_for:
        return None
    card = torch.cuda.get_device_capability(device)
    if any(_runs_on(card, *code) for code in built_for):
        return None
    versions = sorted({divmod(int(version), 10) for _, version, _ in built_for})
    shown = ", ".join(f"{major}.{minor}" for major, minor in versions)
    other, build = ("an older", _FOR_OLD_CARDS) if card < versions[0] else ("a newer", _newer_build())
    return UnseenCard(
        f"this torch ({torch_built_for()}) has code for {shown} only",
        f"install torch's build for {other} CUDA ({install_line(build)}), or use --device cpu",
    )


def _newer_build() -> str:
    """The build to install where this one is too old for a card."""
    major, _, minor = (torch.version.cuda or "0").partition(".")
    return _NEWEST if (int(major), int(minor or 0)) >= (12, 8) else _FOR_CUDA


_CODE = re.compile(r"\b(sm|compute)_(\d+)([af]?)\b")  # sm is machine code, compute what the driver compiles from


def _runs_on(card: tuple[int, int], kind: str, version: str, only: str) -> bool:
    """Whether a card of that compute capability runs that code."""
    major, minor = divmod(int(version), 10)
    if only == "a":  # for this very one
        return card == (major, minor)
    if kind == "compute" and not only:
        return card >= (major, minor)
    return card[0] == major and card[1] >= minor


def install_line(build: str) -> str:
    """The command for another build of torch, `cu128` or `rocm6.4`; pip would take the one that is there for it."""
    return f"pip install --force-reinstall torch --index-url https://download.pytorch.org/whl/{build}"


def torch_built_for() -> str:
    """The kind of card that torch is built for, with the version of its libraries; CPU where there is none."""
    if torch.version.cuda:
        return f"CUDA {torch.version.cuda}"
    return f"ROCm {torch.version.hip}" if torch.version.hip else "CPU"


def nvidia_driver() -> Driver:
    """The NVIDIA driver, as nvidia-smi tells it, or its kernel module where that tool is missing."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return Driver(_module_version())
    command = [tool, "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        printed = subprocess.run(command, capture_output=True, text=True, timeout=_SMI_S, check=True).stdout
    except subprocess.TimeoutExpired:
        return Driver(None, f"no answer in {_SMI_S:g} s")
    except OSError as error:
        return Driver(None, reason(error))
    except subprocess.CalledProcessError as error:
        lines = (error.stdout + error.stderr).strip().splitlines()
        line = lines[0].strip() if lines else f"exit code {error.returncode}"
        return Driver(None, "" if line == _NO_CARD else line)
    lines = [] if _NO_CARD in printed else printed.split()
    return Driver(lines[0] if lines else None)  # a line for each card


def _module_version() -> str | None:
    with suppress(OSError):
        found = re.search(r"Kernel Module\b.*?\s(\d+\.[\d.]+)\s", _MODULE.read_text("utf-8", errors="replace"))
        return found[1] if found else None
    return None
