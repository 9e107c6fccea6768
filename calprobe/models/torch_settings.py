"""How torch computes while calprobe does, whatever the process, its environment or a notebook has set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from threading import Lock
from typing import Any, Generic, TypeVar

import torch

T = TypeVar("T")


class ProcessSwitch(Generic[T]):
    """A setting of the process that has one value while any thread is inside a block.

    The value is set at the first block that begins, and what was there before at the end of the last one. Blocks of
    several threads may overlap in any order; each thread that restored what it found would leave the value of another.

    >>> seen = ["high"]
    >>> switch = ProcessSwitch(lambda: seen[-1], seen.append, "low")
    >>> with switch.held(), switch.held():
    ...     seen[-1]
    'low'
    >>> seen
    ['high', 'low', 'high']
    """

    def __init__(self, read: Callable[[], T], write: Callable[[T], object], value: T) -> None:
        """`read` and `write` are those of the setting, `value` what it is inside."""
        self._read, self._write, self._value = read, write, value
        self._lock = Lock()
        self._inside = 0
        self._before: T = value

    @contextmanager
    def held(self) -> Iterator[None]:
        """Inside, the setting has the value, also after an error of another block."""
        with self._lock:
            if self._inside == 0:
                self._before = self._read()
                self._write(self._value)
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if self._inside == 0:
                    self._write(self._before)


@contextmanager
def exact_torch() -> Iterator[None]:
    """Inside, products have their operands' full precision and attention takes no cuDNN kernel; then all is as it was.

    Products: `TORCH_ALLOW_TF32_CUBLAS_OVERRIDE=1`, which NVIDIA's images set, or `set_float32_matmul_precision` in a
    notebook let a card cut operands to TF32, and a CPU to bfloat16: SmolLM2-135M's scores move by up to 0.02 nats.
    Convolutions on a card take TF32 by torch's own default.

    Attention: on recent cards torch tries cuDNN first, which builds a plan on the host for each new shape, and nearly
    each batch has a shape of its own. Without it the same kernels run with every torch that calprobe supports.

    A caller's `torch.autocast`, which cuts operands of products to bfloat16 or float16, is off.

    The settings are the process's, and autocast the thread's. They are set back also after an error, and where blocks
    of threads overlap.
    """
    without_autocast = torch.autocast("cpu", enabled=False), torch.autocast("cuda", enabled=False)
    with _FULL_FLOAT32.held(), _CUDNN_ATTENTION.held(), without_autocast[0], without_autocast[1]:
        yield


@contextmanager
def tensors_on_host() -> Iterator[None]:
    """Inside, a tensor that is given no device is on the CPU, whatever a notebook has set (`set_default_device`)."""
    with nullcontext() if torch.get_default_device().type == "cpu" else torch.device("cpu"):
        yield


_SetBack = Callable[[], object]


def _as_set_now() -> _SetBack:
    """What sets the precisions again that hold now.

    Since 2.9 torch has a second way to set them, by backend, and refuses to read the first one where both were used.
    """
    cudnn = torch.backends.cudnn
    by_backend = [(backend, _own_precision(backend, above)) for backend, above in _backends()]
    first_ways: list[_SetBack] = []
    with suppress(RuntimeError):
        first_ways.append(partial(torch.set_float32_matmul_precision, torch.get_float32_matmul_precision()))
    with suppress(RuntimeError):
        first_ways.append(partial(setattr, cudnn, "allow_tf32", cudnn.allow_tf32))

    def set_back() -> None:
        for set_one in first_ways:
            set_one()
        for backend, chosen in by_backend:
            backend.fp32_precision = chosen

    return set_back


def _set_full_float32() -> None:
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False
    for backend, _ in _backends():
        backend.fp32_precision = "ieee"


def _own_precision(backend: Any, above: Any) -> str:
    """What to set so that the precision is as it is now: `none` lets it follow that of `above`, also later."""
    chosen: str = backend.fp32_precision
    return "none" if above is not None and chosen == above.fp32_precision else chosen


def _backends() -> list[tuple[Any, Any]]:
    """Where torch keeps a precision for each kind of product, and whose they follow by default; none before 2.9."""
    backends: Any = torch.backends
    if not hasattr(backends.cuda.matmul, "fp32_precision"):
        return []
    cudnn, mkldnn = backends.cudnn, backends.mkldnn
    on_cpu = [(kind, mkldnn) for kind in (mkldnn.matmul, mkldnn.conv, mkldnn.rnn)]
    return [(backends.cuda.matmul, cudnn), (cudnn.conv, None), (cudnn.rnn, None), *on_cpu]


_FULL_FLOAT32: ProcessSwitch[_SetBack] = ProcessSwitch(_as_set_now, lambda set_back: set_back(), _set_full_float32)
_CUDNN_ATTENTION = ProcessSwitch(
    lambda: bool(torch.backends.cuda.cudnn_sdp_enabled()),  # type: ignore[no-untyped-call]
    torch.backends.cuda.enable_cudnn_sdp,
    False,
)
