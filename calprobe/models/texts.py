"""A model without its weights: the tokenizer, and what else decides which tokens go through it."""

from __future__ import annotations

import hashlib
import json
import logging
from pathlib import Path

from calprobe.models.kind import kind_of
from calprobe.models.libraries import quiet_libraries
from calprobe.models.loaded_model import LoadedModel
from calprobe.models.sizes import folder_of
from calprobe.models.source import resolve
from calprobe.models.tokenizers import special_tokens_of, start_token_of
from calprobe.words import ModelKind

log = logging.getLogger(__name__)

# Files that decide the tokens of a text or a chat, and the kind of the model.
_FILES = ("config.json", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "special_tokens_map.json")


def tokenizer_files(name: str) -> str | None:
    """SHA-256 (hex) of the files on this machine that decide a model's tokens; None where it has none here.

    Equal for models of one family with one tokenizer and one kind of head. Of a GGUF file its place, size and time.
    Raises as `resolve`.
    """
    source = resolve(name)
    if source.form == "gguf":
        found = Path(source.location).stat()
        return hashlib.sha256(f"{source.location} {found.st_size} {found.st_mtime_ns}".encode()).hexdigest()
    folder = folder_of(source)
    if folder is None or not (folder / "tokenizer.json").is_file() or not (folder / "config.json").is_file():
        return None
    digest = hashlib.sha256()
    for file in (folder / file_name for file_name in _FILES):
        if file.is_file():
            content = file.read_bytes() if file.name != "config.json" else _of_kind(file)
            digest.update(f"{file.name} {len(content)} ".encode() + content)
    return digest.hexdigest()


def _of_kind(config: Path) -> bytes:
    """What of a configuration decides how texts are scored."""
    try:
        return json.dumps(json.loads(config.read_text("utf-8")).get("architectures")).encode()
    except (ValueError, AttributeError):
        return config.read_bytes()


def without_weights(name: str, kind: ModelKind | None = None) -> LoadedModel | None:
    """The model with an empty network, to count tokens with; None where its files are not here or cannot be read.

    A GGUF file is read where it was unpacked before. Nothing is downloaded, and no code of a repository is run. It has
    no limit of positions: a text that is too long is refused when the model itself is loaded. Raises as `resolve`.
    """
    import torch
    from transformers import AutoConfig, AutoTokenizer

    from calprobe.models.gguf import unpacked_before

    source = resolve(name)
    folder = unpacked_before(Path(source.location)) if source.form == "gguf" else folder_of(source)
    if folder is None or not (folder / "tokenizer.json").is_file():
        return None
    try:
        with quiet_libraries(True):
            config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
            tokenizer = AutoTokenizer.from_pretrained(folder, use_fast=True, trust_remote_code=False)
        found = kind_of(config, source.shown, kind)
        start_id, start = start_token_of(tokenizer, found, source.shown)
        special = special_tokens_of(tokenizer) if found == "masked" else None
    except Exception as error:  # noqa: BLE001 - what tokenizers raises for a file of a newer version has no other class
        log.debug("%s: no tokens are counted: %s", name, error)
        return None
    return LoadedModel(
        name=name,
        source=str(folder),
        kind=found,
        network=torch.nn.Module(),
        tokenizer=tokenizer,
        start_token_id=start_id,
        start_token=start,
        dtype="float32",
        device=torch.device("meta"),
        architecture=", ".join(config.architectures or ()),
        attention="",
        weights_fingerprint="",
        tokenizer_fingerprint="",
        max_positions=None,
        special=special,
    )
