"""The machine that scores: system, processor, memory, the GPUs that torch sees, and what compiles kernels for them."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from calprobe.doctor.diagnosis import Check, Look, State
from calprobe.doctor.kernel_trials import INSTALL_COMPILER, OLDEST_CAPABILITY, try_kernels

GIB = 1024**3


def _system() -> Check:
    return Check("system", "ok", f"{platform.system()} {platform.release()} {platform.machine()}")


def _processor() -> Check:
    import torch

    from calprobe.scoring.device import device_name

    name = device_name(torch.device("cpu"))
    return Check("processor", "ok", f"{name}", facts={"name": name})


def _threads() -> Check:
    import torch

    from calprobe.metrics.resamples import thread_count

    used, allowed = torch.get_num_threads(), thread_count()
    quota = _processor_quota()
    facts = {"torch": used, "allowed": allowed, "quota": quota, "processors": os.cpu_count()}
    text = f"{used}, of {os.cpu_count()} processors"
    if quota is not None and used > max(1.0, quota):
        fix = f"set OMP_NUM_THREADS={max(1, int(quota))}"
        return Check("threads", "note", f"{text}; the container may use {quota:g}", fix, facts)
    return Check("threads", "ok", text, facts=facts)


def _processor_quota() -> float | None:
    """Processors' worth of time that the container may use; None where there is no such limit."""
    from calprobe.models import memory as model_memory

    with suppress(OSError, ValueError):
        quota, period = (model_memory.CGROUP / "cpu.max").read_text().split()
        return int(quota) / int(period)
    return None


def _products() -> Check:
    from calprobe.scoring.device import cpu_products

    used = cpu_products("float32", "tree")
    return Check("products", "ok", f"{used} (float32 on the CPU)", facts={"float32": used})


def _memory() -> Check:
    import psutil
    import torch

    from calprobe.models.memory import total_bytes

    memory, allowed = psutil.virtual_memory(), total_bytes(torch.device("cpu"))
    limit = allowed if allowed < memory.total else None
    limited = "no container limit" if limit is None else f"container limit {limit / GIB:.1f} GiB"
    text = f"{memory.available / GIB:.1f} GiB free of {memory.total / GIB:.1f}, {limited}"
    facts = {"free_bytes": memory.available, "total_bytes": memory.total, "limit_bytes": limit}
    return Check("memory", "ok", text, facts=facts)


def _gpus() -> Iterator[Check]:
    import torch

    from calprobe.models.unseen_card import nvidia_driver, torch_built_for, unseen_card

    driver = nvidia_driver()
    fault = f"not known; nvidia-smi fails: {driver.fault}" if driver.fault else "none of NVIDIA"
    yield Check("driver", "ok", driver.version or fault, facts={"nvidia": driver.version})
    yield _toolkit()
    if torch.cuda.is_available():
        yield from map(_card, range(torch.cuda.device_count()))
        return
    unseen, facts = unseen_card(driver), {"reason": _torch_reason()}
    if unseen is None:
        yield Check("cuda", "note", f"none: torch sees no GPU (built for {torch_built_for()})", facts=facts)
    else:
        yield Check("cuda", "note", unseen.what, unseen.fix, facts)


def _torch_reason() -> str:
    """Why torch uses no CUDA device, in its own words; empty where it does not say."""
    import torch

    from calprobe.models.libraries import first_line

    try:
        torch.cuda.init()  # type: ignore[no-untyped-call]
    except (AssertionError, RuntimeError) as error:
        return first_line(error)
    return ""


def _toolkit() -> Check:
    """The libraries that torch computes with, and the CUDA toolkit of the machine, which calprobe does not need."""
    from torch.utils import collect_env

    from calprobe.models.unseen_card import torch_built_for

    built_for, nvcc = torch_built_for(), collect_env.get_running_cuda_version(collect_env.run)  # type: ignore[no-untyped-call]
    text = f"torch is built for {built_for}{f'; nvcc {nvcc} is installed' if nvcc else ''}"
    return Check("toolkit", "ok", text, facts={"torch": built_for, "nvcc": nvcc})


def _card(index: int) -> Check:
    import torch

    from calprobe.models.unseen_card import without_code

    name, capability = torch.cuda.get_device_name(index), torch.cuda.get_device_capability(index)
    free, total = torch.cuda.mem_get_info(index)
    version = ".".join(map(str, capability))
    facts = {"index": index, "name": name, "capability": version, "free_bytes": free, "total_bytes": total}
    text = f"{name}, compute capability {version}, {free / GIB:.1f} GiB free of {total / GIB:.1f}"
    if (missing := without_code(torch.device("cuda", index))) is not None:
        state: State = "note" if index else "fail"  # --device auto takes the first
        return Check(f"cuda:{index}", state, f"{text}; {missing.what}", missing.fix, facts)
    if capability < OLDEST_CAPABILITY:
        oldest = ".".join(map(str, OLDEST_CAPABILITY))
        return Check(f"cuda:{index}", "note", f"{text}; older than {oldest}, the oldest that is tested", facts=facts)
    return Check(f"cuda:{index}", "ok", text, facts=facts)


def _compiler() -> Check:
    """What Triton builds the launchers of its kernels with: a C compiler and Python's headers."""
    import torch

    needed = torch.cuda.is_available()
    command = os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang")
    version = _version_of(command) if command else ""
    headers = (Path(sysconfig.get_paths()["include"]) / "Python.h").is_file()
    facts = {"command": command, "version": version, "python_h": headers}
    if not version:
        what = f"{command} does not run" if command else "none"
        fix = INSTALL_COMPILER
        if os.environ.get("CC"):
            fix = "unset CC, or set it to one program (gcc): Triton runs its whole value as one"
        return Check("compiler", "note" if needed else "ok", what, fix if needed else "", facts)
    if not headers:
        package = f"python{sys.version_info.major}.{sys.version_info.minor}-dev"
        fix = f"install Python's headers (apt: {package}): Triton compiles against them" if needed else ""
        return Check("compiler", "note" if needed else "ok", f"{version}; no Python.h", fix, facts)
    return Check("compiler", "ok", f"{version}; Python.h is there", facts=facts)


def _version_of(command: str) -> str:
    """The first line of what a program says of its version; empty where it does not run, as Triton would run it."""
    from torch.utils import collect_env

    try:
        printed: str = collect_env.run([command, "--version"])[1]  # type: ignore[no-untyped-call]
    except OSError:  # CC="ccache gcc" names no program
        return ""
    return printed.partition("\n")[0]


MACHINE_LOOKS: tuple[tuple[str, Look], ...] = (
    ("system", _system),
    ("processor", _processor),
    ("threads", _threads),
    ("products", _products),
    ("memory", _memory),
)
DEVICE_LOOKS: tuple[tuple[str, Look], ...] = (("cuda", _gpus),)
KERNEL_LOOKS: tuple[tuple[str, Look], ...] = (("compiler", _compiler), ("triton", try_kernels))
