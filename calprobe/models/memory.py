"""How much memory a device has left, as far as this process may take it, and how it is known that memory ran out."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import psutil
import torch

CGROUP = Path("/sys/fs/cgroup")  # a container's own limit, which the machine's free memory does not show
# Limit, use, and the counter of what the kernel gives back by itself, in the second version's files and the first's.
_CGROUP_FILES = (
    ("memory.max", "memory.current", "memory.stat", "inactive_file"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat", "total_inactive_file"),
)


class _Container(NamedTuple):
    limit: int
    used: int


def free_bytes(device: torch.device) -> int:
    """Bytes that can still be allocated there; on a card, those that torch holds and does not use among them."""
    if device.type == "cuda":
        unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(torch.cuda.mem_get_info(device)[0] + unused)
    free = int(psutil.virtual_memory().available)
    container = _container()
    return free if container is None else min(free, container.limit - container.used)


def total_bytes(device: torch.device) -> int:
    """All memory of the device, or the container's limit."""
    if device.type == "cuda":
        return int(torch.cuda.get_device_properties(device).total_memory)
    total = int(psutil.virtual_memory().total)
    container = _container()
    return total if container is None else min(total, container.limit)


def _container() -> _Container | None:
    """The limit of this container, if it has one."""
    for limit, used, stat, given_back in _CGROUP_FILES:
        with suppress(OSError, ValueError):  # no such file; no number: "max"
            limited = int((CGROUP / limit).read_text())
            counters = dict(line.split() for line in _lines(CGROUP / stat))
            return _Container(limited, int((CGROUP / used).read_text()) - int(counters.get(given_back, 0)))
    return None


def _lines(file: Path) -> list[str]:
    with suppress(OSError):
        return file.read_text().splitlines()
    return []


# All that an allocation says that failed on a CPU: torch, the C++ library, oneDNN, the system.
_SAID_ON_CPU = ("can't allocate memory", "not enough memory", "bad_alloc", "could not create a memory", "out of memory")
# Of libraries that take their own memory; cuBLAS that cannot even begin says that it is not initialised.
_SAID_ON_CARDS = (
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUBLAS_STATUS_NOT_INITIALIZED",
    "CUDNN_STATUS_ALLOC_FAILED",
    "HIPBLAS_STATUS_ALLOC_FAILED",
    "HIPBLAS_STATUS_NOT_INITIALIZED",
    "HIP out of memory",
)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an allocation failed. Away from torch's own allocator only the text of a RuntimeError says so."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(said in str(error) for said in (*_SAID_ON_CPU, *_SAID_ON_CARDS))
