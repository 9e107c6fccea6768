"""The machine that scores: system, processor, memory, the GPUs that torch sees, and whether the kernels run there."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from calprobe.doctor.diagnosis import Check, Look

if TYPE_CHECKING:
    import torch

    from calprobe.kernels.tree_layout import TreeLayout

GIB = 1024**3
# The oldest card of NVIDIA that takes the kernels; on older ones torch computes in their place.
_OLDEST_CAPABILITY = (8, 0)
# What runs multiply, on recent cards each of these with another tile. Sizes that leave a rest in every block; float32
# sums of 96 products differ by far less than this. The others give their inputs' dtype: bfloat16 rounds values up to 4.
_TRIED = tuple((dtype, rows) for dtype in ("bfloat16", "float32") for rows in (5, 40, 200))
_WIDTH, _WORDS = 96, 1000
_NEAR_ENOUGH = 1e-4
_ROUNDED_NEAR_ENOUGH = {"float32": 1e-4, "bfloat16": 0.05}
_BRANCH = 7  # places below one another in a branch of the tree that attention is tried on
_SLOWER = "torch computes in their place: correct, but slower"


def _system() -> Check:
    return Check("system", "ok", f"{platform.system()} {platform.release()} {platform.machine()}")


def _processor() -> Check:
    import torch

    from calprobe.scoring.device import device_name

    name = device_name(torch.device("cpu"))
    return Check("processor", "ok", f"{name}", facts={"name": name})


def _threads() -> Check:
    import torch

    from calprobe.metrics.resamples import thread_count

    used, allowed = torch.get_num_threads(), thread_count()
    quota = _processor_quota()
    facts = {"torch": used, "allowed": allowed, "quota": quota, "processors": os.cpu_count()}
    text = f"{used}, of {os.cpu_count()} processors"
    if quota is not None and used > max(1.0, quota):
        fix = f"set OMP_NUM_THREADS={max(1, int(quota))}"
        return Check("threads", "note", f"{text}; the container may use {quota:g}", fix, facts)
    return Check("threads", "ok", text, facts=facts)


def _processor_quota() -> float | None:
    """Processors' worth of time that the container may use; None where there is no such limit."""
    from calprobe.models import memory as model_memory

    with suppress(OSError, ValueError):
        quota, period = (model_memory.CGROUP / "cpu.max").read_text().split()
        return int(quota) / int(period)
    return None


def _products() -> Check:
    from calprobe.scoring.device import cpu_products

    used = cpu_products("float32", "tree")
    return Check("products", "ok", f"{used} (float32 on the CPU)", facts={"float32": used})


def _memory() -> Check:
    import psutil
    import torch

    from calprobe.models.memory import total_bytes

    memory, allowed = psutil.virtual_memory(), total_bytes(torch.device("cpu"))
    limit = allowed if allowed < memory.total else None
    limited = "no container limit" if limit is None else f"container limit {limit / GIB:.1f} GiB"
    text = f"{memory.available / GIB:.1f} GiB free of {memory.total / GIB:.1f}, {limited}"
    facts = {"free_bytes": memory.available, "total_bytes": memory.total, "limit_bytes": limit}
    return Check("memory", "ok", text, facts=facts)


def _gpus() -> Iterator[Check]:
    import torch

    from calprobe.models.unseen_card import nvidia_driver, torch_built_for, unseen_card

    if not torch.cuda.is_available():
        unseen = unseen_card()
        if unseen is None:
            yield Check("cuda", "note", f"none: torch sees no GPU (built for {torch_built_for()})")
        else:
            yield Check("cuda", "note", unseen.what, unseen.fix)
        return
    yield Check("driver", "ok", f"{nvidia_driver() or 'unknown'}; torch is built for {torch_built_for()}")
    for index in range(torch.cuda.device_count()):
        yield _card(index)


def _card(index: int) -> Check:
    import torch

    name, capability = torch.cuda.get_device_name(index), torch.cuda.get_device_capability(index)
    free, total = torch.cuda.mem_get_info(index)
    version = ".".join(map(str, capability))
    facts = {"index": index, "name": name, "capability": version, "free_bytes": free, "total_bytes": total}
    text = f"{name}, compute capability {version}, {free / GIB:.1f} GiB free of {total / GIB:.1f}"
    if capability < _OLDEST_CAPABILITY:
        oldest = ".".join(map(str, _OLDEST_CAPABILITY))
        return Check(f"cuda:{index}", "note", f"{text}; older than {oldest}, the oldest that is tested", facts=facts)
    return Check(f"cuda:{index}", "ok", text, facts=facts)


def _kernels() -> Iterator[Check]:
    import torch

    if not torch.cuda.is_available():
        yield Check("triton", "ok", "not needed: without a GPU the torch reference runs")
        return
    for index in range(torch.cuda.device_count()):
        yield _on_card(torch.device("cuda", index))


def _on_card(device: torch.device) -> Check:
    """The kernels compiled and run on a card, held to the reference on the CPU, in the dtypes and tiles of runs."""
    import torch

    from calprobe.kernels.arguments import compiles_for

    if not compiles_for(device):
        oldest = ".".join(map(str, _OLDEST_CAPABILITY))
        others = "AMD's cards but MI200 and MI300" if torch.version.hip else f"cards older than {oldest}"
        return Check(str(device), "note", f"not used on {others}: plain torch computes in their place")
    started = time.perf_counter()
    differences: dict[str, tuple[float, float]] = {}  # and what is near enough
    for dtype, rows in _TRIED:
        case = f"{dtype}, {rows} rows"
        try:
            differences[case] = largest_difference(device, dtype, rows), _NEAR_ENOUGH
            case = f"attention in {dtype}, {rows} places"
            differences[case] = attention_difference(device, dtype, rows), _ROUNDED_NEAR_ENOUGH[dtype]
            case = f"norms, gates and positions in {dtype}, {rows} rows"
            differences[case] = layer_difference(device, dtype, rows), _ROUNDED_NEAR_ENOUGH[dtype]
        except Exception as error:  # noqa: BLE001 - Triton, the compiler that it calls and the driver raise what they like
            return _unusable(device, case, error)
    seconds = time.perf_counter() - started
    # The farthest from its reference beside what is near enough, NaN before all others.
    case = max(differences, key=lambda case: (differences[case][0] != differences[case][0], _share(*differences[case])))
    difference, near_enough = differences[case]
    facts = {"largest_difference": difference, "case": case, "seconds": seconds}
    if not difference <= near_enough:  # so written that NaN fails
        what = f"differ from their reference by {difference:.2g} ({case})"
        return Check(str(device), "note", f"{what}; {_SLOWER}", "please report it", facts)
    text = f"compiled and correct in {seconds:.1f} s (within {difference:.0e} of the reference: {case})"
    return Check(str(device), "ok", text, facts=facts)


def _share(difference: float, near_enough: float) -> float:
    return difference / near_enough


def _unusable(device: torch.device, case: str, error: Exception) -> Check:
    from calprobe.models.libraries import first_line

    said = first_line(error)
    if isinstance(error, ImportError):
        return Check(str(device), "note", f"triton cannot be imported ({said}); {_SLOWER}", "pip install triton")
    needs_compiler = "compiler" in said.lower() or "gcc" in said.lower()
    fix = "install a C compiler (gcc), or name it in CC: Triton calls it" if needs_compiler else ""
    return Check(str(device), "note", f"do not run ({case}: {type(error).__name__}: {said}); {_SLOWER}", fix)


def largest_difference(device: torch.device, dtype: str, rows: int) -> float:
    """Largest absolute difference, in nats, of the kernels on `device` from their references on the CPU.

    float32 is multiplied as in runs on that device.
    """
    import torch

    from calprobe.kernels import gather_reduce, gather_reduce_reference, linear_logprob, linear_logprob_reference
    from calprobe.models.placement import float32_products

    seeded = torch.Generator().manual_seed(0)
    hidden, weight = (
        (torch.randn(n, _WIDTH, generator=seeded) / _WIDTH**0.5).to(getattr(torch, dtype)) for n in (rows, _WORDS)
    )
    targets = torch.randint(_WORDS, (2 * rows,), generator=seeded)
    offsets = torch.arange(0, 2 * rows + 1, 2)
    roles = torch.arange(2 * rows).remainder(3).to(torch.int8)
    lse, logprobs = linear_logprob_reference(hidden, weight, targets, offsets)
    precision = float32_products("auto", dtype, device)
    there = [each.to(device) for each in (hidden, weight, targets, offsets)]
    got_lse, got = linear_logprob(*there, precision=precision)
    gathered = (logprobs, torch.arange(2 * rows), roles, offsets)
    sums = gather_reduce_reference(*gathered)
    got_sums = gather_reduce(*(each.to(device) for each in gathered))
    pairs = [(lse, got_lse), (logprobs, got), (sums.sum, got_sums.sum), (sums.sum_answer, got_sums.sum_answer)]
    return max(float((want - found.cpu()).abs().max()) for want, found in pairs)


def attention_difference(device: torch.device, dtype: str, places: int) -> float:
    """Largest absolute difference of attention over a tree of so many places on `device` from its reference."""
    import torch

    from calprobe.kernels import tree_attention, tree_attention_reference
    from calprobe.kernels.tree_layout import AttentionRule, TreeLayout

    seeded = torch.Generator().manual_seed(0)
    heads = [torch.randn(1, n, places, 64, generator=seeded).to(getattr(torch, dtype)) for n in (2, 1, 1)]
    layout, rule = _bush(places), AttentionRule(scale=0.125)
    there = TreeLayout(*(each.to(device) for each in (layout.end, layout.depth, layout.ancestors)))
    got = tree_attention(*(each.to(device) for each in heads), there, rule)
    return float((tree_attention_reference(*heads, layout, rule).float() - got.float().cpu()).abs().max())


def layer_difference(device: torch.device, dtype: str, rows: int) -> float:
    """Largest absolute difference of norms, gated units and positions of so many rows on `device` from references."""
    import torch

    from calprobe.kernels import (
        RotaryRule,
        gated_unit,
        gated_unit_reference,
        rms_norm,
        rms_norm_reference,
        rotary,
        rotary_reference,
    )

    seeded = torch.Generator().manual_seed(0)
    gate, up = (torch.randn(rows, _WIDTH, generator=seeded).to(getattr(torch, dtype)) / 2 for _ in range(2))
    weight = gate[0] / 2
    pairs = []
    for one_plus, rounds_first in ((True, False), (False, True)):
        got = rms_norm(up.to(device), weight.to(device), 1e-6, one_plus, rounds_first)
        pairs.append((rms_norm_reference(up, weight, 1e-6, one_plus, rounds_first), got))
    for activation in ("silu", "gelu_tanh"):
        got = gated_unit(gate.to(device), up.to(device), activation)
        pairs.append((gated_unit_reference(gate, up, activation), got))
    heads = (gate.view(1, rows, -1, 32).transpose(1, 2), *(part[None, :, :24].contiguous() for part in (up, gate)))
    for rule in (RotaryRule(), RotaryRule(neighbours=True, angle_of_pair=True, rounds_last=True)):
        got = rotary(*(each.to(device) for each in heads), rule)
        pairs.append((rotary_reference(*heads, rule), got))
    return max(float((want.float() - found.float().cpu()).abs().max()) for want, found in pairs)


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


MACHINE_LOOKS: tuple[tuple[str, Look], ...] = (
    ("system", _system),
    ("processor", _processor),
    ("threads", _threads),
    ("products", _products),
    ("memory", _memory),
)
DEVICE_LOOKS: tuple[tuple[str, Look], ...] = (("cuda", _gpus),)
KERNEL_LOOKS: tuple[tuple[str, Look], ...] = (("triton", _kernels),)
