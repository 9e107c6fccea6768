"""Running out of memory: an error with its mend, never another path."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import pytest
import torch
from test_plain import random_rows
from test_score import PROBE
from tiny_models import loaded, save_tiny_model, tiny_causal

from calprobe.errors import CalprobeError
from calprobe.models import load_model
from calprobe.scoring import ScoreOptions, score
from calprobe.scoring.memory import is_out_of_memory
from calprobe.scoring.paths import choose_path
from calprobe.scoring.tree import TreeExecutor

CPU_MESSAGE = "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried ..."


def test_a_real_failed_allocation_is_recognised() -> None:
    with pytest.raises(RuntimeError) as failure:
        torch.empty(2**55, dtype=torch.uint8)
    assert is_out_of_memory(failure.value)
    assert is_out_of_memory(torch.OutOfMemoryError("CUDA out of memory"))
    assert not is_out_of_memory(RuntimeError("shape mismatch"))


@pytest.mark.parametrize("error", [torch.OutOfMemoryError("CUDA out of memory"), RuntimeError(CPU_MESSAGE)])
def test_it_is_never_a_reason_to_step_down(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> NoReturn:
        raise error

    monkeypatch.setattr(TreeExecutor, "run", fail)
    with pytest.raises(type(error)):
        choose_path(loaded(tiny_causal("llama")), 64, random_rows(seed=1))


@pytest.mark.parametrize(
    ("batch_tokens", "well", "named"),
    [
        (8, 2, "continent, template 0"),  # the check on load and the first group go well
        (80, 1, "capital, template 0 to continent, template 0"),
    ],
)
def test_the_error_names_the_group_and_smaller_batches(
    batch_tokens: int, well: int, named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load_model(str(save_tiny_model(tmp_path / "tiny")))
    right, calls = TreeExecutor.run, []

    def fail_later(self: TreeExecutor, rows: object) -> object:
        calls.append(rows)
        if len(calls) > well:
            raise RuntimeError(CPU_MESSAGE)
        return right(self, rows)  # type: ignore[arg-type]

    monkeypatch.setattr(TreeExecutor, "run", fail_later)
    with pytest.raises(CalprobeError) as failure:
        score(model, PROBE, tmp_path / "run", ScoreOptions(batch_tokens=batch_tokens))
    assert str(failure.value) == (
        f"{named}: out of memory with batches of {batch_tokens} tokens\n"
        f"start over with smaller ones: --no-resume --batch-tokens {batch_tokens // 4}"
    )
