"""Where a model goes and in which precision, decided and checked before anything large is read."""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from calprobe.errors import CalprobeError, UsageError
from calprobe.kernels.arguments import compiles_for
from calprobe.models.libraries import PICKLES
from calprobe.models.loaded_model import LoadOptions, Products
from calprobe.models.memory import free_bytes
from calprobe.models.sizes import stored_dtype, weight_files
from calprobe.models.source import Source
from calprobe.models.unseen_card import no_card_here, unseen_card, without_code
from calprobe.words import Precision

log = logging.getLogger(__name__)
_GIB = 1024**3
_FITS_WELL = 0.8  # of a card's free memory; the rest is for batches
_FIRST_SHORT = 8  # compute capability 8.0: tensor cores for TF32 and bfloat16
_TF32_OVERRIDE = "NVIDIA_TF32_OVERRIDE"  # what cuBLAS reads, and nobody can set back


@dataclass(frozen=True, slots=True)
class Placement:
    """The device that token ids go to, accelerate's device map if one is asked for, and the parameters' dtype."""

    device: torch.device
    device_map: str | None
    dtype: torch.dtype | None  # None: the checkpoint's own


def place(options: LoadOptions, checkpoint_dtype: torch.dtype | None = None, source: Source | None = None) -> Placement:
    """Resolve `auto`: the first GPU if torch sees one, else the CPU; float32 on a CPU, the checkpoint's own on a GPU.

    A card without units for bfloat16 (compute capability below 8.0: T4, RTX 20) takes float16 for it; where no
    `checkpoint_dtype` is given, the weights of `source` say it. Where there is a card that torch does not compute on,
    where float16 is taken, and where no kernels are for an AMD card, a warning says so.

    Raises UsageError for a device that is not there, that this torch is not built for, or a dtype that it cannot
    compute in.
    """
    device = _device(options.device)
    if device.type == "cuda":
        _refuse_without_code(device)
        _warn_of_amd(device)
    return Placement(device, options.device_map, dtype_on(device, options, checkpoint_dtype, source))


def dtype_on(
    device: torch.device,
    options: LoadOptions,
    checkpoint_dtype: torch.dtype | None = None,
    source: Source | None = None,
) -> torch.dtype | None:
    """The parameters' dtype on that device, as `place` says it; None for the checkpoint's own."""
    asked: torch.dtype | None = getattr(torch, options.dtype) if options.dtype != "auto" else None
    if asked is None and device.type == "cpu":
        return torch.float32
    if device.type == "cpu" or _multiplies_bfloat16(device):
        return asked
    if asked == torch.bfloat16:
        raise UsageError(f"--dtype bfloat16: {device} cannot compute in it; use --dtype float16 or float32")
    if asked is not None or not _is_bfloat16(checkpoint_dtype, source, options.revision):
        return asked
    log.warning("%s has no units for bfloat16: float16 instead; if it overflows, use --dtype float32", device)
    return torch.float16


def _is_bfloat16(checkpoint_dtype: torch.dtype | None, source: Source | None, revision: str | None) -> bool:
    """Whether transformers would load a checkpoint in it: by its config, else by its weights."""
    if checkpoint_dtype is None and source is not None:
        return stored_dtype(source, revision) == "BF16"
    return checkpoint_dtype == torch.bfloat16


def _refuse_without_code(device: torch.device) -> None:
    """Raise UsageError for a card that this build of torch has no code for."""
    if (missing := without_code(device)) is not None:
        name, capability = torch.cuda.get_device_name(device), torch.cuda.get_device_capability(device)
        shown = ".".join(map(str, capability))
        raise UsageError(f"{device} is a {name} (compute capability {shown}), and {missing.what}\n{missing.fix}")


def _warn_of_amd(device: torch.device) -> None:
    if torch.version.hip and not compiles_for(device):
        name = torch.cuda.get_device_properties(device).gcnArchName.partition(":")[0]
        log.warning(
            "%s (%s) is no AMD Instinct MI200 or MI300: torch computes without calprobe's kernels", device, name
        )


def _multiplies_bfloat16(device: torch.device) -> bool:
    """Whether that card does: torch would tell of the current one, and count emulation, five to ten times slower."""
    return bool(torch.version.hip) or torch.cuda.get_device_capability(device)[0] >= _FIRST_SHORT


def float32_products(precision: Precision, dtype: str, device: torch.device) -> Products:
    """How a model of that dtype on that device multiplies float32: `tf32x3` on NVIDIA's cards with tensor cores for it.

    That is the sum of three products of operands cut to TF32, with an error near float32's. Where the environment's
    NVIDIA_TF32_OVERRIDE=0 forbids TF32, each would be a product in full: `ieee` then, and a warning. With 1 it cuts the
    operands of all products, whatever torch is told: UsageError.
    """
    if dtype != "float32" or device.type != "cuda" or torch.version.hip:
        return "ieee"
    override = os.environ.get(_TF32_OVERRIDE)
    if override == "1":
        raise UsageError(
            f"{_TF32_OVERRIDE}=1 cuts all float32 products on {device} to TF32, and scores move by up to 0.02 nats\n"
            f"unset {_TF32_OVERRIDE}, or use --dtype bfloat16"
        )
    if precision == "ieee" or override == "0":
        if precision != "ieee":
            log.warning("%s=0: float32 products without tensor cores, as --precision ieee; unset it", _TF32_OVERRIDE)
        return "ieee"
    return "tf32x3" if torch.cuda.get_device_capability(device)[0] >= _FIRST_SHORT else "ieee"


def _device(name: str) -> torch.device:
    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda", 0)
        if (unseen := unseen_card()) is not None:
            log.warning("computing on the CPU: %s; %s", *unseen)
        return torch.device("cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise UsageError(f"--device {name!r} is not one of auto, cpu, cuda, cuda:N") from None
    if device.type not in ("cpu", "cuda"):
        raise UsageError(f"--device {name!r} is not one of auto, cpu, cuda, cuda:N")
    if device.type == "cuda":
        # The driver may show cards that CUDA cannot use.
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if (device.index or 0) >= count:
            raise UsageError(f"--device {name}: {no_card_here(count)}")
    return device


def check_memory(config: Any, model_class: Any, placement: Placement, source: Source) -> None:
    """Refuse a model with parameters that are larger than the free memory of their device.

    Parameters are counted on a model without storage built from `config`, so nothing is downloaded or read for it; of a
    quantised checkpoint the files are, which are what it takes. Models that cannot be built so (remote code), quantised
    ones on the hub, and device maps, which may offload, are not checked.
    """
    if placement.device_map is not None:
        _say_what_is_faster(config, model_class, placement, source)
        return
    is_quantised = getattr(config, "quantization_config", None) is not None
    needed = _file_bytes(source) if is_quantised else _parameter_bytes(config, model_class, placement.dtype)
    free = free_bytes(placement.device)
    if needed is not None and needed > free:
        dtype = "" if is_quantised else " in " + str(placement.dtype or config.dtype).removeprefix("torch.")
        smaller = "--dtype bfloat16, " if dtype == " in float32" else ""
        raise CalprobeError(
            f"{source.shown} needs {needed / _GIB:.1f} GiB for its parameters{dtype}, and {placement.device} has"
            f" {free / _GIB:.1f} GiB free\ntry {smaller}--device-map auto, another device, or a smaller model"
        )


def _say_what_is_faster(config: Any, model_class: Any, placement: Placement, source: Source) -> None:
    """Where a model is to be spread over cards of which one would do, say that a process for each is faster."""
    n_cards = torch.cuda.device_count() if placement.device.type == "cuda" else 1
    if n_cards == 1:
        return
    needed = _parameter_bytes(config, model_class, placement.dtype)
    if needed is not None and needed <= _FITS_WELL * free_bytes(placement.device):
        log.info(
            "%s fits on one card, and cards that share a model work in turn: without --device-map, a process for each"
            " card is %d times as fast (torchrun --standalone --nproc-per-node %d -m calprobe score ..; calprobe ask"
            " with --shard)",
            *(source.shown, n_cards, n_cards),
        )


def _file_bytes(source: Source) -> int | None:
    if source.form != "folder":
        return None
    folder = Path(source.location)
    files = weight_files(folder) or [f for f in folder.iterdir() if f.suffix in (".safetensors", *PICKLES)]
    return sum(file.stat().st_size for file in files)


def _parameter_bytes(config: Any, model_class: Any, dtype: torch.dtype | None) -> int | None:
    with suppress(Exception), torch.device("meta"):
        network = model_class.from_config(config)
        itemsize = (dtype or config.dtype or torch.float32).itemsize
        return int(sum(parameter.numel() for parameter in network.parameters()) * itemsize)
    return None
