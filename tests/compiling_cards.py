"""Whether the kernels' tests are compiled for a card of this machine, or interpreted on its CPU.

As a program, it asks torch, and exits with 0 if they are compiled.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

DEVICES = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")  # which NVIDIA's driver, AMD's and WSL2 make


def card_compiles(devices: Sequence[str] = DEVICES) -> bool:
    """Whether torch sees a card for which the kernels are compiled.

    A device file alone is no such card: torch may be built for CPUs, or the card too old. Where there is one, a process
    of its own asks torch, as CUDA would not work in forks of a process that has asked.
    """
    if not any(Path(device).exists() for device in devices):
        return False
    return subprocess.run([sys.executable, __file__], capture_output=True, check=False).returncode == 0


def takes_kernels() -> bool:
    """Whether calprobe launches its kernels on the first card that torch sees; False where it sees none."""
    import torch

    from calprobe.kernels.arguments import compiles_for

    return torch.cuda.is_available() and compiles_for(torch.device("cuda"))


if __name__ == "__main__":
    sys.exit(not takes_kernels())
