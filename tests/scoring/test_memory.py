"""What counts as out of memory, what is freed then, and that it is never a reason to take another path."""

from __future__ import annotations

import gc
import weakref
from typing import NoReturn

import pytest
import torch
from statement_rows import random_rows
from tiny_models import loaded, tiny_causal

from calprobe.models.memory import is_out_of_memory
from calprobe.scoring.memory import free_after
from calprobe.scoring.paths import choose_path
from calprobe.scoring.tree import TreeExecutor

CPU_MESSAGE = "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried ..."


def test_a_real_failed_allocation_is_recognised() -> None:
    with pytest.raises(RuntimeError) as failure:
        torch.empty(2**55, dtype=torch.uint8)
    assert is_out_of_memory(failure.value)


@pytest.mark.parametrize(
    ("error", "is_it"),
    [
        (torch.OutOfMemoryError("CUDA out of memory"), True),
        (MemoryError(), True),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"), True),
        (RuntimeError("CUDA error: out of memory"), True),
        (RuntimeError("std::bad_alloc"), True),
        (RuntimeError("shape mismatch"), False),
        (RuntimeError("CUDA error: an illegal memory access was encountered"), False),
        (ValueError("can't allocate memory"), False),  # nobody's allocator raises that
    ],
)
def test_what_counts_as_out_of_memory(error: Exception, is_it: bool) -> None:
    assert is_out_of_memory(error) is is_it


@pytest.mark.parametrize("error", [torch.OutOfMemoryError("CUDA out of memory"), RuntimeError(CPU_MESSAGE)])
def test_it_is_never_a_reason_to_step_down(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> NoReturn:
        raise error

    monkeypatch.setattr(TreeExecutor, "run", fail)
    with pytest.raises(type(error)):
        choose_path(loaded(tiny_causal("llama")), 64, random_rows(seed=1))


def test_the_tensors_of_the_failed_pass_are_freed() -> None:
    kept: list[weakref.ref[torch.Tensor]] = []

    def pass_that_fails() -> NoReturn:
        activation = torch.zeros(8)
        kept.append(weakref.ref(activation))
        try:
            raise MemoryError("deep inside")
        except MemoryError as error:
            raise RuntimeError(CPU_MESSAGE) from error

    try:
        pass_that_fails()
    except RuntimeError as error:
        gc.collect()
        assert kept[0]() is not None  # the traceback's frames hold it
        free_after(error)
    assert kept[0]() is None
