"""How large a model is, and in which dtype: by its name and files before it is loaded, by its network afterwards."""

from __future__ import annotations

import json
import math
import re
import struct
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calprobe.models.aliases import ALIASES
from calprobe.models.source import Source, resolve

_LARGEST_HEADER = 100_000_000  # bytes; what safetensors itself accepts
_UNITS = {"K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}
# A size within a name: Qwen2.5-7B-Instruct, opt-125m, pythia-1.4b; of experts (8x7B), the product.
_IN_NAME = re.compile(r"(?<![A-Za-z0-9.])(?:([0-9]{1,3})x)?([0-9]{1,4}(?:[.][0-9]{1,3})?)([KMBT])(?![A-Za-z0-9])", re.I)


@dataclass(frozen=True, slots=True)
class ModelSize:
    """What is known of a model before it is loaded."""

    parameters: int | None  # embeddings and head included; None: nothing says it
    here: bool  # whether its files are on this machine


@dataclass(frozen=True, slots=True)
class ParameterCounts:
    """Parameters of a network. Those that several layers share count once."""

    total: int  # embeddings and head included
    embeddings: int  # of these, in the input and the output embedding


def size_of(name: str) -> ModelSize:
    """The size of a model by its alias, its files, or the number that its name has; no weights are read.

    Raises CalprobeError and its subclasses for a name that stands for nothing, as loading it would.

    >>> size_of("tiny-clm")
    ModelSize(parameters=479904, here=True)
    """
    source = resolve(name)
    place = folder_of(source)
    if place is not None and place.is_dir() and (counted := _counted(place)) is not None:
        return ModelSize(counted, True)
    alias = ALIASES.get(name)
    known = round(alias.parameters * 10**6) if alias is not None else in_name(source.location)
    return ModelSize(known, place is not None)


def in_name(name: str) -> int | None:
    """The number of parameters that a name says, rounded as it is there; None if it says none.

    >>> in_name("Qwen/Qwen2.5-7B-Instruct"), in_name("mistralai/Mixtral-8x7B-v0.1"), in_name("openai-community/gpt2")
    (7000000000, 56000000000, None)
    """
    found = _IN_NAME.findall(name.rsplit("/", 1)[-1])
    if not found:
        return None
    experts, number, unit = found[-1]
    return round(int(experts or 1) * float(number) * _UNITS[unit.upper()])


def parameter_counts(network: Any) -> ParameterCounts:
    """Count the parameters of a model of transformers, wherever they are; an adapter's own count too.

    A head that is tied to the input embedding adds nothing: it is the same parameter.
    """
    ends = (network.get_input_embeddings(), network.get_output_embeddings())
    embeddings = {id(own): own.numel() for end in ends if end is not None for own in end.parameters()}
    return ParameterCounts(sum(own.numel() for own in network.parameters()), sum(embeddings.values()))


def folder_of(source: Source, revision: str | None = None) -> Path | None:
    """Where the files of a model are on this machine, as far as its name says it; None: nowhere."""
    if source.form != "hub":
        return Path(source.location)
    from huggingface_hub import try_to_load_from_cache

    config = try_to_load_from_cache(source.location, "config.json", revision=revision)
    return Path(config).parent if isinstance(config, str) else None


def weight_files(folder: Path) -> list[Path]:
    """Those that transformers loads: others beside them (consolidated.safetensors, pickles) have the same weights.

    Empty where the folder has none of these names.
    """
    for whole in (folder / "model.safetensors", folder / "pytorch_model.bin"):
        if whole.is_file():
            return [whole]
        with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            names = json.loads(Path(f"{whole}.index.json").read_text(encoding="utf-8"))["weight_map"].values()
            if shards := [path for path in map(folder.joinpath, sorted(set(names))) if path.is_file()]:
                return shards
    return []


def _counted(folder: Path) -> int | None:
    """The parameters in a folder's safetensors files, by their headers; None where it has none that can be read."""
    files = weight_files(folder) or sorted(folder.glob("*.safetensors"))
    counts = [_in_header(path) for path in files]
    return None if not counts or None in counts else sum(count or 0 for count in counts)


def _in_header(path: Path) -> int | None:
    with suppress(*_UNREADABLE):
        return int(sum(math.prod(tensor["shape"]) for tensor in _header(path).values()))
    return None


_UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError, struct.error)


def _header(path: Path) -> dict[str, Any]:
    """What a safetensors file says of each tensor, by its name. Raises one of _UNREADABLE."""
    with path.open("rb") as stream:
        (length,) = struct.unpack("<Q", stream.read(8))
        if length > _LARGEST_HEADER:
            raise ValueError(f"a header of {length} bytes")
        header = json.loads(stream.read(length))
    return {name: tensor for name, tensor in header.items() if name != "__metadata__"}


def stored_dtype(source: Source, revision: str | None = None) -> str | None:
    """The dtype that transformers loads weights in where the config names none, as safetensors calls it: `BF16`.

    It is that of the first floating-point tensor, by name, in the first file. The hub is asked for it where the weights
    are still to be downloaded. None where nothing says it.
    """
    folder = folder_of(source, revision)
    files = weight_files(folder) if folder is not None else []
    dtypes: dict[str, str] = {}
    with suppress(Exception):  # loading says why a file or the hub cannot be read
        if files:
            dtypes = {name: tensor["dtype"] for name, tensor in _header(files[0]).items()}
        elif source.form == "hub":
            dtypes = _dtypes_on_hub(source.location, revision)
    return next((dtypes[name] for name in sorted(dtypes) if dtypes[name] in _LOADED_IN), None)


_LOADED_IN = ("F64", "F32", "F16", "BF16")  # what transformers makes a whole model of


def _dtypes_on_hub(name: str, revision: str | None) -> dict[str, str]:
    from huggingface_hub import get_safetensors_metadata

    files = get_safetensors_metadata(name, revision=revision).files_metadata
    return {tensor: info.dtype for tensor, info in files[min(files)].tensors.items()}
