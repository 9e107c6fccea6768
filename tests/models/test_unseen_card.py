"""A card that torch does not compute on is said, with torch's own reason and what to do."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from calprobe.errors import UsageError
from calprobe.models import LoadOptions, unseen_card
from calprobe.models.placement import place
from calprobe.models.unseen_card import unseen_card as unseen

Give = Callable[..., None]
TOO_OLD = (
    "The NVIDIA driver on your system is too old (found version 12040). Please update your GPU driver by"
    " downloading and installing a new version. Alternatively, go to another page."
)


@pytest.fixture
def give(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Give:
    """A machine whose cards torch does not see."""

    def machine(
        driver: str | None = None, cuda: str | None = None, hip: str | None = None, amd: bool = False, says: str = ""
    ) -> None:
        def init() -> None:
            raise RuntimeError(says)

        for variable in ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"):
            monkeypatch.delenv(variable, raising=False)
        monkeypatch.setattr(shutil, "which", lambda name: driver and "/usr/bin/nvidia-smi")
        monkeypatch.setattr(subprocess, "run", lambda *args, **given: SimpleNamespace(stdout=f"{driver}\n"))
        monkeypatch.setattr(torch.version, "cuda", cuda)
        monkeypatch.setattr(torch.version, "hip", hip)
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
        monkeypatch.setattr(torch.cuda, "init", init)
        for backend in (torch.backends.mps, torch.xpu):
            monkeypatch.setattr(backend, "is_available", lambda: False)
        monkeypatch.setattr(unseen_card, "_AMD", tmp_path if amd else tmp_path / "none")
        monkeypatch.setattr(unseen_card, "_MODULE", tmp_path / "version")

    return machine


def test_a_machine_without_cards_says_nothing(give: Give, caplog: pytest.LogCaptureFixture) -> None:
    give()
    assert unseen() is None
    assert place(LoadOptions()).device.type == "cpu"
    assert not caplog.records


def test_a_driver_that_is_too_old_is_said_in_one_line_with_torchs_reason(
    give: Give, caplog: pytest.LogCaptureFixture
) -> None:
    give(driver="550.54.14", cuda="13.0", says=TOO_OLD)
    assert place(LoadOptions()).device.type == "cpu"
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert record.getMessage() == (
        "computing on the CPU: a GPU with driver 550.54.14 is there, but torch (built for CUDA 13.0) does not see it"
        " (The NVIDIA driver on your system is too old (found version 12040)); update the driver, or install torch's"
        " build for an older CUDA (pip install --force-reinstall torch --index-url"
        " https://download.pytorch.org/whl/cu128)"
    )
    with pytest.raises(UsageError, match=r"torch sees 0 GPU\(s\) here; a GPU with driver 550.*too old.*older CUDA"):
        place(LoadOptions(device="cuda"))
    caplog.clear()
    place(LoadOptions(device="cpu"))  # asked for
    assert not caplog.records


def test_a_card_that_the_driver_shows_and_cuda_cannot_use_is_refused_with_the_install_line(
    give: Give, monkeypatch: pytest.MonkeyPatch
) -> None:
    give(driver="550.54.14", cuda="13.0", says=TOO_OLD)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)  # NVML's, which an old driver answers too
    with pytest.raises(UsageError, match=r"torch sees 0 GPU\(s\) here; a GPU with driver 550.*too old.*whl/cu128"):
        place(LoadOptions(device="cuda"))


OLD_DRIVER_FIX = (
    "update the driver, or install torch's build for an older CUDA (pip install --force-reinstall torch --index-url"
    " https://download.pytorch.org/whl/cu128)"
)


def test_without_nvidia_smi_torchs_own_reason_is_said(give: Give, caplog: pytest.LogCaptureFixture) -> None:
    give(cuda="13.0", says=TOO_OLD)
    assert place(LoadOptions()).device.type == "cpu"
    assert caplog.messages == [
        "computing on the CPU: torch (built for CUDA 13.0) does not see a GPU (The NVIDIA driver on your system is too"
        f" old (found version 12040)); {OLD_DRIVER_FIX}"
    ]


@pytest.mark.parametrize(
    ("says", "reason"),
    [
        ("Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed it.", None),
        ("No CUDA GPUs are available", None),
        ("CUDA driver initialization failed, you might not have a CUDA gpu.", None),
        ("Unexpected error from cudaGetDeviceCount(). Did you run some? Error 34: CUDA driver is a stub library", None),
        ("", None),
        (
            "Unexpected error from cudaGetDeviceCount(). Did you run some? Error 803: system has unsupported driver",
            "Error 803: system has unsupported driver",
        ),
    ],
)
def test_what_torch_says_of_a_machine_without_cards_is_no_reason(says: str, reason: str | None, give: Give) -> None:
    give(cuda="13.0", says=says)
    card = unseen()
    assert (card and card.what) == (reason and f"torch (built for CUDA 13.0) does not see a GPU ({reason})")


@pytest.mark.parametrize(
    "module",
    [
        "NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22 01:44:30 UTC 2024",
        "NVIDIA UNIX Open Kernel Module for aarch64  550.54.14  Release Build  (builder@host)",
    ],
)
def test_without_nvidia_smi_the_kernel_module_tells_its_version(module: str, give: Give, tmp_path: Path) -> None:
    (tmp_path / "version").write_text(f"NVRM version: {module}\nGCC version:  gcc 12.3.0\n", "utf-8")
    give(cuda="13.0", says=TOO_OLD)
    card = unseen()
    assert card is not None
    assert card.what.startswith("a GPU with driver 550.54.14 is there, but torch (built for CUDA 13.0) does not see it")
    assert card.fix == OLD_DRIVER_FIX
    give(cuda="13.0", says="Found no NVIDIA driver on your system. Please check it.")
    card = unseen()
    assert card is not None
    assert "Found no NVIDIA driver" in card.what  # a container without the card of its machine
    assert "docker run --gpus all" in card.fix
    (tmp_path / "version").write_text("what a later driver writes\n", "utf-8")
    assert unseen() is None


def pip(build: str) -> str:
    return f"(pip install --force-reinstall torch --index-url https://download.pytorch.org/whl/{build})"


@pytest.mark.parametrize(
    ("driver", "fix"),
    [
        ("580.1", f"install torch's build for CUDA {pip('cu128')}"),
        ("470.82.01", f"install torch's build for CUDA {pip('cu118')}"),
        ("[N/A]", f"install torch's build for CUDA {pip('cu128')}"),
        ("450.51.06", f"update the driver, and install torch's build for CUDA {pip('cu128')}"),
        ("440.33", f"update the driver, and install torch's build for CUDA {pip('cu128')}"),
    ],
)
def test_a_build_for_the_cpu(driver: str, fix: str, give: Give) -> None:
    give(driver=driver)
    card = unseen()
    assert card is not None
    assert "CPU-only" in card.what
    assert card.fix == fix


@pytest.mark.parametrize(
    ("found", "fix"),
    [
        ("11040", f"update the driver, or install torch's build for an older CUDA {pip('cu118')}"),
        ("10020", "update the driver"),
    ],
)
def test_a_driver_of_before_cuda_12_is_not_told_to_take_a_build_that_it_does_not_run(
    found: str, fix: str, give: Give
) -> None:
    give(driver="470.82.01", cuda="13.0", says=TOO_OLD.replace("12040", found))
    card = unseen()
    assert card is not None
    assert card.fix == fix


@pytest.mark.parametrize(("hidden", "shown"), [("", "empty"), ("-1", "-1"), ("NoDevFiles", "NoDevFiles")])
def test_what_hides_a_card_is_named(hidden: str, shown: str, give: Give, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIP_VISIBLE_DEVICES", "0")
    for variable, machine in (
        ("CUDA_VISIBLE_DEVICES", {"driver": "580.1"}),
        ("CUDA_VISIBLE_DEVICES", {"driver": "580.1", "cuda": "13.0"}),
        ("CUDA_VISIBLE_DEVICES", {"amd": True, "hip": "6.4"}),
        ("ROCR_VISIBLE_DEVICES", {"amd": True, "hip": "6.4"}),
        ("HIP_VISIBLE_DEVICES", {"amd": True, "hip": "6.4"}),
    ):
        give(**machine)
        monkeypatch.setenv(variable, hidden)
        said = f"{variable} is {shown}: it hides all cards"
        assert unseen() == (said, "unset it, or use --device cpu")
        with pytest.raises(UsageError, match=rf"torch sees 0 GPU\(s\) here; {said}; unset it"):
            place(LoadOptions(device="cuda"))


def test_a_variable_hides_nothing_where_no_card_is(give: Give, monkeypatch: pytest.MonkeyPatch) -> None:
    give()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert unseen() is None


BROKEN = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that it is running."


@pytest.mark.parametrize(
    ("script", "says"),
    [
        (f'echo "{BROKEN}"; echo; exit 9', BROKEN),
        ("exit 12", "exit code 12"),
        ("exec sleep 9", "no answer in 0.2 s"),
        ("echo No devices were found; exit 6", None),
        ("echo No devices were found", None),
        ("exit 0", None),
    ],
)
def test_a_driver_that_fails_is_not_called_absent(
    script: str, says: str | None, give: Give, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = subprocess.run
    give()
    tool = tmp_path / "nvidia-smi"
    tool.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    tool.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda name: str(tool))
    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(unseen_card, "_SMI_S", 0.2 if "sleep" in script else 5.0)
    assert unseen() == (
        None
        if says is None
        else (
            f"nvidia-smi is there but fails: {says}",
            "mend or restart the GPU's driver; on a machine without a GPU, --device cpu",
        )
    )
    monkeypatch.setattr(unseen_card, "_AMD", tmp_path)
    card = unseen()
    assert card is not None
    assert card.what.startswith("an AMD GPU is there")  # whatever NVIDIA's tool says


@pytest.mark.parametrize(
    ("hip", "fix"), [(None, "--index-url https://download.pytorch.org/whl/rocm6.4)"), ("6.4", "/dev/kfd")]
)
def test_an_amd_card(hip: str | None, fix: str, give: Give) -> None:
    give(amd=True, hip=hip)
    card = unseen()
    assert card is not None
    assert card.what.startswith("an AMD GPU is there, but torch (built for ")
    assert fix in card.fix


@pytest.mark.parametrize(("name", "backend"), [("Apple", torch.backends.mps), ("Intel", torch.xpu)])
def test_a_gpu_that_calprobe_does_not_use(
    name: str, backend: Any, give: Give, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    give()
    monkeypatch.setattr(backend, "is_available", lambda: True)
    assert unseen() == (f"the {name} GPU is not used", "calprobe computes on CUDA and ROCm devices and on CPUs")
    assert place(LoadOptions()).device.type == "cpu"
    (line,) = caplog.messages
    assert line.startswith(f"computing on the CPU: the {name} GPU is not used; ")
