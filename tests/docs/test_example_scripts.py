"""The example scripts of the documentation do what their text says."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
import torch

import calprobe

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_few_steps_of_train_with_probe(tmp_path: Path) -> None:
    script = example("train_with_probe")
    history = script.train(tmp_path, steps=4, every=2)
    assert [logs["step"] for logs in history] == [0, 2, 4]
    assert [line.split()[0] for line in script.table(history).splitlines()] == ["step", "0", "2", "4"]


def test_a_few_steps_of_fine_tune(tmp_path: Path) -> None:
    script = example("fine_tune")
    assert len(script.told()) == 48
    history = script.tune(tmp_path / "tuned", tmp_path / "runs", steps=1, every=1)
    assert [logs["step"] for logs in history] == [0, 1]
    assert (tmp_path / "tuned" / "config.json").is_file()


def test_round_weights() -> None:
    script = example("round_weights")
    weight = torch.linspace(-1, 1, 64).reshape(2, 32)
    grid = script.rounded(weight, 3)  # each row on multiples of a third of its largest value
    largest = weight.abs().amax(dim=1, keepdim=True)
    assert torch.allclose(grid * 3 / largest, (weight * 3 / largest).round())
    assert torch.equal(script.rounded(grid, 3), grid)
    with pytest.raises(ValueError, match="multiple of 32"):
        script.rounded(weight[:, :30], 3)


@pytest.mark.proof
def test_train_with_probe(tmp_path: Path) -> None:
    script = example("train_with_probe")
    texts = script.told(calprobe.load_probe("mini"))
    assert len(texts) == len(set(texts)) == 31  # of 42 capitals and 20 young animals
    history = script.train(tmp_path, steps=80, every=40)
    assert [logs["step"] for logs in history] == [0, 40, 80]
    first, *_, last = history
    assert last["eval_calprobe/mini/accuracy"] > first["eval_calprobe/mini/accuracy"] + 0.1
    assert last["eval_calprobe/mini/brier_base"] < first["eval_calprobe/mini/brier_base"]
    assert [line.split()[0] for line in script.table(history).splitlines()] == ["step", "0", "40", "80"]
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["step-0", "step-40", "step-80"]
