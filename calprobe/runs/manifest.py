"""What a run asked for and found: `manifest.json`, its types, and which of its fields make two runs the same."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from calprobe.errors import CalprobeError
from calprobe.probes.types import Cardinality
from calprobe.runs import atomic
from calprobe.runs.decode import DecodeError, decode
from calprobe.runs.manifest_checks import LARGEST, manifest_fault
from calprobe.runs.progress import Progress
from calprobe.types import ModelKind, Scored
from calprobe.wording import counted, reason
from calprobe.words import TemplateKind

FORMAT = 2
FILE_NAME = "manifest.json"


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """The scored model. What an import cannot know is None."""

    name: str  # as typed
    id: str | None = None  # Hub id, folder or file that the name stood for
    revision: str | None = None
    kind: ModelKind | None = None
    architecture: str | None = None
    adapter: str | None = None
    adapter_merged: bool | None = None  # into the weights; None: no adapter
    weights_fingerprint: str | None = None
    tokenizer_fingerprint: str | None = None
    note: str = ""  # what has to be said wherever the model is shown


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """A probe or a template set: its name, and the SHA-256 (hex) of what was taken from it (None: not known)."""

    name: str
    fingerprint: str | None = None


@dataclass(frozen=True, slots=True)
class TemplateRecord:
    """One template number of the run. Its wording differs by relation: `RelationRecord.texts`."""

    number: int
    kind: TemplateKind
    marker: str | None = None


@dataclass(frozen=True, slots=True)
class RelationRecord:
    """One relation as scored. Which instances these are is in the shards; all have as many candidates."""

    name: str
    n_instances: int
    n_candidates: int
    cardinality: Cardinality | None  # None: instances have candidates of their own, so that it has no meaning
    domains: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()  # wordings, one for each of Manifest.templates; empty where not known
    scored: Scored = "statement"  # completion: candidates are the instance's own, its context is read and not scored

    @property
    def n_statements(self) -> int:
        """Rows of one shard."""
        return self.n_instances * self.n_candidates


@dataclass(frozen=True, slots=True)
class StartToken:
    """The token put in front of every statement, and not scored."""

    text: str
    id: int


@dataclass(frozen=True, slots=True)
class Settings:
    """How the statements were scored. What an import cannot know is None."""

    path: str  # what ran: `padded`, ..; `imported`
    dtype: str | None = None
    attention: str | None = None  # what transformers ran: sdpa, eager
    device: str | None = None  # cpu, cuda:0
    device_name: str | None = None  # the card, or the processor and what torch uses of it
    cpu_products: str | None = (
        None  # what makes float32 products on a CPU: onednn (for the head), torch; None on a card
    )
    start_token: StartToken | None = None
    pll_metric: str | None = None  # None for causal models
    word_split: str | None = None  # None for causal models
    batch_tokens: int | None = None  # that the run began with; `Progress.batch_tokens` is in force
    batch_tokens_from: str | None = None  # typed, remembered, measured, computed; None: not known
    # By which pieces are grouped, where it is another: the batches of a shard are smaller than those that all shards
    # are cut by (in format 1 also: memory ran out, and `batch_tokens` is the smaller budget since).
    first_batch_tokens: int | None = None
    threads: int | None = None
    save_tokens: bool = False

    @property
    def grouped_by(self) -> int | None:
        """The batch budget that decides which pieces are scored together; smaller batches later do not change it."""
        return self.first_batch_tokens or self.batch_tokens


@dataclass(frozen=True, slots=True)
class FirstFormat:
    """What a run of format 1 recorded in its manifest and later ones record elsewhere."""

    progress: Progress
    cut_contexts: Mapping[str, int]  # by relation, of the instances scored so far; without zeros


@dataclass(frozen=True)  # without slots, for the cached properties
class Manifest:
    """What a run is: fixed before its first score, and written once. JSON on disk, format version 2.

    `versions` maps python, calprobe, torch, transformers, numpy, .. to what ran; `created` is UTC, ISO 8601.
    """

    model: ModelRecord
    probe: SourceRecord
    template_set: SourceRecord
    templates: tuple[TemplateRecord, ...]
    relations: tuple[RelationRecord, ...]
    settings: Settings
    limit: int | None = None
    shard: str | None = None  # I/N: this folder takes that share of the run's pieces; None: all of them
    versions: Mapping[str, str] = field(default_factory=dict)
    created: str = ""
    first_format: FirstFormat | None = None  # None: the run is of format 2

    @property
    def scores_completions(self) -> bool:
        """Whether any of its relations has contexts, and candidates of each instance's own."""
        return any(relation.scored == "completion" for relation in self.relations)

    @cached_property
    def pieces(self) -> tuple[tuple[str, int], ...]:
        """The (relation, template number) pieces that a whole run has, in the order of scoring."""
        return tuple((relation.name, template.number) for relation in self.relations for template in self.templates)

    def has_piece(self, relation: str, template: int) -> bool:
        """Whether a whole run has that piece."""
        return (relation, template) in self._pieces

    def relation(self, name: str) -> RelationRecord:
        """The record of that relation; KeyError if the run has none."""
        return self._relations[name]

    @cached_property
    def _pieces(self) -> frozenset[tuple[str, int]]:
        return frozenset(self.pieces)

    @cached_property
    def _relations(self) -> dict[str, RelationRecord]:
        return {relation.name: relation for relation in self.relations}

    def to_json(self) -> str:
        """The text of manifest.json: indented, keys in the order of the fields, their checksums, a final line break."""
        fields: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        del fields["first_format"]
        whole = {"calprobe_run": FORMAT} | fields | {_CHECKSUMS: {key: _checksum(fields[key]) for key in fields}}
        return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"

    def write(self, folder: Path) -> None:
        """Write `folder`/manifest.json atomically."""
        atomic.write_text(folder / FILE_NAME, self.to_json())


def read_manifest(folder: Path) -> Manifest:
    """Read `folder`/manifest.json.

    Raises CalprobeError if it is damaged, of a newer format, has unknown keys, or was changed since it was written; the
    keys that were are named. One without checksums, as older versions wrote it, is taken as it is.
    """
    path = folder / FILE_NAME
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CalprobeError(f"{path}: cannot be read: {reason(error)}") from error
    except (ValueError, RecursionError) as error:
        raise CalprobeError(f"{path}: damaged, not JSON ({str(error).partition(';')[0]}); {_MEND}") from error
    version = data.pop("calprobe_run", None) if isinstance(data, dict) else None
    if type(version) is not int:
        raise CalprobeError(f"{path}: not the manifest of a calprobe run (no key calprobe_run); name a run's folder")
    if version not in (1, FORMAT):
        raise CalprobeError(f"{path}: run format {version}, this calprobe reads 1 and {FORMAT}; upgrade calprobe")
    checksums = data.pop(_CHECKSUMS, None)
    try:
        if "first_format" in data:
            raise DecodeError("unknown key 'first_format'")
        manifest = decode(Manifest, data) if version == FORMAT else _decode_first_format(data)
    except DecodeError as error:
        raise CalprobeError(f"{path}: {error}; {_MEND}") from error
    if changed := _changed(data, checksums):
        raise CalprobeError(f"{path}: {', '.join(changed)} changed since calprobe wrote the file; {_MEND}")
    if fault := manifest_fault(manifest):
        raise CalprobeError(f"{path}: {fault}; {_MEND}")
    return manifest


def _decode_first_format(data: Mapping[str, Any]) -> Manifest:
    """A manifest of format 1, which has `timings`, and `cut_contexts` in each relation."""
    fixed = {key: value for key, value in data.items() if key != "timings"}
    cut: dict[str, int] = {}
    if isinstance(relations := data.get("relations"), list):
        fixed["relations"] = [_without_count(relation, f"relations[{i}]", cut) for i, relation in enumerate(relations)]
    manifest = decode(Manifest, fixed)
    settings = manifest.settings
    spent = decode(Progress, data.get("timings", {}), "timings")
    if settings.first_batch_tokens is not None and manifest.shard is None:
        spent = replace(spent, first_batch_tokens=settings.first_batch_tokens)
    return replace(manifest, first_format=FirstFormat(spent, cut))


def _without_count(relation: Any, where: str, cut: dict[str, int]) -> Any:
    """The relation without `cut_contexts`, which goes into `cut` by the relation's name if it is not 0."""
    if not isinstance(relation, dict) or "cut_contexts" not in relation:
        return relation
    count = decode(int, relation["cut_contexts"], f"{where}.cut_contexts")
    if not 0 <= count <= LARGEST:
        raise DecodeError(f"{where}.cut_contexts: must be 0 to {LARGEST}, got {count!r:.60}")
    if count and isinstance(relation.get("name"), str):
        cut[relation["name"]] = count
    return {key: value for key, value in relation.items() if key != "cut_contexts"}


def _checksum(value: Any) -> str:
    """CRC-32 (hex) of a JSON value, however it is laid out."""
    return f"{zlib.crc32(json.dumps(value, sort_keys=True, ensure_ascii=True).encode()):08x}"


def _changed(data: Mapping[str, Any], checksums: Any) -> list[str]:
    """The keys whose values are not those of their checksums, sorted."""
    if checksums is None:
        return []
    if not isinstance(checksums, dict):
        return [_CHECKSUMS]
    found = {key: _checksum(value) for key, value in data.items()}
    return sorted(key for key in {*found, *checksums} if found.get(key) != checksums.get(key))


_CHECKSUMS = "checksums"
_MEND = "restore the file, or score the run again into another folder"


def identity(manifest: Manifest) -> dict[str, Any]:
    """The fields that must agree for two runs' shards to be one run's, by the name a person knows them by.

    This is the one place that decides it. Left out, and so recorded only: names and places as typed (fingerprints stand
    for the content), device index and name and cpu_products (another one is said on resuming), batch budgets and
    threads (a resumed run takes over the stored ones), the shard, versions, time stamps, domains, wordings (the
    template set's fingerprint stands for them), what of a statement is scored (the probe's stands for it), the note,
    whether an adapter was merged.
    """
    model, settings = manifest.model, manifest.settings
    return {
        # Without a fingerprint the id is the best that is known of the weights.
        "model weights": model.weights_fingerprint or model.id or model.name,
        "revision": model.revision,
        "tokenizer": model.tokenizer_fingerprint,
        "kind": model.kind,
        "architecture": model.architecture,
        "adapter": model.adapter,
        "probe": manifest.probe.fingerprint or manifest.probe.name,
        "template set": manifest.template_set.fingerprint or manifest.template_set.name,
        # The order of scoring makes no other run.
        "templates": sorted([t.number, t.kind, t.marker] for t in manifest.templates),
        "relations": sorted([r.name, r.n_instances, r.n_candidates] for r in manifest.relations),
        "limit": manifest.limit,
        "dtype": settings.dtype,
        "attention": settings.attention,
        "device": settings.device and settings.device.partition(":")[0],
        "path": settings.path,
        "start token": settings.start_token and asdict(settings.start_token),
        "pll metric": settings.pll_metric,
        "word split": settings.word_split,
        "save tokens": settings.save_tokens,
    }


def identity_hash(manifest: Manifest) -> str:
    """SHA-256 (hex) of `identity`; every shard carries it."""
    text = json.dumps(identity(manifest), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def differences(stored: Manifest, asked: Manifest, words: tuple[str, str] = ("the run has", "asked")) -> list[str]:
    """One clause for each identity field that differs: `dtype: the run has float32, asked bfloat16`."""
    has, wants = identity(stored), identity(asked)
    shown_has, shown_wants = _shown(stored, has), _shown(asked, wants)
    differing = [key for key in has if has[key] != wants[key]]
    if "templates" in differing and stored.template_set.name == asked.template_set.name:
        differing.remove("template set")  # The fingerprint is of the templates taken: of course it differs.
    return [f"{key}: {words[0]} {shown_has[key]}, {words[1]} {shown_wants[key]}" for key in differing]


def _shown(manifest: Manifest, values: dict[str, Any]) -> dict[str, str]:
    shown = {key: "none" if value is None else str(value) for key, value in values.items()}
    for key, name in (
        ("model weights", manifest.model.name),
        ("probe", manifest.probe.name),
        ("template set", manifest.template_set.name),
    ):
        if shown[key] != name:
            shown[key] = f"{name} ({shown[key][:12]})"
    shown["tokenizer"] = shown["tokenizer"][:12]
    shown["templates"] = ",".join(str(template.number) for template in manifest.templates)
    shown["relations"] = _shown_relations(manifest)
    if manifest.settings.start_token is not None:
        shown["start token"] = manifest.settings.start_token.text
    return shown


def _shown_relations(manifest: Manifest) -> str:
    names = [relation.name for relation in manifest.relations]
    few = ",".join(names if len(names) <= 8 else [*names[:7], ".."])
    instances = counted(sum(relation.n_instances for relation in manifest.relations), "instance")
    return f"{few} ({counted(len(names), 'relation')}, {instances})"
