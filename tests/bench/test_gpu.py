"""The benchmark for a GPU: all of its parts run here on toys, and without a card it says so."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import gpu
import pytest
import side_by_side
import torch

PARTS = ("body", "head", "attention", "elementwise")


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["gpu.py", *map(str, arguments)])
    return gpu.main()


def test_without_a_card_it_says_so_in_a_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert run(monkeypatch, "--out", tmp_path / "gpu.json") == 2
    said = capsys.readouterr()
    assert said.err.splitlines() == ["bench-gpu: torch sees no GPU here; --device cpu --tiny tries the script"]
    assert not said.out
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--device", "gpu"), "--device: 'gpu' is none of cuda, cuda:N, cpu"),
        (("--device", "mps", "--tiny"), "--device: 'mps' is none of cuda, cuda:N, cpu"),
        (("--device", "cpu"), "--device cpu: on a CPU --tiny alone makes sense; add it"),
    ],
)
def test_a_device_that_it_cannot_measure_is_refused(
    arguments: tuple[str, ...],
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        run(monkeypatch, *arguments, "--out", tmp_path / "gpu.json")
    assert ended.value.code == 2
    assert says in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("fails", [False, True])
def test_a_part_that_fails_is_in_the_exit_code(fails: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(gpu, "simulated", lambda: {"failed": "no file"} if fails else {})
    out = tmp_path / "gpu.json"
    assert run(monkeypatch, "--device", "cpu", "--tiny", "--parts", "simulated", "--out", out) == int(fails)


@pytest.mark.proof
def test_every_part_runs_on_toys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    commands: list[list[str]] = []

    real = subprocess.run

    def note(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        if command[0] != sys.executable:  # what a library asks the system
            return real(command, **options)
        commands.append(command)
        return subprocess.CompletedProcess(
            command, 3 if command[1].endswith("kernel_times.py") else 0, "", "a\nno Triton\n"
        )

    monkeypatch.setattr(gpu.subprocess, "run", note)
    monkeypatch.setattr(gpu, "find_spec", lambda name: None)
    assert run(monkeypatch, "--device", "cpu", "--tiny", "--out", tmp_path / "gpu.json") == 1  # that of the kernels
    report = json.loads((tmp_path / "gpu.json").read_text())
    assert list(report) == ["calprobe", "verdict", "ready", "checks", "tiny", "machine", "parts"]
    assert {"driver", "toolkit", "compiler", "kernel cache"} <= {check["name"] for check in report["checks"]}
    found = report["parts"]
    assert not [part for part in found.values() if isinstance(part, dict) and "failed" in part]
    assert found["profile gpt2 float32 flat"]["attention_kernel"] is None
    assert {found[f"profile gpt2 float32 {path} ieee"]["precision"] for path in ("flat", "tree")} == {"ieee"}
    profile = found["profile gpt2 float32 tree"]
    assert profile["fused"] is False  # gpt2 has no such layers
    assert profile["batches"] >= gpu.BATCHES
    assert tuple(profile["batch_ms"]) == PARTS
    assert all(profile["batch_ms"][part] > 0 for part in ("body", "attention", "elementwise"))
    assert profile["attention_kernel"] == "flash"
    for shape in found["attention"]:
        assert all(shape[how]["later_ms"] > 0 for how in ("without_cudnn", "as_torch_chooses"))
    assert [(row["dtype"], row["run"]) for row in found["head"]] == [
        *(("float32", "torch.mm"), ("float32", "ieee"), ("float32", "tf32x3")),
        *(("bfloat16", "torch.mm"), ("bfloat16", "ieee")),
    ]
    asked = found["asking llama-8b bfloat16"]
    assert (asked["path"], asked["prompts"]) == ("shared", 2 * 5)
    assert asked["labels_s"] > 0
    assert found["kernels"] == {"exit": 3, "file": "kernels_gpu.json", "said": "no Triton"}
    assert found["vllm"] == {"skipped": "vllm is not installed"}
    assert set(report["machine"]) >= {"processor", "card", "versions", "date"}
    known = side_by_side.options().parse_args([word for word in commands[1][2:] if word != "--help"])
    assert (known.random, known.scorers, known.device) == (["gpt2"], "lm-pub-quiz", "cpu")


def test_parts_can_be_taken_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "gpu.json"
    assert run(monkeypatch, "--device", "cpu", "--tiny", "--parts", "simulated", "--out", out) == 0
    assert list(json.loads(out.read_text())["parts"]) == ["simulated"]
    with pytest.raises(SystemExit):
        run(monkeypatch, "--device", "cpu", "--tiny", "--parts", "vlm", "--out", out)
    assert "--parts: none begins with vlm; there are profile gpt2" in capsys.readouterr().err


def test_a_part_that_fails_does_not_end_the_others(tmp_path: Path) -> None:
    out = tmp_path / "report.json"
    assert gpu.fill_report({"ready": True}, {"one": lambda: 1 / 0, "other": lambda: {"exit": 0}}, out) == 1
    parts = {"one": {"failed": "ZeroDivisionError: division by zero"}, "other": {"exit": 0}}
    assert json.loads(out.read_text()) == {"ready": True, "parts": parts}


@pytest.mark.parametrize(
    ("kernel", "part"),
    [
        ("sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32", "body"),
        ("nvjet_hsh_256x128_64x4_2x1_v_bz_TNT", "body"),
        ("fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention)", "attention"),
        ("_tree_attention_kernel", "attention"),
        ("_rms_norm_kernel", "elementwise"),
        ("_gated_unit_kernel", "elementwise"),
        ("_partial_lse_kernel", "head"),
        ("void at::native::vectorized_elementwise_kernel<4, gelu>", "elementwise"),
    ],
)
def test_kernels_are_told_apart_by_their_names(kernel: str, part: str) -> None:
    assert gpu.part_of(kernel) == part


@pytest.mark.parametrize(("precision", "products"), [("auto", "tf32x3"), ("ieee", "ieee")])
def test_models_multiply_as_a_run_s(precision: Any, products: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def wanted(precision: str, *_: object) -> str:  # as on a card
        return "ieee" if precision == "ieee" else "tf32x3"

    monkeypatch.setattr(gpu, "float32_products", wanted)
    given = gpu.Given(torch.device("cpu"), ("gpt2",), 256, (64,), None, True, Path())
    assert gpu.random_model("gpt2", "float32", given, precision).precision == products
