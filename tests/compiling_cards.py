"""Whether the kernels' tests are compiled for a card of this machine, or interpreted on its CPU."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

DEVICES = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")  # which NVIDIA's driver, AMD's and WSL2 make


def card_compiles(devices: Sequence[str] = DEVICES) -> bool:
    """Whether torch sees a card for which the kernels are compiled.

    A device file alone is no such card: torch may be built for CPUs, or the card too old. Where there is no file, torch
    is not imported, which tests of light commands do without.
    """
    if not any(Path(device).exists() for device in devices):
        return False
    import torch

    from calprobe.kernels.arguments import compiles_for

    return torch.cuda.is_available() and compiles_for(torch.device("cuda"))
