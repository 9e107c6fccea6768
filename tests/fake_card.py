"""A card that is not there: fake CUDA tensors, and a count of what a real one would be given.

Tensors of the card have shapes and dtypes and no values: what is fetched from it is zeros. Tensors on the CPU are real.
"""

from __future__ import annotations

import contextlib
import ctypes
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter, tree_map_only

GIB = 1024**3
# A CPU build of torch knows no current device of CUDA; this one says that there is nothing to switch to.
_GUARD = """
#include <c10/core/impl/DeviceGuardImplInterface.h>
namespace c10::impl {
struct Guard final : NoOpDeviceGuardImpl<DeviceType::CUDA> {};
static DeviceGuardImplRegistrar registrar(DeviceType::CUDA, new Guard());
}
"""


class Count(TorchDispatchMode):
    """What a card would be given: `launches`, `uploads` and `syncs` by the operation that made them."""

    def __init__(self) -> None:
        super().__init__()
        self.fake = FakeTensorMode(allow_non_fake_inputs=True)
        self.launches: Counter[str] = Counter()
        self.kernels: Counter[str] = Counter()  # Triton's launches
        self.uploads: Counter[str] = Counter()  # of pinned memory, in the card's own queue
        self.syncs: Counter[str] = Counter()  # uploads and fetches that the host waits for
        self.where: Counter[str] = Counter()  # of the syncs, by file and line

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = str(func)
        if name.startswith("prim.device"):
            return args[0].fake_device
        if _is_composite(func) and not name.startswith("aten.scaled_dot_product_attention"):
            # In inference mode torch hands these on whole.
            with self:
                return func.decompose(*args, **kwargs)
        tensors = [x for x in tree_iter((args, kwargs)) if isinstance(x, Tensor)]
        on_card = any(_is_on_card(x) for x in tensors)
        if kwargs.pop("pin_memory", None):
            return _pinned(func(*args, **kwargs))
        to = kwargs.get("device")
        to_card = to is not None and torch.device(to).type == "cuda"
        if name.startswith("aten._to_copy") and to is not None:
            if to_card and not on_card:
                return self._upload(args[0], kwargs)
            if on_card and not to_card:
                return self._fetched(args[0], kwargs.get("dtype") or args[0].dtype)
        if name.startswith("aten.copy_") and on_card and not all(_is_on_card(x) for x in tensors):
            self._count_copy(args)
            return args[0]
        if name.startswith(("aten._local_scalar_dense", "aten.equal")) and on_card:
            self._waits(name)
            return 0
        if name.startswith(("aten.nonzero", "aten.masked_select")) and on_card:
            self._waits(name)
        if not on_card and not to_card:
            return func(*args, **kwargs)
        found = self._faked(func, args, kwargs)
        if not _is_free(func):
            self.launches[name] += 1
        return found

    def _faked(self, func: Any, args: Any, kwargs: Any) -> Any:
        with self.fake:
            return func(*args, **kwargs)

    def _upload(self, real: Tensor, kwargs: Any) -> Tensor:
        if _is_pinned(real) and kwargs.get("non_blocking"):
            self.uploads["pinned"] += 1
        else:
            self._waits("upload")
        with self.fake:
            return torch.empty(real.shape, dtype=kwargs.get("dtype") or real.dtype, device=kwargs["device"])

    def _fetched(self, fake: Tensor, dtype: torch.dtype) -> Tensor:
        self._waits("fetch")
        return torch.zeros(fake.shape, dtype=dtype)

    def _count_copy(self, args: Any) -> None:
        self._waits("upload" if _is_on_card(args[0]) else "fetch")

    def _waits(self, what: str) -> None:
        import traceback

        self.syncs[what] += 1
        frame = next(
            (f for f in reversed(traceback.extract_stack()) if "calprobe" in f.filename or "transformers" in f.filename),
            None,
        )
        if frame is not None:
            self.where[f"{what} {'/'.join(frame.filename.split('/')[-2:])}:{frame.lineno}"] += 1


def _is_on_card(tensor: Tensor) -> bool:
    return isinstance(tensor, FakeTensor) and tensor.device.type == "cuda"


_PINNED = "_is_pinned_memory"


def _pinned(tensor: Tensor) -> Tensor:
    setattr(tensor, _PINNED, True)
    return tensor


def _is_pinned(tensor: Tensor) -> bool:
    return getattr(tensor, _PINNED, False)


def _is_free(func: Any) -> bool:
    """Whether an operation launches nothing: views, and memory that is taken."""
    name = str(func)
    if name.startswith(("aten.empty", "aten.new_empty", "aten.detach", "aten._unsafe_view", "aten.lift_fresh")):
        return True
    aliases = [a for a in func._schema.arguments if a.alias_info is not None]
    return bool(aliases) and not any(a.alias_info.is_write for a in aliases)


@cache
def _is_composite(func: Any) -> bool:
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd"))


@cache
def _device_guard() -> None:
    folder = Path(tempfile.mkdtemp())
    (folder / "guard.cpp").write_text(_GUARD)
    torch_folder = Path(torch.__file__).parent
    subprocess.run(
        ["g++", "-std=c++20", "-shared", "-fPIC", f"-I{torch_folder}/include", "guard.cpp", f"-L{torch_folder}/lib",
         "-lc10", "-o", "guard.so"],
        cwd=folder, check=True, capture_output=True,
    )  # fmt: skip
    ctypes.CDLL(str(folder / "guard.so"))


@contextmanager
def fake_card(free_gib: float = 60.0) -> Iterator[Count]:
    if shutil.which("g++") is None:
        pytest.skip("no C++ compiler for the device guard")
    _device_guard()
    with ExitStack() as stack:
        for name, value in {
            "is_available": lambda: True,
            "get_device_capability": lambda *_: (9, 0),
            "mem_get_info": lambda *_: (int(free_gib * GIB), 80 * GIB),
            "memory_reserved": lambda *_: 0,
            "memory_allocated": lambda *_: 0,
            "empty_cache": lambda: None,
            "_lazy_init": lambda: None,
            "device_of": lambda _: contextlib.nullcontext(),
            "get_device_properties": lambda *_: SimpleNamespace(multi_processor_count=132),
        }.items():
            stack.enter_context(mock.patch.object(torch.cuda, name, value))
        own_tolist = FakeTensor.tolist
        at_once = lambda x: x.cpu().tolist() if _is_on_card(x) else own_tolist(x)  # not value by value
        stack.enter_context(mock.patch.object(FakeTensor, "tolist", at_once))
        # Else torch.tensor(.., device="cuda") and lists as indices look for the real card.
        torch._C._set_only_lift_cpu_tensors(True)
        stack.callback(torch._C._set_only_lift_cpu_tensors, False)
        count = Count()
        _record_kernels(stack, count)
        stack.enter_context(count)
        yield count


def _record_kernels(stack: ExitStack, count: Count) -> None:
    """Let Triton's kernels be counted where they would be compiled."""
    jit = pytest.importorskip("triton.runtime.jit")
    modules = [import_module(f"calprobe.kernels.{name}_triton") for name in ("rms_norm", "linear_logprob")]

    def run(kernel: Any, *_: Any, **__: Any) -> None:
        count.kernels[kernel.fn.__name__] += 1

    stack.enter_context(mock.patch.object(jit.JITFunction, "run", run))
    stack.enter_context(mock.patch.object(modules[0], "_aligned", lambda array: array))  # by the address of its data
    stack.enter_context(mock.patch.object(modules[1], "_tile_set_of_card", lambda _: "wide"))


def on_card(network: nn.Module, count: Count, device: str = "cuda:0") -> nn.Module:
    """The network, which was built on `meta`, with its parameters and buffers on the card."""
    for module in network.modules():
        for name, parameter in list(module._parameters.items()):
            if parameter is not None:
                with count.fake:
                    made = torch.empty(parameter.shape, dtype=parameter.dtype, device=device)
                module._parameters[name] = nn.Parameter(made, requires_grad=False)
        for name, buffer in list(module._buffers.items()):
            if buffer is not None:
                with count.fake:
                    module._buffers[name] = torch.empty(buffer.shape, dtype=buffer.dtype, device=device)
    return network
