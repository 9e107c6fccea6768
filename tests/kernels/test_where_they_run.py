"""The kernels' tests are compiled where calprobe launches the kernels, and interpreted everywhere else."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from compiling_cards import card_compiles


@pytest.mark.parametrize(
    ("files", "seen", "hip", "capability", "compiles"),
    [
        ([], True, None, (9, 0), False),  # torch is not even asked
        (["nvidiactl"], True, None, (9, 0), True),
        (["nvidiactl"], True, None, (7, 5), False),  # a T4
        (["nvidiactl"], False, None, (9, 0), False),  # torch is built for CPUs
        (["dxg"], True, None, (8, 6), True),  # WSL2
        (["dxg"], False, None, (8, 6), False),  # WSL2 of a laptop
        (["kfd"], True, "gfx942:sramecc+:xnack-", (9, 4), True),
        (["kfd"], True, "gfx1100", (11, 0), False),
        (["kfd"], False, "gfx942", (9, 4), False),
    ],
)
def test_only_a_card_that_takes_the_kernels_compiles_them(
    files: list[str],
    seen: bool,
    hip: str | None,
    capability: tuple[int, int],
    compiles: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in files:
        (tmp_path / name).touch()
    monkeypatch.setattr(torch.cuda, "is_available", lambda: seen)
    monkeypatch.setattr(torch.version, "hip", hip)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: SimpleNamespace(gcnArchName=hip))
    devices = [str(tmp_path / name) for name in ("nvidiactl", "kfd", "dxg")]
    assert card_compiles(devices) is compiles
