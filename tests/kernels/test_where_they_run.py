"""The kernels' tests are compiled where calprobe launches the kernels, and interpreted everywhere else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from compiling_cards import card_compiles, takes_kernels

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("seen", "hip", "capability", "takes"),
    [
        (True, None, (9, 0), True),
        (True, None, (7, 5), False),  # a T4
        (False, None, (9, 0), False),  # torch is built for CPUs, or a laptop's WSL2 has no such card
        (True, "gfx942:sramecc+:xnack-", (9, 4), True),
        (True, "gfx1100", (11, 0), False),
        (False, "gfx942", (9, 4), False),
    ],
)
def test_only_a_card_on_which_kernels_are_launched_compiles_them(
    seen: bool, hip: str | None, capability: tuple[int, int], takes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: seen)
    monkeypatch.setattr(torch.version, "hip", hip)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: SimpleNamespace(gcnArchName=hip))
    assert takes_kernels() is takes


def test_torch_is_asked_where_a_driver_has_made_a_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    devices = [str(tmp_path / name) for name in ("nvidiactl", "kfd", "dxg")]
    codes = [1, 0]
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: SimpleNamespace(returncode=codes.pop()))
    assert not card_compiles(devices)
    assert codes == [1, 0]
    (tmp_path / "dxg").touch()
    assert card_compiles(devices)
    assert not card_compiles(devices)


@pytest.mark.proof
def test_without_triton_each_file_is_skipped() -> None:
    program = "import sys; sys.modules['triton'] = None; import pytest; sys.exit(pytest.main(sys.argv[1:]))"
    ended = subprocess.run(
        [sys.executable, "-c", program, "-p", "no:cacheprovider", "tests/kernels"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    n_files = len(list(Path(__file__).parent.glob("test_*.py")))
    assert ended.returncode == 0, ended.stdout
    assert f"{n_files} skipped in " in ended.stdout.splitlines()[-1]
    assert "Triton is not installed" in ended.stdout
    assert "kernels: " not in ended.stdout


@pytest.mark.proof
@pytest.mark.skipif(torch.cuda.is_available(), reason="a card is there")
def test_a_device_that_torch_does_not_see_compiles_nothing(tmp_path: Path) -> None:
    (tmp_path / "dxg").touch()
    assert not card_compiles([str(tmp_path / "dxg")])
