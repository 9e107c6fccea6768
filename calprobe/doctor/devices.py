"""The machine that scores: system, processor, memory, and the GPUs that torch sees."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from calprobe.doctor.diagnosis import Check, Look

GIB = 1024**3
# The kernels are compiled for these by the tests; Triton itself takes older cards too.
_TESTED_CAPABILITIES = ((8, 0), (9, 0))
_CGROUP = Path("/sys/fs/cgroup")
_MEMORY_LIMITS = ("memory.max", "memory/memory.limit_in_bytes")  # of the two versions of control groups
_NO_LIMIT = 2**60  # bytes; version 1 says "none" with a number near 2**63
_SMI_S = 5.0


def _system() -> Check:
    return Check("system", "ok", f"{platform.system()} {platform.release()} {platform.machine()}")


def _processor() -> Check:
    import torch

    from calprobe.scoring.record import device_name

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
        mend = f"set OMP_NUM_THREADS={max(1, int(quota))}"
        return Check("threads", "note", f"{text}; the container may use {quota:g}", mend, facts)
    return Check("threads", "ok", text, facts=facts)


def _processor_quota() -> float | None:
    """Processors' worth of time that the container may use; None where there is no such limit."""
    with suppress(OSError, ValueError):
        quota, period = (_CGROUP / "cpu.max").read_text().split()
        return int(quota) / int(period)
    return None


def _products() -> Check:
    import torch

    from calprobe.kernels.onednn import onednn_takes, stretches_pay

    weight = torch.empty(0)
    used = "onednn" if stretches_pay(weight) else "onednn for the head" if onednn_takes(weight) else "torch"
    return Check("products", "ok", f"{used} (float32 on the CPU)", facts={"float32": used})


def _memory() -> Check:
    import psutil

    memory = psutil.virtual_memory()
    limit = _memory_limit()
    limited = "no container limit" if limit is None else f"container limit {limit / GIB:.1f} GiB"
    text = f"{memory.available / GIB:.1f} GiB free of {memory.total / GIB:.1f}, {limited}"
    facts = {"free_bytes": memory.available, "total_bytes": memory.total, "limit_bytes": limit}
    return Check("memory", "ok", text, facts=facts)


def _memory_limit() -> int | None:
    for name in _MEMORY_LIMITS:
        with suppress(OSError, ValueError):
            limit = int((_CGROUP / name).read_text())
            return limit if limit < _NO_LIMIT else None
    return None


def _gpus() -> Iterator[Check]:
    import torch

    driver = _driver()
    if not torch.cuda.is_available():
        yield _no_gpu(driver)
        return
    yield Check("driver", "ok", f"{driver or 'unknown'}; torch is built for {_built_for()}")
    for index in range(torch.cuda.device_count()):
        yield _card(index)


def _no_gpu(driver: str | None) -> Check:
    import torch

    built = _built_for()
    if driver is None:
        return Check("cuda", "note", f"none: torch sees no GPU (built for {built})")
    if built == "CPU":
        mend = "install torch as https://pytorch.org/get-started/locally says for CUDA"
        return Check(
            "cuda", "note", f"a GPU with driver {driver}, but this torch ({torch.__version__}) is CPU-only", mend
        )
    mend = "see whether CUDA_VISIBLE_DEVICES hides it, and whether the driver is as new as torch's CUDA"
    return Check("cuda", "note", f"a GPU with driver {driver}, but torch (built for {built}) does not see it", mend)


def _card(index: int) -> Check:
    import torch

    name, capability = torch.cuda.get_device_name(index), torch.cuda.get_device_capability(index)
    free, total = torch.cuda.mem_get_info(index)
    version = ".".join(map(str, capability))
    facts = {"index": index, "name": name, "capability": version, "free_bytes": free, "total_bytes": total}
    text = f"{name}, compute capability {version}, {free / GIB:.1f} GiB free of {total / GIB:.1f}"
    if capability < _TESTED_CAPABILITIES[0]:
        oldest = ".".join(map(str, _TESTED_CAPABILITIES[0]))
        return Check(f"cuda:{index}", "note", f"{text}; older than {oldest}, the oldest that is tested", facts=facts)
    return Check(f"cuda:{index}", "ok", text, facts=facts)


def _built_for() -> str:
    import torch

    rocm = getattr(torch.version, "hip", None)
    return f"CUDA {torch.version.cuda}" if torch.version.cuda else f"ROCm {rocm}" if rocm else "CPU"


def _driver() -> str | None:
    """The version of the NVIDIA driver, as nvidia-smi tells it; None where there is none, or no card."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return None
    command = [tool, "--query-gpu=driver_version", "--format=csv,noheader"]
    with suppress(OSError, subprocess.SubprocessError):
        said = subprocess.run(command, capture_output=True, text=True, timeout=_SMI_S, check=True).stdout.split()
        return said[0] if said else None
    return None


MACHINE_LOOKS: tuple[tuple[str, Look], ...] = (
    ("system", _system),
    ("processor", _processor),
    ("threads", _threads),
    ("products", _products),
    ("memory", _memory),
)
DEVICE_LOOKS: tuple[tuple[str, Look], ...] = (("cuda", _gpus),)
