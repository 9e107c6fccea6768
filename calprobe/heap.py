"""Settings of the C library's heap: give back what loading freed; keep freed memory for the next allocation."""

from __future__ import annotations

import ctypes
import platform

# Parameters of mallopt(3), and the largest mmap threshold that it takes.
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD = -1, -2, -3
_MIB = 2**20


def keep_freed_memory() -> None:
    """Let this process keep freed memory instead of handing it back to the system, with glibc; else nothing happens.

    On a CPU every layer of a model, and every metric of a block of resamples, allocates and frees a few MiB. By default
    these pages go back to the system and come back as pages that have to be zeroed, which costs time. The peak is the
    same.
    """
    if (libc := _glibc()) is None:
        return
    # The first one switches off glibc's own adaptation of the other two, so that all three have to be given.
    libc.mallopt(_M_MMAP_THRESHOLD, 32 * _MIB)
    libc.mallopt(_M_TRIM_THRESHOLD, 512 * _MIB)
    libc.mallopt(_M_TOP_PAD, 64 * _MIB)


def give_back_freed_memory() -> None:
    """Hand freed memory back to the system, with glibc: loading a model leaves some behind."""
    if (libc := _glibc()) is not None:
        libc.malloc_trim(0)


def _glibc() -> ctypes.CDLL | None:
    return ctypes.CDLL(None) if platform.libc_ver()[0] == "glibc" else None
