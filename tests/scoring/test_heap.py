import platform
import subprocess
import sys

import pytest

# Allocates and frees 8 times 6 MiB over and over, and counts the MiB that the system had to bring in again.
CHURN = """
import mmap, resource, sys
if "keep" in sys.argv:
    from calprobe.scoring.heap import keep_freed_memory
    keep_freed_memory()
blocks = [b"\\1" * (6 << 20) for _ in range(8)]
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    blocks = []
    blocks = [b"\\1" * (6 << 20) for _ in range(8)]
print((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) * mmap.PAGESIZE >> 20)
"""


def churned_mib(*arguments: str) -> int:
    command = [sys.executable, "-c", CHURN, *arguments]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the heap is glibc's")
def test_freed_memory_is_kept() -> None:
    assert churned_mib("keep") < 48 < churned_mib()  # without, most of it each time


def test_another_c_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    import ctypes

    from calprobe.scoring.heap import keep_freed_memory

    monkeypatch.setattr(platform, "libc_ver", lambda: ("", ""))
    monkeypatch.setattr(ctypes, "CDLL", lambda name: pytest.fail("asked for the C library"))
    keep_freed_memory()
