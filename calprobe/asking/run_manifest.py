"""The manifest of a new asked run."""

from __future__ import annotations

import json
import platform
from datetime import UTC, datetime
from importlib import metadata

from calprobe.asking.ask_options import AskOptions
from calprobe.asking.plan import Plan
from calprobe.backends.protocol import Backend
from calprobe.questions import QuestionOptions
from calprobe.runs.asked_manifest import AskManifest
from calprobe.runs.asked_questions import StoredSet
from calprobe.runs.asked_records import COMPUTING, BackendRecord, CounterfactualRecord, SamplingRecord
from calprobe.runs.stages import COUNTERFACTUAL

_PACKAGES = ("calprobe", "numpy", "pyarrow", "openai")
ADDRESS = "address"  # of a backend's settings, the one that decides no reply


def manifest_of(
    backend: Backend,
    plan: Plan,
    sets: tuple[StoredSet, ...],
    options: AskOptions,
    chosen: QuestionOptions | None = None,
) -> AskManifest:
    """Everything that is known of the run before its first reply; options as given, for what they override.

    Backends put a server's address among their settings, under `address`, and how a card computes (`COMPUTING`).
    """
    filled = plan.options
    return AskManifest(
        model=backend.model,
        backend=backend_record(backend),
        sets=tuple(stored.record for stored in sets),
        prompts=plan.prompts,
        asked=plan.asked,
        sampling=SamplingRecord(filled.temperature or 0.0, filled.top_p or 1.0, filled.seed or 0, filled.think_tokens),
        study=options.study,
        overrides=options.overrides(chosen),
        counterfactual=_counterfactual(plan),
        paraphrases=plan.paraphrases,
        shard=options.shard,
        versions=_versions(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _counterfactual(plan: Plan) -> CounterfactualRecord | None:
    replacing = plan.replacing
    return CounterfactualRecord(replacing.pool, replacing.kind) if COUNTERFACTUAL in replacing.replaced else None


def backend_record(backend: Backend) -> BackendRecord:
    """The manifest's record of what answers."""
    settings = dict(backend.settings())
    address = settings.pop(ADDRESS, None)
    computing = (settings.pop(name, None) for name in COMPUTING)
    precision, layers, head = (None if value is None else str(value) for value in computing)
    able = backend.capabilities
    return BackendRecord(
        name=backend.name,
        versions=dict(backend.versions),
        settings={name: _text(value) for name, value in sorted(settings.items())},
        address=None if address is None else str(address),
        complete_softmax=able.complete_softmax,
        top_logprobs=able.top_logprobs,
        samples_are_reproducible=able.samples_are_reproducible,
        refused=dict(able.refused),
        precision=precision,
        layers=layers,
        head=head,
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)


def _versions() -> dict[str, str]:
    """Versions of Python and of the packages that have to do with the run's files and requests."""
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions
