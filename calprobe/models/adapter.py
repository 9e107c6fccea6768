"""PEFT adapters: found in a folder or on the hub, put onto their base model, and merged where the method allows it."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from calprobe.errors import CalprobeError, DataMissingError, UsageError
from calprobe.models.libraries import first_line
from calprobe.models.loaded_model import LoadOptions
from calprobe.models.source import Source
from calprobe.models.torch_settings import exact_torch

_CONFIG = "adapter_config.json"


@dataclass(frozen=True, slots=True)
class Adapter:
    """An adapter's files on this machine, and the name of the model it was trained on."""

    folder: Path
    base: str  # hub id or folder
    base_revision: str | None

    @property
    def has_tokenizer(self) -> bool:
        """True if a tokenizer was saved beside the adapter."""
        return (self.folder / "tokenizer_config.json").is_file()


def find_adapter(source: Source, options: LoadOptions) -> Adapter | None:
    """The adapter of `source` (folder or hub id), None if it is a plain model.

    Raises UsageError for an adapter in a pickle file without --allow-pickle, or for prompt tuning, which puts trained
    vectors in front of the statement; CalprobeError if its config names no base.
    """
    folder = _adapter_folder(source.location, options)
    if folder is None:
        return None
    config = json.loads((folder / _CONFIG).read_text("utf-8"))
    base = config.get("base_model_name_or_path")
    if not base:
        raise CalprobeError(f"{source.shown}: {_CONFIG} names no base model; set base_model_name_or_path in it")
    if "num_virtual_tokens" in config:
        raise UsageError(
            f"{source.shown}: {config.get('peft_type')} puts trained vectors in front of the text, so no statement has"
            " a score of its own\nuse an adapter that changes weights (such as LoRA)"
        )
    if not options.allow_pickle and not (folder / "adapter_model.safetensors").is_file():
        raise UsageError(
            f"{source.shown} has no adapter_model.safetensors, and pickle files can run code when they are read\n"
            "if you trust where it came from, add --allow-pickle"
        )
    return Adapter(folder, base, config.get("revision"))


def _adapter_folder(location: str, options: LoadOptions) -> Path | None:
    folder = Path(location)
    if folder.is_dir():
        return folder if (folder / _CONFIG).is_file() else None
    from huggingface_hub import hf_hub_download, snapshot_download
    from huggingface_hub.errors import EntryNotFoundError

    try:
        hf_hub_download(location, _CONFIG, revision=options.revision)
    except EntryNotFoundError:  # no such file there, or offline and never seen: then the config says what is wrong
        return None
    patterns = ["*.json", "adapter_model.*", "*.model", "*.txt"]
    return Path(snapshot_download(location, revision=options.revision, allow_patterns=patterns))


@exact_torch()
def put_on(base: torch.nn.Module, adapter: Adapter) -> tuple[torch.nn.Module, bool]:
    """`base` (float32) with the adapter, and whether it could be merged into the weights.

    Raises DataMissingError without the package peft, CalprobeError if the adapter does not fit its base or lacks parts.
    """
    try:
        from peft import PeftModel
    except ImportError:
        raise DataMissingError(f"{adapter.folder} is an adapter and needs peft\npip install 'calprobe[peft]'") from None
    try:
        with warnings.catch_warnings():
            # Missing keys would leave that part of the adapter without effect.
            warnings.filterwarnings("error", message=".*missing adapter keys.*")
            adapted: Any = PeftModel.from_pretrained(base, str(adapter.folder))
    except (RuntimeError, ValueError, KeyError, UserWarning) as error:
        raise CalprobeError(
            f"{adapter.folder}: the adapter does not fit its base model {adapter.base} ({first_line(error)})\n"
            "check base_model_name_or_path, or merge it with peft and give the merged folder"
        ) from error
    if not hasattr(adapted.base_model, "merge_and_unload"):
        return adapted.eval().requires_grad_(False), False
    _untie(adapted)
    return adapted.merge_and_unload(safe_merge=True).eval().requires_grad_(False), True


def _untie(adapted: Any) -> None:
    """Give an embedding that the adapter changes weights of its own: merged into tied ones, it would change both."""
    from peft.tuners.tuners_utils import BaseTunerLayer

    for end in (adapted.get_input_embeddings(), adapted.get_output_embeddings()):
        if isinstance(end, BaseTunerLayer):
            changed: Any = end.get_base_layer()
            changed.weight = torch.nn.Parameter(changed.weight.detach().clone(), requires_grad=False)
            adapted.config.tie_word_embeddings = False
