"""GGUF files: dequantised to float32 once, kept as safetensors under the file's hash, quick to load from then on."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import tempfile
from contextlib import nullcontext, redirect_stderr
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from calprobe.errors import CalprobeError
from calprobe.folders import cache_root, filling_cache
from calprobe.models.libraries import first_line
from calprobe.models.tokenizers import words_in_pieces

_ORIGIN = "origin.json"  # written into each cached folder: where it came from
_MAGIC = b"GGUF"


@dataclass(frozen=True, slots=True)
class Dequantised:
    """A GGUF file's float32 twin."""

    folder: Path
    sha256: str  # of the GGUF file
    file_type: str  # how its weights were rounded: Q4_1, Q4_K_M, F16


def dequantised(file: Path, show_progress: bool = False) -> Dequantised:
    """The float32 twin of `file` as a model folder (config, safetensors, tokenizer).

    Made on the first call with each release of transformers, of 4 bytes a parameter. It is complete or absent, so
    two processes may make it at once. Raises CalprobeError for a file that is not GGUF, is damaged, or of an
    architecture or a tokenizer that transformers cannot read.
    """
    with file.open("rb") as stream:
        if stream.read(len(_MAGIC)) != _MAGIC:
            raise CalprobeError(f"{file}: not a GGUF file (it does not begin with GGUF); download or copy it again")
        stream.seek(0)
        sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
    folder = cache_root() / "gguf" / kept_as(sha256)
    if not folder.is_dir():
        _fill(folder, file, show_progress)
    origin = json.loads((folder / _ORIGIN).read_text("utf-8"))
    return Dequantised(folder, sha256, origin["file_type"])


def unpacked_before(file: Path) -> Path | None:
    """The twin of `file` that an earlier call of `dequantised` has left; None where it has not, or the file is gone."""
    try:
        with file.open("rb") as stream:
            folder = cache_root() / "gguf" / kept_as(hashlib.file_digest(stream, "sha256").hexdigest())
    except OSError:
        return None
    return folder if folder.is_dir() else None


def kept_as(sha256: str) -> str:
    """The name of a twin's folder. One that another release of transformers saved may be misread: each has its own."""
    import transformers

    return f"{sha256}-transformers-{transformers.__version__}"


def _fill(folder: Path, file: Path, show_progress: bool) -> None:
    with filling_cache():
        folder.parent.mkdir(parents=True, exist_ok=True)
        building = Path(tempfile.mkdtemp(prefix=f"{folder.name[:12]}-", dir=folder.parent))
    try:
        # transformers draws this bar with plain tqdm, which no switch of its own reaches.
        with nullcontext() if show_progress else redirect_stderr(io.StringIO()):
            _write_twin(file, building)
        try:
            building.rename(folder)
        except OSError:
            if not folder.is_dir():  # else another process was first, and its folder is as good
                raise
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _write_twin(file: Path, folder: Path) -> None:
    import transformers
    from huggingface_hub import save_torch_state_dict
    from transformers import AutoModelForCausalLM, AutoTokenizer

    place, inside = str(file.parent), {"gguf_file": file.name}
    try:
        file_type = _file_type(file)
        tokenizer = AutoTokenizer.from_pretrained(place, **inside)
        check_words(tokenizer, file)
        network: Any = AutoModelForCausalLM.from_pretrained(place, dtype=torch.float32, **inside)
    except (ValueError, KeyError, IndexError, TypeError, OSError, RuntimeError, NotImplementedError) as error:
        raise CalprobeError(
            f"{file}: cannot be read as GGUF ({first_line(error)})\n"
            "it is damaged, or its architecture is unknown to this transformers: copy it again, or use safetensors"
        ) from error
    # transformers refuses to save a model that came from GGUF; its weights are plain float32 by now.
    config = network.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    config.architectures = [type(network).__name__]
    origin = {"file": file.name, "file_type": file_type, "transformers": transformers.__version__}
    state = _state(network)
    with filling_cache(sum(tensor.nbytes for tensor in state.values())):
        config.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        save_torch_state_dict(state, folder)
        (folder / _ORIGIN).write_text(json.dumps(origin, indent=1) + "\n", "utf-8")


def check_words(tokenizer: Any, file: Path | str, unpacked: Path | None = None) -> None:
    """Raise CalprobeError if the tokenizer made of `file` (kept in `unpacked`) cuts its own vocabulary's words up.

    Before 5.23, transformers builds Gemma's with another algorithm than the model was trained with, and says nothing.
    """
    import transformers

    fault = words_in_pieces(tokenizer)
    if fault is not None:
        delete = f"delete {unpacked} and try again; if that does not help, " if unpacked else ""
        raise CalprobeError(
            f"{file}: transformers {transformers.__version__} builds a wrong tokenizer from it: {fault}\n"
            f"{delete}use transformers 5.23 or later, or --model with the hub id or folder that the file was made from"
        )


def _state(network: torch.nn.Module) -> dict[str, torch.Tensor]:
    """The state dict, each tensor under its first name only: the embedding's, where the head is tied to it.

    Not every release of transformers finds an embedding that was saved as the head.
    """
    first = {name for name, _ in network.named_parameters()}
    again = {name for name, _ in network.named_parameters(remove_duplicate=False)} - first
    return {name: tensor for name, tensor in network.state_dict().items() if name not in again}


def _file_type(file: Path) -> str:
    from gguf import GGUFReader, LlamaFileType

    field = GGUFReader(str(file)).get_field("general.file_type")
    if field is None:
        return "unknown"
    return str(LlamaFileType(field.contents()).name).removeprefix("MOSTLY_").removeprefix("ALL_")
