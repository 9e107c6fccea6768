"""Arrays of kernels between pages that nobody may touch: a lane that reads or writes past an array ends the process.

Triton's interpreter computes with the addresses of arrays, so what a kernel's masks let through is seen without a card.
As a plugin of pytest (`-p guard_pages`), every launch of its tests is made twice, with arrays that end at such a page
and with arrays that begin behind one. As a program, `python guard_pages.py SHIFT MASKED` launches a kernel that reads
so many values away from its own.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.runtime.interpreter import GridExecutor

_PAGE = mmap.PAGESIZE
_LIBC = ctypes.CDLL(None, use_errno=True)
_FORBIDDEN = 0  # PROT_NONE


def guarded(array: Tensor, at_end: bool) -> Tensor:
    """A copy of the array, strides and all, that ends at a forbidden page or begins behind one."""
    reach = sum((size - 1) * stride for size, stride in zip(array.shape, array.stride(), strict=True))
    n_bytes = (reach + 1) * array.element_size()
    n_pages = -(-n_bytes // _PAGE)
    region = mmap.mmap(-1, (n_pages + 2) * _PAGE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(region))
    for page in (address, address + (n_pages + 1) * _PAGE):
        if _LIBC.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(_PAGE), _FORBIDDEN):
            raise OSError(ctypes.get_errno(), "mprotect")
    offset = (n_pages + 1) * _PAGE - n_bytes if at_end else _PAGE
    values = torch.frombuffer(region, dtype=array.dtype, count=reach + 1, offset=offset)
    copied = values.as_strided(array.shape, array.stride())
    copied.copy_(array)
    return copied


def guard_launches() -> Counter[str]:
    """From now on all launches of the interpreter are guarded; their number by kernel, which grows."""
    launch: Callable[..., None] = GridExecutor.__call__
    launches: Counter[str] = Counter()

    def twice(self: Any, *args: Any, **given: Any) -> None:
        launches[self.fn.__name__] += 1
        names = [*self.arg_names[: len(args)], *given]
        arrays = {name: value for name, value in zip(names, (*args, *given.values()), strict=True) if _is_array(value)}
        for at_end in (True, False):
            copies = {name: guarded(array, at_end) for name, array in arrays.items()}
            launch(
                self,
                *(copies.get(name, value) for name, value in zip(names, args, strict=False)),
                **given | {name: copy for name, copy in copies.items() if name in given},
            )
            for name, array in arrays.items():
                array.copy_(copies[name])

    GridExecutor.__call__ = twice
    return launches


def _is_array(value: object) -> bool:
    return isinstance(value, Tensor) and value.numel() > 0


def pytest_configure(config: Any) -> None:
    """Guard the launches of all tests."""
    config.guarded_launches = guard_launches()


def pytest_terminal_summary(config: Any, terminalreporter: Any) -> None:
    """Say which kernels were launched, and how often."""
    shown = (f"{name} {count}" for name, count in sorted(config.guarded_launches.items()))
    terminalreporter.write_line("guarded launches: " + ", ".join(shown))


@triton.jit
def _shifted_kernel(p_x, p_out, n, shift, MASKED: tl.constexpr):
    o_x = tl.arange(0, 16) + shift
    x = tl.load(p_x + o_x, mask=(o_x >= 0) & (o_x < n), other=0.0) if MASKED else tl.load(p_x + o_x)
    tl.store(p_out + tl.arange(0, 16), x)


if __name__ == "__main__":
    guard_launches()
    out = torch.empty(16)
    _shifted_kernel[(1,)](torch.ones(16), out, 16, int(sys.argv[1]), MASKED=sys.argv[2] == "masked")
    print(int(out.sum()))
