"""The manifest of a run of scores: what two runs must share to be parts of one, and what that one is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

from calprobe.messages import counted
from calprobe.runs import joining
from calprobe.runs.extent import Extent
from calprobe.runs.manifest_records import (
    OWN_LAYERS,
    EarlierFormat,
    ModelRecord,
    RelationRecord,
    Settings,
    SourceRecord,
    TemplateRecord,
)
from calprobe.runs.manifest_text import extent_text, limit_text, relations_text, templates_text
from calprobe.runs.records import Piece
from calprobe.runs.run_progress import Progress
from calprobe.runs.score_records import ScoreRecords
from calprobe.runs.task import RunManifest, sha256_of

# A run grows in these; in the rest of its identity its parts agree.
_EXTENT = ("template set", "templates", "relations", "limit")
# Values of runs from before these were recorded, and what a message adds to the name.
_EARLIER = {"precision": "ieee", "layers": OWN_LAYERS}
_ABOUT = {"precision": " (--precision)", "layers": " (norms, gated units, positions; CALPROBE_KERNELS)"}
# What another model has of its own: not named beside the model.
_OF_MODEL = (
    *("revision", "tokenizer", "kind", "architecture", "attention", "path", "start token", "pll metric", "word split"),
)

# What another dtype has of its own: the fingerprint is of the weights as they are loaded.
_OF_DTYPE = ("dtype", "model weights", "precision")


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
    grew: tuple[Extent, ...] = ()  # what the run had before it grew, oldest first
    earlier_format: EarlierFormat | None = None  # None: the run is of the present format

    def __repr__(self) -> str:
        sizes = f"{counted(len(self.relations), 'relation')}, {counted(len(self.templates), 'template')}"
        return f"<Manifest: {self.model.name} on {self.probe.name}, {sizes}>"

    @property
    def scores_completions(self) -> bool:
        """Whether any of its relations has contexts, and candidates of each instance's own."""
        return any(relation.scored == "completion" for relation in self.relations)

    @property
    def dtype(self) -> str | None:
        """The number type of the model."""
        return self.settings.dtype

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
        cut_contexts = self.earlier_format.cut_contexts if self.earlier_format else {}
        return ScoreRecords(shapes, self.settings.save_tokens, cut_contexts)

    def describe(self) -> str:
        """The path, the number type, and the context of each token's score."""
        settings = self.settings
        context = f"start token {settings.start_token.text if settings.start_token else 'not known'}"
        if settings.pll_metric is not None:
            context = f"PLL {settings.pll_metric}, word split {settings.word_split or 'not known'}"
        return f"path {settings.shown_path}, dtype {settings.dtype or 'not known'}, {context}"

    @property
    def n_same_tokens(self) -> int | None:
        """Candidates that the tokenizer cannot tell from another of their answer space; None: not known."""
        counts = [relation.n_same_tokens for relation in self.relations]
        return None if None in counts else sum(count for count in counts if count is not None)

    def limits(self) -> str:
        """What part of the probe the run is of: 40 of each relation (sampled), 8 of 60 relations; empty if all."""
        limits = []
        if self.instances_are_limited:
            limits.append(f"{self.limit} of each relation ({'the first' if self.sample_seed is None else 'sampled'})")
        if self.relations_are_limited:
            limits.append(f"{len(self.relations)} of {counted(self.n_probe_relations or 0, 'relation')}")
        return ", ".join(limits)

    @cached_property
    def extent(self) -> Extent:
        """What part of the probe the run has."""
        relations = tuple(relation.name for relation in self.relations)
        numbers = tuple(template.number for template in self.templates)
        return Extent(relations, numbers, self.limit, self.sample_seed)

    def covers(self, other: Self) -> bool:
        """Whether the run has all that the other has."""
        return self.extent.covers(other.extent)

    def joined(self, others: Sequence[Self]) -> Self:
        """The manifest of a run of all that this run and the others have, in this run's settings.

        Raises UsageError for a relation and a template that none of them has together.
        """
        if all(self.covers(other) for other in others):
            return self
        widest = self
        for other in others:
            widest = other if other.extent.has_instances(widest.extent) else widest
        share = joining.joined([manifest._share for manifest in (self, *others)])
        fingerprint = joining.fingerprint(share) or self.template_set.fingerprint
        return replace(
            self,
            template_set=replace(self.template_set, fingerprint=fingerprint),
            templates=share.templates,
            relations=share.relations,
            limit=widest.limit,
            sample_seed=widest.sample_seed,
            n_probe_relations=next((m.n_probe_relations for m in (self, *others) if m.n_probe_relations), None),
        )

    def grown(self, other: Self) -> Self:
        """This run's manifest with what the other has more; the order is the other's if that has everything."""
        larger = other if other.covers(self) else self.joined([other])
        return replace(
            self,
            template_set=larger.template_set,
            templates=larger.templates,
            relations=larger.relations,
            limit=larger.limit,
            sample_seed=larger.sample_seed,
            n_probe_relations=larger.n_probe_relations,
            grew=(*self.grew, self.extent),
        )

    def obstacle(self, other: Self) -> str:
        """Why this run cannot grow by what the other has more, though both can be parts of one run; empty if it can."""
        if self.covers(other) and other.covers(self):
            return ""
        if self.shard or other.shard:
            return (
                "the shares of a run do not grow; merge them, and score the merged run again, or score what is new"
                " into other folders and merge all"
            )
        if self.extent.joined(other.extent) is not None:
            return ""
        extent, other_extent = (extent_text(manifest.extent, manifest.relations) for manifest in (self, other))
        return (
            f"the run has {extent}, requested {other_extent}; in one run each relation is under"
            " each template, with the same choice of instances: ask for what the run has, too"
        )

    @property
    def has_grown(self) -> bool:
        """Whether shards may hold fewer instances than the run has."""
        return bool(self.grew)

    def merged(self, created: str, others: Sequence[Self] = ()) -> Self:
        """The manifest of the complete run."""
        return replace(self.joined(others), shard=None, created=created, grew=(), earlier_format=None)

    def total(self, recorded: Progress) -> Progress:
        """With what a run of format 1 recorded in its manifest, and the batch budget in force."""
        spent = recorded + self.earlier_format.progress if self.earlier_format else recorded
        return spent.since(self.settings.batch_tokens)

    def taken_over(self) -> dict[str, object]:
        """The number of threads; the batch budget is the one in force (`total`)."""
        return {"threads": self.settings.threads}

    def recorded_only(self) -> dict[str, object]:
        """What makes the products."""
        values: dict[str, object] = {name: getattr(self.settings, name) for name in ("device_name", "cpu_products")}
        later = {"attention_kernel": self.settings.attention_kernel, "head": self.settings.head}
        return values | {name: value for name, value in later.items() if value is not None}  # else not known

    @cached_property
    def _relations(self) -> dict[str, RelationRecord]:
        return {relation.name: relation for relation in self.relations}

    def identity(self) -> dict[str, Any]:
        """The fields that must agree for two runs' shards to be one run's, by the name shown to users.

        Only this method decides it. Not in it, and so only recorded: names and paths as typed (fingerprints identify
        the content), device index, device name, cpu_products, attention_kernel and head (a difference is logged on
        resuming), batch budgets, group sizes and threads (a resumed run keeps the stored ones), the shard, versions,
        time stamps, domains, wordings (in the template set's fingerprint), which part of a statement is scored (in the
        probe's fingerprint), numbers of the complete probe and of candidates with the same tokens, the note, whether an
        adapter was merged.
        """
        model, settings = self.model, self.settings
        fields = {
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
        # Earlier runs did not know these.
        later = {"precision": settings.precision, "layers": settings.layers}
        return fields | {key: value for key, value in later.items() if value not in (None, _EARLIER[key])}

    @cached_property
    def _fixed(self) -> dict[str, Any]:
        """What all parts of a run share: its identity without what it can grow in."""
        return {key: value for key, value in self.identity().items() if key not in _EXTENT}

    @cached_property
    def _share(self) -> joining.Share:
        return joining.Share(self.templates, self.relations)

    def differences(self, other: Self, words: tuple[str, str] = ("the run has", "requested")) -> list[str]:
        """One clause for each reason why the two cannot be parts of one run: `dtype: the run has float32, requested
        bfloat16`. Templates, relations and instances may differ, not a template's wording."""
        fields, other_fields = self._fixed, other._fixed
        differing = [
            key
            for key in fields | other_fields
            if fields.get(key, _EARLIER.get(key)) != other_fields.get(key, _EARLIER.get(key))
        ]
        if "model weights" in differing and self.model.name != other.model.name:
            differing = [key for key in differing if key not in _OF_MODEL]
        elif "dtype" in differing:
            differing = ["dtype", *(key for key in differing if key not in _OF_DTYPE)]
        shown_has, shown_wants = _shown(self, self.identity()), _shown(other, other.identity())
        reasons = {key: _ABOUT.get(key, "") for key in differing}
        if "probe" not in reasons:
            reasons |= self._unlike(other)
        return [
            f"{key}: {words[0]} {shown_has[key]}, {words[1]} {shown_wants[key]}{reason}"
            for key, reason in reasons.items()
        ]

    def _unlike(self, other: Self) -> dict[str, str]:
        """What keeps two runs of one probe apart though each could grow, and the remark on it."""
        remarks = {}
        piece = joining.other_wording(self._share, other._share)
        if piece is not None:
            remarks["template set"] = f" (template {piece.template} of {piece.relation} differs)"
        elif not self._wordings_agree(other):
            remarks["template set"] = ""
        if not (self.extent.has_instances(other.extent) or other.extent.has_instances(self.extent)):
            remarks["limit"] = " (one is no part of the other)"
        counts = {relation.name: relation.n_candidates for relation in self.relations}
        if any(counts.get(r.name, r.n_candidates) != r.n_candidates for r in other.relations):
            remarks["relations"] = ""
        kinds = {template.number: template for template in self.templates}
        if any(kinds.get(template.number, template) != template for template in other.templates):
            remarks["templates"] = ""
        return remarks

    def _wordings_agree(self, other: Self) -> bool:
        """Whether the template sets are one, beyond the wordings that both runs have."""
        names = self.template_set.name, other.template_set.name
        wordings, other_wordings = self._share.wordings(), other._share.wordings()
        if wordings and other_wordings:
            return names[0] == names[1] or not wordings.keys().isdisjoint(other_wordings)
        sets = [(source.fingerprint or source.name) for source in (self.template_set, other.template_set)]
        return sets[0] == sets[1]

    def stamps(self, piece: Piece) -> tuple[str, ...]:
        """The piece's identity. A run of an earlier format has the run's instead, which stays valid if it grows."""
        stamp, former = self._stamp(piece), self.earlier_format
        if former is None:
            return (stamp,)
        return (former.identity, stamp) if self.is_of_earlier_format else (stamp, former.identity)

    @cached_property
    def is_of_earlier_format(self) -> bool:
        """Whether its folder is of format 1 or 2; one that has grown since is of the present format."""
        return self.earlier_format is not None and self.earlier_format.identity == self.identity_hash

    def _stamp(self, piece: Piece) -> str:
        """SHA-256 (hex) of what makes the scores of the piece, apart from its choice of instances."""
        template, place = self._templates[piece.template]
        relation = self.relation(piece.relation)
        wording = relation.texts[place : place + 1] or [self.template_set.fingerprint or self.template_set.name]
        return sha256_of(
            {
                "run": self._fixed_hash,
                "relation": [relation.name, relation.n_candidates],
                "template": [template.number, template.kind, template.marker, wording[0]],
            }
        )

    @cached_property
    def _fixed_hash(self) -> str:
        return sha256_of(self._fixed)

    @cached_property
    def _templates(self) -> dict[int, tuple[TemplateRecord, int]]:
        return {template.number: (template, place) for place, template in enumerate(self.templates)}


def _shown(manifest: Manifest, values: dict[str, Any]) -> dict[str, str]:
    texts = {key: "none" if value is None else str(value) for key, value in values.items()}
    texts = _EARLIER | texts
    for key, name in (
        ("model weights", manifest.model.name),
        ("probe", manifest.probe.name),
        ("template set", manifest.template_set.name),
    ):
        if texts[key] != name:
            texts[key] = f"{name} ({texts[key][:12]})"
    texts["tokenizer"] = texts["tokenizer"][:12]
    texts["templates"] = templates_text([template.number for template in manifest.templates])
    texts["relations"] = relations_text(manifest.relations)
    texts["limit"] = limit_text(manifest.limit, manifest.sample_seed)
    if manifest.settings.start_token is not None:
        texts["start token"] = manifest.settings.start_token.text
    return texts
