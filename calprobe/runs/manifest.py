"""The manifest of a run of scores: its types, and which of its fields make two runs the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

from calprobe.messages import counted
from calprobe.probes.types import Cardinality
from calprobe.runs.progress import Progress
from calprobe.runs.records import Piece
from calprobe.runs.score_records import ScoreRecords
from calprobe.runs.task import RunManifest
from calprobe.words import ModelKind, Scored, TemplateKind

IMPORTED = "imported"  # what files and reports call the path of an import


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
    path: str | None = None  # of a probe without a name that calprobe knows: its folder or file, ~ for the home folder


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
    n_in_probe: int | None = None  # instances of the complete relation; None: not known
    n_same_tokens: int | None = None  # candidates that the tokenizer cannot tell from another; None: not known

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

    path: str | None  # what ran: `padded`, ..; None: the scores are imported
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
    def shown_path(self) -> str:
        """The path as reports name it."""
        return self.path or IMPORTED

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
class Manifest(RunManifest):
    """A run of scores: which statements of a probe, under which templates, by which model, and how."""

    task: ClassVar[str] = "score"

    model: ModelRecord
    probe: SourceRecord
    template_set: SourceRecord
    templates: tuple[TemplateRecord, ...]
    relations: tuple[RelationRecord, ...]
    settings: Settings
    limit: int | None = None  # instances of each relation at most
    sample_seed: int | None = None  # of the sample that `limit` takes; None: it takes the first instances
    n_probe_relations: int | None = None  # of the complete probe; None: not known
    shard: str | None = None  # I/N: this folder takes that share of the run's pieces; None: all of them
    versions: Mapping[str, str] = field(default_factory=dict)
    created: str = ""
    first_format: FirstFormat | None = None  # None: the run is of format 2

    def __repr__(self) -> str:
        sizes = f"{counted(len(self.relations), 'relation')}, {counted(len(self.templates), 'template')}"
        return f"<Manifest: {self.model.name} on {self.probe.name}, {sizes}>"

    @property
    def scores_completions(self) -> bool:
        """Whether any of its relations has contexts, and candidates of each instance's own."""
        return any(relation.scored == "completion" for relation in self.relations)

    @property
    def is_import(self) -> bool:
        """Whether another tool made the scores."""
        return self.settings.path is None

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """The (relation, template number) pieces of the complete run, in the order of scoring."""
        return tuple(Piece(relation.name, t.number) for relation in self.relations for t in self.templates)

    @property
    def instances_are_limited(self) -> bool:
        """Whether `limit` left out instances, as far as is known."""
        limit = self.limit
        return limit is not None and any(
            r.n_instances < r.n_in_probe if r.n_in_probe is not None else r.n_instances >= limit for r in self.relations
        )

    @property
    def relations_are_limited(self) -> bool:
        """Whether the probe has relations that the run does not have, as far as is known."""
        return self.n_probe_relations is not None and len(self.relations) < self.n_probe_relations

    def relation(self, name: str) -> RelationRecord:
        """The record of that relation; KeyError if the run has none."""
        return self._relations[name]

    def records(self) -> ScoreRecords:
        """Scores of pieces, with tokens if the run saves them."""
        shapes = {relation.name: (relation.n_instances, relation.n_candidates) for relation in self.relations}
        cut_contexts = self.first_format.cut_contexts if self.first_format else {}
        return ScoreRecords(shapes, self.settings.save_tokens, cut_contexts)

    def describe(self) -> str:
        """The path, the number type, and the context of each token's score."""
        settings = self.settings
        given = f"start token {settings.start_token.text if settings.start_token else 'not known'}"
        if settings.pll_metric is not None:
            given = f"PLL {settings.pll_metric}, word split {settings.word_split or 'not known'}"
        return f"path {settings.shown_path}, dtype {settings.dtype or 'not known'}, {given}"

    @property
    def n_same_tokens(self) -> int | None:
        """Candidates that the tokenizer cannot tell from another of their answer space; None: not known."""
        counts = [relation.n_same_tokens for relation in self.relations]
        return None if None in counts else sum(count for count in counts if count is not None)

    def limits(self) -> str:
        """What part of the probe the run is of: 40 of each relation (sampled), 8 of 60 relations; empty if all."""
        found = []
        if self.instances_are_limited:
            found.append(f"{self.limit} of each relation ({'the first' if self.sample_seed is None else 'sampled'})")
        if self.relations_are_limited:
            found.append(f"{len(self.relations)} of {counted(self.n_probe_relations or 0, 'relation')}")
        return ", ".join(found)

    def merged(self, created: str) -> Self:
        """The manifest of the complete run."""
        return replace(self, shard=None, created=created, first_format=None)

    def total(self, recorded: Progress) -> Progress:
        """With what a run of format 1 recorded in its manifest, and the batch budget in force."""
        spent = recorded + self.first_format.progress if self.first_format else recorded
        return spent.since(self.settings.batch_tokens)

    def taken_over(self) -> dict[str, object]:
        """The number of threads; the batch budget is the one in force (`total`)."""
        return {"threads": self.settings.threads}

    def recorded_only(self) -> dict[str, object]:
        """What makes the products."""
        return {"device_name": self.settings.device_name, "cpu_products": self.settings.cpu_products}

    @cached_property
    def _relations(self) -> dict[str, RelationRecord]:
        return {relation.name: relation for relation in self.relations}

    def identity(self) -> dict[str, Any]:
        """The fields that must agree for two runs' shards to be one run's, by the name shown to users.

        Only this method decides it. Not in it, and so only recorded: names and paths as typed (fingerprints identify
        the content), device index, device name and cpu_products (a difference is logged on resuming), batch budgets and
        threads (a resumed run keeps the stored ones), the shard, versions, time stamps, domains, wordings (in the
        template set's fingerprint), which part of a statement is scored (in the probe's fingerprint), numbers of the
        complete probe and of candidates with the same tokens, the note, whether an adapter was merged.
        """
        model, settings = self.model, self.settings
        return {
            # Without a fingerprint, the id identifies the weights best.
            "model weights": model.weights_fingerprint or model.id or model.name,
            "revision": model.revision,
            "tokenizer": model.tokenizer_fingerprint,
            "kind": model.kind,
            "architecture": model.architecture,
            "adapter": model.adapter,
            "probe": self.probe.fingerprint or self.probe.name,
            "template set": self.template_set.fingerprint or self.template_set.name,
            # The order of scoring is not part of the identity.
            "templates": sorted([t.number, t.kind, t.marker] for t in self.templates),
            "relations": sorted([r.name, r.n_instances, r.n_candidates] for r in self.relations),
            # The first instances have the number alone: in older runs nothing else was possible.
            "limit": self.limit if self.sample_seed is None else {"sample": self.limit, "seed": self.sample_seed},
            "dtype": settings.dtype,
            "attention": settings.attention,
            "device": settings.device and settings.device.partition(":")[0],
            "path": settings.shown_path,
            "start token": settings.start_token and asdict(settings.start_token),
            "pll metric": settings.pll_metric,
            "word split": settings.word_split,
            "save tokens": settings.save_tokens,
        }

    def differences(self, other: Self, words: tuple[str, str] = ("the run has", "requested")) -> list[str]:
        """One clause for each identity field that differs: `dtype: the run has float32, requested bfloat16`."""
        has, wants = self.identity(), other.identity()
        shown_has, shown_wants = _shown(self, has), _shown(other, wants)
        differing = [key for key in has if has[key] != wants[key]]
        if "templates" in differing and self.template_set.name == other.template_set.name:
            differing.remove("template set")  # Its fingerprint covers the selected templates, which differ.
        if "limit" in differing and _names(self) == _names(other) and "relations" in differing:
            differing.remove("relations")  # Their numbers of instances differ because of the limit.
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
    shown["limit"] = _shown_limit(manifest)
    if manifest.settings.start_token is not None:
        shown["start token"] = manifest.settings.start_token.text
    return shown


def _shown_limit(manifest: Manifest) -> str:
    if manifest.limit is None:
        return "none"
    if manifest.sample_seed is None:
        return f"the first {manifest.limit} (--first {manifest.limit})"
    seed = f" --seed {manifest.sample_seed}" if manifest.sample_seed else ""
    return f"a sample of {manifest.limit} (--limit {manifest.limit}{seed})"


def _names(manifest: Manifest) -> list[str]:
    return sorted(relation.name for relation in manifest.relations)


def _shown_relations(manifest: Manifest) -> str:
    names = [relation.name for relation in manifest.relations]
    few = ",".join(names if len(names) <= 8 else [*names[:7], ".."])
    instances = counted(sum(relation.n_instances for relation in manifest.relations), "instance")
    return f"{few} ({counted(len(names), 'relation')}, {instances})"
