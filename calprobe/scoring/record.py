"""The manifest of a new run."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib import metadata

import torch

from calprobe.kernels.arguments import triton_takes
from calprobe.messages import shown
from calprobe.models import LoadedModel
from calprobe.models.sizes import parameter_counts
from calprobe.runs import Manifest, ModelRecord, Settings, StartToken
from calprobe.runs.manifest_records import ModelSize
from calprobe.scoring.candidate_tokens import SameTokens
from calprobe.scoring.device import cpu_products, device_name
from calprobe.scoring.fit import Way
from calprobe.scoring.options import Path, ScoreOptions
from calprobe.scoring.probe_selection import Selection
from calprobe.scoring.scheduling import least_statements

_PACKAGES = (
    *("calprobe", "torch", "transformers", "tokenizers", "accelerate", "numpy", "triton", "peft", "gguf"),
    "regex",  # defines which characters make a word
)


def manifest_of(
    model: LoadedModel,
    selection: Selection,
    way: Way,
    options: ScoreOptions,
    same_tokens: Mapping[str, SameTokens] | None = None,
) -> Manifest:
    """Everything that is known of the run before its first score; `same_tokens` of a new run."""
    model = model.by_torch(way.by_torch)
    same = None if same_tokens is None else {name: found.count for name, found in same_tokens.items()}
    masking = options.masking(model.kind, model.name)
    return Manifest(
        model=model_record(model),
        probe=selection.probe_source(),
        template_set=selection.template_source(),
        templates=selection.template_records(),
        relations=selection.relation_records(same),
        settings=Settings(
            path=way.path,
            dtype=model.dtype,
            precision=_precision(model, way.path),
            device=str(model.device),
            device_name=device_name(model.device),
            cpu_products=cpu_products(model.dtype, way.path) if model.device.type == "cpu" else None,
            start_token=StartToken(model.start_token, model.start_token_id),
            pll_metric=masking.metric,
            word_split=masking.word_split,
            batch_tokens=way.batch_tokens,
            batch_tokens_from=way.source,
            first_batch_tokens=way.grouped_by,
            least_statements=least_statements(way.path, way.grouped_by or way.batch_tokens),
            threads=torch.get_num_threads() if model.device.type == "cpu" else None,
            save_tokens=options.save_tokens,
            attention=model.attention,
            attention_kernel=way.attention_kernel,
            layers="fused" if model.fused and way.path != "plain" else None,
            head=head_by(model, way.path),
        ),
        limit=options.per_relation,
        sample_seed=options.sample_seed,
        n_probe_relations=len(selection.probe.relations),
        shard=options.shard,
        versions=_versions(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _precision(model: LoadedModel, path: Path) -> str | None:
    """How float32 is multiplied on a card; on the plain path as float32, never in TF32 (`exact_torch`)."""
    if model.device.type != "cuda" or model.dtype != "float32":
        return None
    return model.precision if path != "plain" else "ieee"


def head_by(model: LoadedModel, path: Path) -> str | None:
    """`Settings.head`: what makes log-probabilities of hidden states on a card; the plain path makes none."""
    if model.device.type != "cuda" or path == "plain":
        return None
    return "kernel" if model.head_by_kernel and triton_takes(torch.empty(0, device=model.device)) else "torch"


def model_record(model: LoadedModel) -> ModelRecord:
    """The manifest's record of the model."""
    base, _, adapter = model.source.partition(" + ")
    counts = parameter_counts(model.network)
    return ModelRecord(
        name=shown(model.name),
        id=shown(base),
        revision=model.revision,
        kind=model.kind,
        architecture=model.architecture,
        adapter=shown(adapter) or None,
        weights_fingerprint=model.weights_fingerprint,
        tokenizer_fingerprint=model.tokenizer_fingerprint,
        note=model.note,
        adapter_merged=model.adapter_merged,
        size=ModelSize(counts.total, "weights", counts.embeddings),
    )


def _versions() -> dict[str, str]:
    """Versions of Python and of the packages that decide a score; those that are not installed are left out."""
    found = {package: _version(package) for package in _PACKAGES}
    known = {package: version for package, version in found.items() if version is not None}
    return {"python": platform.python_version(), **known}


@cache
def _version(package: str) -> str | None:
    """Of what is installed, None of what is not; read once in a process, since its metadata is a file to parse."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
