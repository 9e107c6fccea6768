"""Whether the Triton kernels compile, run and are right on each card; else why not, and what that costs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from calprobe.doctor.diagnosis import Check, Look

if TYPE_CHECKING:
    import torch

# Sizes that leave a rest in every block; float32 sums of 96 products differ by far less than this.
_ROWS, _WIDTH, _WORDS = 5, 96, 1000
_NEAR_ENOUGH = 1e-4
_SLOWER = "the model's own forward scores instead: right, but slower"


def _kernels() -> Iterator[Check]:
    import torch

    if not torch.cuda.is_available():
        yield Check("triton", "ok", "not needed: without a GPU the torch reference runs")
        return
    for index in range(torch.cuda.device_count()):
        yield _on_card(torch.device("cuda", index))


def _on_card(device: torch.device) -> Check:
    """Both kernels compiled and run on a card, held to the reference on the CPU."""
    started = time.perf_counter()
    try:
        difference = largest_difference(device)
    except Exception as error:  # noqa: BLE001 - Triton, the compiler that it calls and the driver raise what they like
        return _unusable(device, error)
    seconds = time.perf_counter() - started
    facts = {"largest_difference": difference, "seconds": seconds}
    if not difference <= _NEAR_ENOUGH:  # so written that NaN fails
        what = f"differ from their reference by {difference:.2g}"
        return Check(str(device), "note", f"{what}; {_SLOWER}", "please report it", facts)
    text = f"compiled and right in {seconds:.1f} s (within {difference:.0e} of the reference)"
    return Check(str(device), "ok", text, facts=facts)


def _unusable(device: torch.device, error: Exception) -> Check:
    from calprobe.models.libraries import first_line

    said = first_line(error)
    if isinstance(error, ImportError):
        return Check(str(device), "note", f"triton cannot be imported ({said}); {_SLOWER}", "pip install triton")
    needs_compiler = "compiler" in said.lower() or "gcc" in said.lower()
    mend = "install a C compiler (gcc), or name it in CC: Triton calls it" if needs_compiler else ""
    return Check(str(device), "note", f"do not run ({type(error).__name__}: {said}); {_SLOWER}", mend)


def largest_difference(device: torch.device) -> float:
    """Largest absolute difference, in nats, of both kernels on `device` from their references on the CPU."""
    import torch

    from calprobe.kernels import gather_reduce, gather_reduce_reference, linear_logprob, linear_logprob_reference

    seeded = torch.Generator().manual_seed(0)
    hidden, weight = (torch.randn(rows, _WIDTH, generator=seeded) / _WIDTH**0.5 for rows in (_ROWS, _WORDS))
    targets = torch.randint(_WORDS, (2 * _ROWS,), generator=seeded)
    offsets = torch.arange(0, 2 * _ROWS + 1, 2)
    roles = torch.arange(2 * _ROWS).remainder(3).to(torch.int8)
    lse, logprobs = linear_logprob_reference(hidden, weight, targets, offsets)
    got_lse, got = linear_logprob(*(each.to(device) for each in (hidden, weight, targets, offsets)))
    gathered = (logprobs, torch.arange(2 * _ROWS), roles, offsets)
    sums = gather_reduce_reference(*gathered)
    got_sums = gather_reduce(*(each.to(device) for each in gathered))
    pairs = ((lse, got_lse), (logprobs, got), (sums.sum, got_sums.sum), (sums.sum_answer, got_sums.sum_answer))
    return max(float((want - found.cpu()).abs().max()) for want, found in pairs)


KERNEL_LOOKS: tuple[tuple[str, Look], ...] = (("triton", _kernels),)
