"""Cards that are not there: tensors without data that say they are on one, and what a run would have a card do.

torch's fake tensors have device, dtype and shape and no values. What computes on a card is not computed, what computes
on the CPU is; so the product's own functions run as they are, and each launch, copy and wait for the card is counted.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode, unset_fake_temporarily
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from triton.runtime.jit import JITFunction

COMPILER = shutil.which("c++") or shutil.which("g++")
# All that a CPU build of torch lacks for fake tensors on cards.
_GUARD = """
#include <c10/core/impl/DeviceGuardImplInterface.h>
namespace c10::impl {
struct Guard final : NoOpDeviceGuardImpl<DeviceType::CUDA> {};
static DeviceGuardImplRegistrar registrar(DeviceType::CUDA, new Guard());
}
"""
_MOST_IN_GRID = 65_535  # programs of a grid's second and third axis
CAPABILITY = (9, 0)
_TOTAL, _FREE = 80 * 2**30, 60 * 2**30
aten = torch.ops.aten
_WITHOUT_LAUNCH = {
    aten.empty.memory_format, aten.empty_strided.default, aten.empty_like.default, aten.new_empty.default,
    aten.new_empty_strided.default, aten._unsafe_view.default, aten.lift_fresh.default, aten._reshape_alias.default,
    aten.detach_.default,
}  # fmt: skip
# Their results are as long as the values say, for which the host waits.
_SIZED_BY_VALUES = {aten.nonzero.default, aten.masked_select.default, aten.repeat_interleave.Tensor}
_INDEXING = {
    aten.index.Tensor, aten.index_put.default, aten.index_put_.default, aten._index_put_impl_.default,
    aten._unsafe_index.Tensor,
}  # fmt: skip


@dataclass
class Work:
    """What a run had the card and its host do."""

    counts: Counter[str] = field(default_factory=Counter)
    places: Counter[str] = field(default_factory=Counter)  # of waits and synchronous uploads, by file and line
    variants: set[object] = field(default_factory=set)  # distinct compiled kernels

    def add(self, what: str, is_wait: bool = False) -> None:
        """Count one."""
        self.counts[what] += 1
        if is_wait:
            self.places[f"{what} {_caller()}"] += 1

    def clear(self) -> None:
        """Begin anew."""
        self.counts.clear()
        self.places.clear()
        self.variants.clear()

    def numbers(self) -> dict[str, int]:
        """The counts by name, zeros among them."""
        names = ("launches", "uploads", "waiting uploads", "waits", "moves", "free memory")
        return {name: self.counts[name] for name in names} | {"variants": len(self.variants)}


def _caller() -> str:
    """File and line of the innermost frame that is neither torch's nor of the walk."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        parts = Path(frame.f_code.co_filename).parts
        if (not {"torch", "cards", "unittest"} & set(parts) and "calprobe" in parts) or "transformers" in parts:
            return f"{'/'.join(parts[-3:])}:{frame.f_lineno}"
        frame = frame.f_back
    return "?"


def load_guard(folder: Path) -> None:
    """Let this process have fake tensors on cards, for good; the library is built once for each torch in the folder."""
    library = folder / f"guard-{torch.__version__}.so"
    if not library.is_file():
        assert COMPILER is not None
        folder.mkdir(parents=True, exist_ok=True)
        source, root = folder / "guard.cpp", Path(torch.__file__).parent
        source.write_text(_GUARD)
        built = library.with_suffix(".part")
        flags = ("-std=c++20", "-shared", "-fPIC", f"-I{root}/include", f"-L{root}/lib", "-lc10")
        subprocess.run([COMPILER, str(source), *flags, "-o", str(built)], check=True)
        built.rename(library)
    ctypes.CDLL(str(library))


class _Fakes(FakeTensorMode):  # type: ignore[misc]
    avoid_device_init = True  # whatever torch is made to say of its cards


class Counting(TorchDispatchMode):
    """Runs what concerns no card, and counts what does."""

    def __init__(self, work: Work) -> None:
        super().__init__()
        self._work = work
        self._pinned: set[int] = set()  # addresses of pinned buffers

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = dict(kwargs or {})
        arrays = [leaf for leaf in tree_leaves((args, given)) if isinstance(leaf, Tensor)]
        to = torch.device(given["device"]) if given.get("device") is not None else None
        if not any(array.is_cuda for array in arrays) and (to is None or to.type != "cuda"):
            return self._on_host(func, args, given)
        if func.namespace != "aten":  # it asks a tensor for its device
            return func(*args, **given)
        if func is not aten.scaled_dot_product_attention.default:
            with self:
                parts = func.decompose(*args, **given)
            if parts is not NotImplemented:
                return parts
        return self._on_card(func, args, given, arrays)

    def _on_host(self, func: Any, args: Any, given: dict[str, Any]) -> Any:
        is_pinned = bool(given.pop("pin_memory", False))
        with unset_fake_temporarily():
            found = func(*args, **given)
        if is_pinned:
            self._pinned.add(found.untyped_storage().data_ptr())
        return found

    def _on_card(self, func: Any, args: Any, given: dict[str, Any], arrays: list[Tensor]) -> Any:
        if func is aten._local_scalar_dense.default:
            self._work.add("waits", is_wait=True)
            return True if args[0].dtype == torch.bool else 0
        if func is aten._to_copy.default and torch.device(given.get("device") or args[0].device) != args[0].device:
            return self._copied(args[0], given, lambda: func(*args, **given))
        if func is aten.copy_.default and args[0].device != args[1].device:
            return self._copied(
                args[1], {"device": args[0].device, "non_blocking": args[2:] == (True,)}, lambda: args[0]
            )
        if func in _INDEXING:
            args = (args[0], self._indexed(args[1], args[0].device), *args[2:])
        if func in _SIZED_BY_VALUES and given.get("output_size") is None:
            self._work.add("waits", is_wait=True)
            return self._as_long_as_can_be(func, args)
        if not func.is_view and func not in _WITHOUT_LAUNCH:
            self._work.add("launches")
        return func(*args, **given)

    def _copied(self, array: Tensor, given: dict[str, Any], on_card: Callable[[], Any]) -> Any:
        to = torch.device(given["device"])
        if array.is_cuda and to.type == "cuda":
            self._work.add("moves")
            return on_card()
        if array.is_cuda:
            self._work.add("waits", is_wait=True)
            with unset_fake_temporarily():
                return torch.zeros(array.shape, dtype=given.get("dtype") or array.dtype)
        self._uploaded(given.get("non_blocking", False) and array.untyped_storage().data_ptr() in self._pinned)
        return on_card()

    def _uploaded(self, at_once: bool) -> None:
        self._work.add("uploads" if at_once else "waiting uploads", is_wait=not at_once)

    def _indexed(self, indices: Any, card: torch.device) -> list[Tensor | None]:
        """The indices as torch takes them: from the host, and from a mask, whose places the host waits for."""
        taken: list[Tensor | None] = []
        for index in indices:
            if index is not None and not index.is_cuda and index.dim():
                self._uploaded(at_once=False)
            if index is not None and index.dtype in (torch.bool, torch.uint8):
                self._work.add("waits", is_wait=True)
                taken += [torch.empty(index.numel(), dtype=torch.int64, device=card) for _ in index.shape]
            else:
                taken.append(index)
        return taken

    def _as_long_as_can_be(self, func: Any, args: Any) -> Tensor:
        if func is aten.nonzero.default:
            return torch.empty(args[0].numel(), args[0].dim(), dtype=torch.int64, device=args[0].device)
        return torch.empty(args[0].numel(), dtype=args[0].dtype, device=args[0].device)


def _recorder(work: Work) -> Callable[..., None]:
    """Stands in for the launch of a Triton kernel."""

    def run(self: Any, *args: Any, grid: Any, warmup: bool, **given: Any) -> None:
        named = dict(zip(self.arg_names, args, strict=False)) | given
        devices = {value.device for value in named.values() if isinstance(value, Tensor)}
        assert len(devices) == 1, f"{self.__name__}: arrays on {sorted(map(str, devices))}"
        assert devices.pop().type == "cuda"
        assert 0 < grid[0] < 2**31, f"{self.__name__}: a grid of {grid}"
        assert all(0 < size <= _MOST_IN_GRID for size in grid[1:]), f"{self.__name__}: a grid of {grid}"
        work.add("launches")
        work.add("of kernels")
        constants = {param.name for param in self.params if param.is_constexpr}
        free = {param.name for param in self.params if param.do_not_specialize}
        key = [(name, _as_compiled(value, name in constants, name in free)) for name, value in named.items()]
        work.variants.add((self.__name__, *sorted(key, key=str)))

    return run


def _as_compiled(value: Any, is_constant: bool, is_free: bool) -> object:
    """What Triton compiles for: a constant, an array's type, and of a number its width, 1 and multiples of 16."""
    if isinstance(value, Tensor):
        return str(value.dtype)
    if is_constant or not isinstance(value, int) or isinstance(value, bool):
        return "float" if isinstance(value, float) and not is_constant else value
    width = "i32" if -(2**31) <= value < 2**31 else "i64"
    return width if is_free else (width, value == 1, value % 16 == 0)


@contextmanager
def fake_cards(n_cards: int = 1, capability: tuple[int, int] = CAPABILITY) -> Iterator[Work]:
    """Inside, there are cards. What a block counted is in its value.

    Products need `load_guard`, and Triton that is not imported as its interpreter.
    """
    work = Work()
    properties = SimpleNamespace(
        name="fake card", total_memory=_TOTAL, multi_processor_count=132, major=capability[0], minor=capability[1]
    )
    count: Any = lambda what: lambda *_: work.add(what, is_wait=True)  # noqa: E731
    cuda: dict[str, Any] = {
        "is_available": lambda: True,
        "device_count": lambda: n_cards,
        "current_device": lambda: 0,
        "get_device_capability": lambda *_: capability,
        "get_device_properties": lambda *_: properties,
        "mem_get_info": lambda *_: work.add("free memory") or (_FREE, _TOTAL),  # type: ignore[func-returns-value]
        "memory_reserved": lambda *_: 0,
        "memory_allocated": lambda *_: 0,
        "is_bf16_supported": lambda *_, **__: capability[0] >= 8,
        "device_of": lambda *_: nullcontext(),
        "synchronize": count("waits"),
        "empty_cache": lambda: None,
    }
    with ExitStack() as stack:
        stack.enter_context(_Fakes(allow_non_fake_inputs=True))
        for name, function in cuda.items():
            stack.enter_context(patch.object(torch.cuda, name, function))
        stack.enter_context(patch.object(JITFunction, "run", _recorder(work)))
        stack.enter_context(patch("calprobe.kernels.linear_logprob_triton._tile_set_of_card", lambda index: "wide"))
        stack.enter_context(patch("calprobe.kernels.rms_norm_triton._aligned", lambda array: array))
        for module in _that_ask_whether_they_are_traced():
            stack.enter_context(patch.object(module, "is_tracing", lambda *_: False))
        stack.enter_context(patch.object(FakeTensor, "tolist", lambda array: array.cpu().tolist()))
        stack.enter_context(Counting(work))
        yield work


def _that_ask_whether_they_are_traced() -> list[Any]:
    """Files of transformers that leave waits out where tensors are fake."""
    found = [module for name, module in sys.modules.items() if name.startswith("transformers.")]
    return [module for module in found if "is_tracing" in vars(module)]
