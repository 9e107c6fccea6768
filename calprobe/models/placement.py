"""Where a model goes and in which precision, decided and checked before anything large is read."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import torch

from calprobe.errors import CalprobeError, UsageError
from calprobe.models.memory import free_bytes
from calprobe.models.types import LoadOptions, Products
from calprobe.words import Precision

_GIB = 1024**3
_FIRST_TF32 = 8  # compute capability 8.0


@dataclass(frozen=True, slots=True)
class Placement:
    """The device that token ids go to, accelerate's device map if one is asked for, and the parameters' dtype."""

    device: torch.device
    device_map: str | None
    dtype: torch.dtype | None  # None: the checkpoint's own


def place(options: LoadOptions) -> Placement:
    """Resolve `auto`: the first GPU if torch sees one, else the CPU; float32 on a CPU, the checkpoint's own on a GPU.

    Raises UsageError for a device that is not there, or a dtype that it cannot compute in.
    """
    device = _device(options.device)
    dtype: torch.dtype | None = getattr(torch, options.dtype) if options.dtype != "auto" else None
    if dtype is None and device.type == "cpu":
        dtype = torch.float32
    if dtype == torch.bfloat16 and device.type == "cuda" and not torch.cuda.is_bf16_supported():
        raise UsageError(f"--dtype bfloat16: {device} cannot compute in it; use --dtype float16 or float32")
    return Placement(device, options.device_map, dtype)


def float32_products(precision: Precision, dtype: str, device: torch.device) -> Products:
    """How a model of that dtype on that device multiplies float32: `tf32x3` on cards with tensor cores for it.

    That is the sum of three products of operands cut to TF32, with an error near float32's.
    """
    if precision == "ieee" or dtype != "float32" or device.type != "cuda":
        return "ieee"
    return "tf32x3" if torch.cuda.get_device_capability(device)[0] >= _FIRST_TF32 else "ieee"


def _device(name: str) -> torch.device:
    if name == "auto":
        return torch.device("cuda", 0) if torch.cuda.is_available() else torch.device("cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise UsageError(f"--device {name!r} is not one of auto, cpu, cuda, cuda:N") from None
    if device.type not in ("cpu", "cuda"):
        raise UsageError(f"--device {name!r} is not one of auto, cpu, cuda, cuda:N")
    if device.type == "cuda":
        count = torch.cuda.device_count()
        if (device.index or 0) >= count:
            raise UsageError(f"--device {name}: torch sees {count} GPU(s) here; use --device auto or cpu")
    return device


def check_memory(config: Any, model_class: Any, placement: Placement, name: str) -> None:
    """Refuse a model with parameters that are larger than the free memory of their device.

    Parameters are counted on a model without storage built from `config`, so nothing is downloaded or read for it.
    Models that cannot be built so (remote code), and device maps, which may offload, are not checked.
    """
    if placement.device_map is not None:
        return
    needed = _parameter_bytes(config, model_class, placement.dtype)
    free = free_bytes(placement.device)
    if needed is not None and needed > free:
        dtype = str(placement.dtype or config.dtype).removeprefix("torch.")
        smaller = "" if dtype in ("bfloat16", "float16") else "--dtype bfloat16, "
        raise CalprobeError(
            f"{name} needs {needed / _GIB:.1f} GiB for its parameters in {dtype}, and {placement.device} has"
            f" {free / _GIB:.1f} GiB free\ntry {smaller}--device-map auto, another device, or a smaller model"
        )


def _parameter_bytes(config: Any, model_class: Any, dtype: torch.dtype | None) -> int | None:
    with suppress(Exception), torch.device("meta"):
        network = model_class.from_config(config)
        itemsize = (dtype or config.dtype or torch.float32).itemsize
        return int(sum(parameter.numel() for parameter in network.parameters()) * itemsize)
    return None
