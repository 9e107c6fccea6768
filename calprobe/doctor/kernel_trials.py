"""Each kernel run on a card and compared with its reference on the CPU, in the dtypes and tiles of runs."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from calprobe.doctor.diagnosis import Check

if TYPE_CHECKING:
    import torch

    from calprobe.kernels.tree_layout import TreeLayout

# The oldest card of NVIDIA that takes the kernels; on older ones torch computes in their place.
OLDEST_CAPABILITY = (8, 0)
# What runs multiply, on recent cards each of these with another tile. Sizes that leave a rest in every block; float32
# sums of 96 products differ by far less than this. The others give their inputs' dtype: bfloat16 rounds values up to 4.
_TRIED = tuple((dtype, rows) for dtype in ("bfloat16", "float32") for rows in (5, 40, 200))
_WIDTH, _WORDS = 96, 1000
_NEAR_ENOUGH = 1e-4
_ROUNDED_NEAR_ENOUGH = {"float32": 1e-4, "bfloat16": 0.05}
_BRANCH = 7  # places below one another in a branch of the tree that attention is tried on
INSTALL_COMPILER = "install a C compiler (gcc), or name it in CC: Triton calls it"
_SLOWER = "torch computes in their place: correct, but slower"


@dataclass(frozen=True, slots=True)
class Trial:
    """One call of one kernel; all tensors are on the CPU."""

    kernel: str  # a function of calprobe.kernels, with its `_reference` beside it
    dtype: str
    rows: int
    arguments: tuple[Any, ...]

    @property
    def case(self) -> str:
        """What is said of it: `rotary in bfloat16, 40 rows`."""
        return f"{self.kernel} in {self.dtype}, {self.rows} rows"

    @property
    def near_enough(self) -> float:
        """The largest difference that rounding explains."""
        in_float32 = self.kernel in ("linear_logprob", "gather_reduce")
        return _NEAR_ENOUGH if in_float32 else _ROUNDED_NEAR_ENOUGH[self.dtype]

    def difference(self, device: torch.device) -> float:
        """Largest absolute difference of the kernel on `device` from its reference, with the products of runs there."""
        import torch

        from calprobe import kernels
        from calprobe.models.placement import float32_products

        products = (
            {"precision": float32_products("auto", self.dtype, device)} if self.kernel == "linear_logprob" else {}
        )
        wanted = _tensors(getattr(kernels, f"{self.kernel}_reference")(*self.arguments))
        got = _tensors(getattr(kernels, self.kernel)(*(_on(device, value) for value in self.arguments), **products))
        apart = [(want.float() - have.float().cpu()).abs().max() for want, have in zip(wanted, got, strict=True)]
        return float(torch.stack(apart).max())  # NaN if there is one


def _on(device: torch.device, value: Any) -> Any:
    """The value on a device: a tensor, or a layout of tensors; whatever else stays as it is."""
    import torch

    from calprobe.kernels.tree_layout import TreeLayout

    if isinstance(value, TreeLayout):
        return TreeLayout(*(_on(device, getattr(value, field.name)) for field in fields(value)))
    return value.to(device) if isinstance(value, torch.Tensor) else value


def _tensors(result: Any) -> tuple[torch.Tensor, ...]:
    """The tensors that a kernel returns: one, or several."""
    return result if isinstance(result, tuple) else (result,)


def trials(dtype: str, rows: int) -> Iterator[Trial]:
    """Calls of all kernels on seeded inputs of so many rows, or places of a tree."""
    for kernel, *arguments in (*_head_calls(dtype, rows), *_layer_calls(dtype, rows), _attention_call(dtype, rows)):
        yield Trial(kernel, dtype, rows, tuple(arguments))


def _head_calls(dtype: str, rows: int) -> Iterator[tuple[Any, ...]]:
    import torch

    from calprobe.kernels import linear_logprob_reference

    seeded = torch.Generator().manual_seed(0)
    hidden, weight = (
        (torch.randn(n, _WIDTH, generator=seeded) / _WIDTH**0.5).to(getattr(torch, dtype)) for n in (rows, _WORDS)
    )
    targets = torch.randint(_WORDS, (2 * rows,), generator=seeded)
    offsets = torch.arange(0, 2 * rows + 1, 2)
    yield "linear_logprob", hidden, weight, targets, offsets
    _, logprobs = linear_logprob_reference(hidden, weight, targets, offsets)
    roles = torch.arange(2 * rows).remainder(3).to(torch.int8)
    yield "gather_reduce", logprobs, torch.arange(2 * rows), roles, offsets


def _layer_calls(dtype: str, rows: int) -> Iterator[tuple[Any, ...]]:
    import torch

    from calprobe.kernels import RotaryRule

    seeded = torch.Generator().manual_seed(0)
    gate, up = (torch.randn(rows, _WIDTH, generator=seeded).to(getattr(torch, dtype)) / 2 for _ in range(2))
    for one_plus, rounds_first in ((True, False), (False, True)):
        yield "rms_norm", up, gate[0] / 2, 1e-6, one_plus, rounds_first
    for activation in ("silu", "gelu_tanh"):
        yield "gated_unit", gate, up, activation
    heads = (gate.view(1, rows, -1, 32).transpose(1, 2), *(part[None, :, :24].contiguous() for part in (up, gate)))
    for rule in (RotaryRule(), RotaryRule(neighbours=True, angle_of_pair=True, rounds_last=True)):
        yield "rotary", *heads, rule


def _attention_call(dtype: str, places: int) -> tuple[Any, ...]:
    import torch

    from calprobe.kernels.tree_layout import AttentionRule

    seeded = torch.Generator().manual_seed(0)
    heads = (torch.randn(1, n, places, 64, generator=seeded).to(getattr(torch, dtype)) for n in (2, 1, 1))
    return "tree_attention", *heads, _bush(places), AttentionRule(scale=0.125)


def _bush(places: int) -> TreeLayout:
    """A path of half of the places, then branches from its middle, which must not see one another."""
    import numpy as np
    import torch

    from calprobe.kernels.tree_layout import BLOCK_PLACES, TreeLayout
    from calprobe.planning import block_ancestors

    half, place = places // 2, np.arange(places)
    depth = np.where(place < half, place, half // 2 + (place - half) % _BRANCH)
    # A place's part ends at the next one that is no deeper.
    ends = [next((j for j in range(i + 1, places) if depth[j] <= depth[i]), places) for i in range(places)]
    arrays = (np.array([ends]), depth[None], block_ancestors(depth[None], BLOCK_PLACES))
    return TreeLayout(*(torch.from_numpy(array).int() for array in arrays))


def try_kernels() -> Iterator[Check]:
    """A check for each card: the kernels compiled and run there."""
    import torch

    if not torch.cuda.is_available():
        yield Check("triton", "ok", "not needed: without a GPU the torch reference runs")
        return
    for index in range(torch.cuda.device_count()):
        yield _on_card(torch.device("cuda", index))


def _on_card(device: torch.device) -> Check:
    import torch

    from calprobe.kernels.arguments import compiles_for

    if not compiles_for(device):
        oldest = ".".join(map(str, OLDEST_CAPABILITY))
        others = "AMD's cards but MI200 and MI300" if torch.version.hip else f"cards older than {oldest}"
        return Check(str(device), "note", f"not used on {others}: plain torch computes in their place")
    started = time.perf_counter()
    measured: list[tuple[Trial, float]] = []
    for trial in (trial for dtype, rows in _TRIED for trial in trials(dtype, rows)):
        try:
            measured.append((trial, trial.difference(device)))
        except Exception as error:  # noqa: BLE001 - Triton, the compiler that it calls and the driver raise what they like
            return _unusable(device, trial.case, error)
    seconds = time.perf_counter() - started
    # The farthest from its reference beside what is near enough, NaN before all others.
    farthest, difference = max(measured, key=lambda pair: (pair[1] != pair[1], pair[1] / pair[0].near_enough))
    by_case = {trial.case: apart for trial, apart in sorted(measured, key=lambda pair: pair[1])}  # the larger of two
    facts = {"largest_difference": difference, "case": farthest.case, "seconds": seconds, "differences": by_case}
    if not difference <= farthest.near_enough:  # so written that NaN fails
        what = f"differ from their reference by {difference:.2g} ({farthest.case})"
        return Check(str(device), "note", f"{what}; {_SLOWER}", "please report it", facts)
    text = f"compiled and correct in {seconds:.1f} s (within {difference:.0e} of the reference: {farthest.case})"
    return Check(str(device), "ok", text, facts=facts)


def _unusable(device: torch.device, case: str, error: Exception) -> Check:
    from calprobe.models.libraries import first_line

    reason = first_line(error)
    if isinstance(error, ImportError):
        return Check(str(device), "note", f"triton cannot be imported ({reason}); {_SLOWER}", _how_to_get_triton())
    needs_compiler = "compiler" in reason.lower() or "gcc" in reason.lower()
    fix = INSTALL_COMPILER if needs_compiler else ""
    return Check(str(device), "note", f"do not run ({case}: {type(error).__name__}: {reason}); {_SLOWER}", fix)


def _how_to_get_triton() -> str:
    import torch

    from calprobe.models.unseen_card import install_line

    if sys.platform == "win32":
        return "Triton has no wheel for Windows; torch's build for Linux, in WSL2, brings it"
    if torch.version.hip:  # over whose Triton the one of `pip install triton` would be written
        build = "rocm" + ".".join(torch.version.hip.split(".")[:2])
        return f"reinstall torch's build for ROCm, which brings Triton ({install_line(build)})"
    return "pip install triton"
