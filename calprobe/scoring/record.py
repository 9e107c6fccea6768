"""The manifest of a run that is about to be scored."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path as FilePath

import torch

from calprobe.kernels.onednn import onednn_takes, stretches_pay
from calprobe.models import LoadedModel
from calprobe.runs import Manifest, ModelRecord, Settings, StartToken
from calprobe.scoring.options import Path, ScoreOptions
from calprobe.scoring.selection import Selection

_PACKAGES = (
    *("calprobe", "torch", "transformers", "tokenizers", "accelerate", "numpy", "triton", "peft", "gguf"),
    "regex",  # knows which characters make a word
)


def manifest_of(
    model: LoadedModel, selection: Selection, path: Path, batch_tokens: int, options: ScoreOptions
) -> Manifest:
    """Everything that is known of the run before its first score."""
    masking = options.masking(model.kind, model.name)
    return Manifest(
        model=model_record(model),
        probe=selection.probe_source(),
        template_set=selection.template_source(),
        templates=selection.template_records(),
        relations=selection.relation_records(),
        settings=Settings(
            path=path,
            dtype=model.dtype,
            device=str(model.device),
            device_name=device_name(model.device),
            cpu_products=cpu_products(model, path),
            start_token=StartToken(model.start_token, model.start_token_id),
            pll_metric=masking.metric,
            word_split=masking.word_split,
            batch_tokens=batch_tokens,
            threads=torch.get_num_threads() if model.device.type == "cpu" else None,
            save_tokens=options.save_tokens,
            attention=model.attention,
        ),
        limit=options.limit,
        shard=options.shard,
        versions=_versions(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def model_record(model: LoadedModel) -> ModelRecord:
    """The model as a manifest has it."""
    base, _, adapter = model.source.partition(" + ")
    return ModelRecord(
        name=model.name,
        id=base,
        revision=model.revision,
        kind=model.kind,
        architecture=model.architecture,
        adapter=adapter or None,
        weights_fingerprint=model.weights_fingerprint,
        tokenizer_fingerprint=model.tokenizer_fingerprint,
        note=model.note,
        adapter_merged=model.adapter_merged,
    )


def device_name(device: torch.device) -> str | None:
    """The card's name, or the processor's with what torch uses of it."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{_processor()} ({torch.backends.cpu.get_cpu_capability()})" if device.type == "cpu" else None


def _processor() -> str:
    """The processor's name; `platform` knows no more than its architecture on Linux."""
    info = FilePath("/proc/cpuinfo")
    lines = info.read_text("utf-8").splitlines() if info.is_file() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def cpu_products(model: LoadedModel, path: Path) -> str | None:
    """What makes the float32 products of that path on a CPU; None for a model that is not on one."""
    if model.device.type != "cpu":
        return None
    # The head multiplies float32, whatever the dtype; the plain path has none of calprobe's products.
    if path == "plain" or not onednn_takes(torch.empty(0)):
        return "torch"
    body = torch.empty(0, dtype=getattr(torch, model.dtype))
    return "onednn" if stretches_pay(body) else "onednn for the head"


def _versions() -> dict[str, str]:
    """Versions of Python and of the packages that decide a score; those that are not installed are left out."""
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions
