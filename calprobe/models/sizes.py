"""How large a model is, as far as its name and its files say so: nothing is loaded, and nothing downloaded."""

from __future__ import annotations

import json
import math
import re
import struct
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

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


def size_of(name: str) -> ModelSize:
    """The size of a model by its alias, its files, or the number that its name has.

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


def folder_of(source: Source) -> Path | None:
    """Where the files of a model are on this machine, as far as its name says it; None: nowhere."""
    if source.form != "hub":
        return Path(source.location)
    from huggingface_hub import try_to_load_from_cache

    config = try_to_load_from_cache(source.location, "config.json")
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
    try:
        with path.open("rb") as stream:
            (length,) = struct.unpack("<Q", stream.read(8))
            if length > _LARGEST_HEADER:
                return None
            header = json.loads(stream.read(length))
        return int(sum(math.prod(own["shape"]) for name, own in header.items() if name != "__metadata__"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, struct.error):
        return None
