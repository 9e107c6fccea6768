"""The manifest of an asked run: who was asked what, and how."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

from calprobe.errors import UsageError
from calprobe.messages import counted
from calprobe.prompts import Overrides, fingerprint_of, overridden
from calprobe.prompts.types import PromptSet, Stated, Variant, record_of
from calprobe.runs.asked_records import (
    COMPUTING,
    BackendRecord,
    CounterfactualRecord,
    ParaphraseRecord,
    QuestionSetRecord,
    SamplingRecord,
)
from calprobe.runs.manifest_records import OWN_LAYERS, ModelRecord
from calprobe.runs.records import Piece
from calprobe.runs.reply_records import AskedPiece, ReplyRecords
from calprobe.runs.stages import P_TRUE
from calprobe.runs.task import RunManifest, sha256_of

OTHERWISE = "the text or its settings differ"
# What another model or engine has of its own: not named beside it.
_OF_MODEL = ("revision", "tokenizer", "architecture", "adapter", "backend settings")


@dataclass(frozen=True)  # without slots, for the cached properties
class AskManifest(RunManifest):
    """A run of replies: which questions under which prompts, to which model through which engine."""

    task: ClassVar[str] = "ask"
    results: ClassVar[str] = "replies"
    remade: ClassVar[str] = "asked again"
    may_differ: ClassVar[str] = "replies that are asked for now"

    model: ModelRecord
    backend: BackendRecord
    sets: tuple[QuestionSetRecord, ...]
    prompts: PromptSet  # variants and stated of the run; more may be in their file
    asked: tuple[AskedPiece, ...]
    sampling: SamplingRecord = field(default_factory=SamplingRecord)
    study: str | None = None
    overrides: tuple[str, ...] = ()  # options that differ from what the study fixes
    counterfactual: CounterfactualRecord | None = None  # None: no answers of the model were replaced by others
    paraphrases: ParaphraseRecord | None = None  # None: questions have their wordings from no file
    shard: str | None = None  # I/N: this folder has that share of each set's questions; None: all of them
    later_versions: tuple[Mapping[str, str], ...] = ()  # of what answered, where they are not the backend's record
    from_cache: int = 0  # replies that were given to another run, and taken from the cache
    versions: Mapping[str, str] = field(default_factory=dict)
    created: str = ""

    def __repr__(self) -> str:
        sizes = f"{counted(self.n_questions, 'question')}, {counted(len(self.prompts.variants), 'variant')}"
        return f"<AskManifest: {self.model.name} on {', '.join(s.name for s in self.sets)}, {sizes}>"

    @property
    def n_questions(self) -> int:
        """Questions of all sets."""
        return sum(record.n_asked for record in self.sets)

    @property
    def p_true(self) -> str:
        """What asks whether an answer is true; empty where the run does not ask."""
        return self.prompts.p_true if any(P_TRUE in piece.stages for piece in self.asked) else ""

    @property
    def end(self) -> tuple[str, int] | None:
        """The final cue and the budget of what is asked behind replies; None where no variant has such an end."""
        prompts = self.prompts
        return (prompts.final_cue, prompts.final_max_new_tokens) if any(map(_has_end, prompts.variants)) else None

    @property
    def dtype(self) -> str | None:
        """The number type of the model; servers do not tell it."""
        return self.backend.settings.get("dtype")

    @property
    def is_import(self) -> bool:
        """Whether another tool made the replies."""
        return self.backend.imported

    @property
    def asked_plainly(self) -> frozenset[str]:
        """The variants that reached the model as plain text, without a chat template, as base models are asked."""
        without_template = self.backend.settings.get("chat_template") == "null"  # a value as JSON
        return frozenset(variant.name for variant in self.prompts.variants if without_template or variant.raw)

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """`SET.VARIANT` with each paraphrase, in the order of asking."""
        return tuple(asked_piece.piece for asked_piece in self.asked)

    def asked_piece(self, piece: Piece) -> AskedPiece:
        """What the piece asks; KeyError for a piece of another run."""
        return self._asked[piece]

    @cached_property
    def _asked(self) -> dict[Piece, AskedPiece]:
        return {asked_piece.piece: asked_piece for asked_piece in self.asked}

    def records(self) -> ReplyRecords:
        """Replies of pieces."""
        return ReplyRecords(self._asked, {s.name: share_of(s.n_questions, self.shard) for s in self.sets})

    def identity(self) -> dict[str, Any]:
        """What was asked, and what answered, by the name shown to users.

        Not in it, and so only recorded: versions, a server's address, the name of a study, the shard, time stamps.
        """
        return (
            self._fixed
            | {
                "questions": sorted([s.name, s.fingerprint] for s in self.sets),
                "variants": sorted(self._variants.items()),
                "stated": sorted([s.name, s.text, s.scale, s.max_new_tokens] for s in self.prompts.stated),
                "asked": sorted([*a.piece, *a.stages, str(a.samples)] for a in self.asked),
            }
            | ({} if self.paraphrases is None else {"paraphrases": self.paraphrases.fingerprint})
            | ({"p_true": self.p_true} if self.p_true else {})
        )

    @cached_property
    def _variants(self) -> dict[str, str]:
        return _variant_texts(self.prompts)

    @cached_property
    def _fixed(self) -> dict[str, Any]:
        """What all parts of a run share."""
        model, sampling = self.model, self.sampling
        return {
            "model": model.weights_fingerprint or model.id or model.name,
            "revision": model.revision,
            "tokenizer": model.tokenizer_fingerprint,
            "architecture": model.architecture,
            "adapter": model.adapter,
            "backend": self.backend.name,
            "backend settings": dict(self.backend.settings),
            "temperature": sampling.temperature,
            "top-p": sampling.top_p,
            "seed": sampling.seed,
            "layout of options": self.prompts.layout,
            # Only where it is given: the shards of other runs carry a hash without it.
            **({} if sampling.think_tokens is None else {"think-tokens": sampling.think_tokens}),
        }

    def differences(self, other: Self, words: tuple[str, str] = ("the run has", "requested")) -> list[str]:
        """One clause for each reason why the two cannot be parts of one run. Questions, variants and stages may differ,
        not the texts of a variant that both have."""
        fields, other_fields = self._fixed, other._fixed
        differing = [key for key in fields | other_fields if fields.get(key) != other_fields.get(key)]
        engines = [(manifest.model.name, manifest.backend.name) for manifest in (self, other)]
        if self.dtype != other.dtype and engines[0] == engines[1]:
            # The fingerprint is of the weights as they are loaded, so another dtype has another.
            settings = [{**manifest.backend.settings, "dtype": ""} for manifest in (self, other)]
            named = {"model"} if settings[0] != settings[1] else {"model", "backend settings"}
            differing = ["dtype", *(key for key in differing if key not in named)]
        elif {"model", "backend"}.intersection(differing):
            differing = [key for key in differing if key not in _OF_MODEL]
        reasons = [f"{key}: {words[0]} {_shown(self, key)}, {words[1]} {_shown(other, key)}" for key in differing]
        return [*reasons, *self._other_texts(other, words)]

    def _other_texts(self, other: Self, words: tuple[str, str]) -> Iterator[str]:
        texts, other_texts = self._variants, other._variants
        if changed := [name for name in texts if texts[name] != other_texts.get(name, texts[name])]:
            prompts, other_prompts = self.prompts, other.prompts
            how = _other_variants(prompts, other_prompts, changed, words)
            is_of_prompts = how == OTHERWISE and (prompts.name, prompts.path) == (other_prompts.name, None)
            if is_of_prompts and self.overrides == other.overrides:
                yield f"prompts {prompts.name}: they have changed since the run was asked"
            yield f"variant{'s' * (len(changed) > 1)} {', '.join(changed)}: {how}"
        elif self.end and other.end and self.end != other.end:  # a run has one, which is in the hash of its variants
            yield f"end of replies: {words[0]} {_said_end(self.end)}, {words[1]} {_said_end(other.end)}"
        stated = {s.name: s for s in self.prompts.stated}
        if pairs := [(stated[s.name], s) for s in other.prompts.stated if s != stated.get(s.name, s)]:
            yield f"stated {', '.join(prompt.name for _, prompt in pairs)}: {_other_budgets(pairs, words)}"
        if self.paraphrases and other.paraphrases and self.paraphrases.fingerprint != other.paraphrases.fingerprint:
            yield f"paraphrases: {words[0]} {self.paraphrases.path}, {words[1]} {other.paraphrases.path}, another file"
        for subject, value, other_value in (
            ("p_true", self.p_true, other.p_true),
            ("abstentions", self.prompts.abstentions, other.prompts.abstentions),
            ("counterfactual answers", self.counterfactual, other.counterfactual),
        ):
            if value and other_value and value != other_value:
                yield f"{subject}: {'the text differs' if subject == 'p_true' else 'these differ'}"
        yield from self._other_requests(other, words)

    def _other_requests(self, other: Self, words: tuple[str, str]) -> Iterator[str]:
        """What decides the requests of a piece beside its texts, where both runs ask it; the first piece of each."""
        triples = [
            (piece, asked_piece, other._asked[piece])
            for piece, asked_piece in self._asked.items()
            if piece in other._asked
        ]
        for subject, name in (
            ("probabilities of labels", "labels"),
            ("probabilities of stated confidences", "closed"),
            ("alternatives of tokens", "alternatives"),
            ("a JSON schema for replies", "schema"),
            ("examples in prompts", "examples"),
        ):
            for piece, *rows in triples:
                value, other_value = (getattr(row, name) for row in rows)
                if None not in (value, other_value) and value != other_value:
                    text = (
                        "others" if name == "examples" else f"{words[0]} {_yes(value)}, {words[1]} {_yes(other_value)}"
                    )
                    yield f"{subject} ({piece.relation}): {text}"
                    break

    def covers(self, other: Self) -> bool:
        """Whether the run has all that the other has: the same questions of its sets, their pieces, and
        the size of the model if the other knows it."""
        fingerprints = {record.name: record.fingerprint for record in self.sets}
        return (
            other.model.size in (None, self.model.size)
            and all(
                piece in self._asked
                and set(asked_piece.stages) <= set(self._asked[piece].stages)
                and asked_piece.samples <= self._asked[piece].samples
                for piece, asked_piece in other._asked.items()
            )
            and all(fingerprints.get(record.name) == record.fingerprint for record in other.sets)
        )

    def grown(self, other: Self) -> Self:
        """What `calprobe.runs.asked_growth.joined` made of this run and a request."""
        return replace(other, versions=self.versions, created=self.created, backend=self.backend)

    @property
    def has_grown(self) -> bool:
        """Always: a shard with fewer rows is a part of its piece, and its replies are known."""
        return True

    def stamps(self, piece: Piece) -> tuple[str, ...]:
        """SHA-256 (hex) of what all replies of the piece share; what else decides one is in its own key."""
        asked_piece = self._asked[piece]
        return (sha256_of([self._fixed, list(piece), self._variants[asked_piece.variant]]),)

    def describe(self) -> str:
        """The engine, where label probabilities come from, and how replies were generated."""
        backend, sampling = self.backend, self.sampling
        window = f"top {backend.top_logprobs} tokens" if backend.top_logprobs else "none"
        labels = "complete softmax" if backend.complete_softmax else window
        how = (
            "greedy" if sampling.temperature == 0 else f"temperature {sampling.temperature:g}, top-p {sampling.top_p:g}"
        )
        if refusal := backend.refused.get("temperature"):
            how = f"at the model's own temperature, since the server takes no other ({refusal})"
        effort, body = (backend.settings.get(name) for name in ("reasoning_effort", "extra_body"))
        how += f", reasoning effort {effort}" if effort else ""
        how += f", with {body} in each request" if body else ""
        how += f", thoughts of {sampling.think_tokens:,} tokens at most" if sampling.think_tokens is not None else ""
        if schemas := {asked_piece.schema for asked_piece in self.asked} - {None}:
            how += ", replies held to a JSON schema" if schemas == {True} else ", JSON asked for in words alone"
        temperatures = {v.name: v.temperature for v in self.prompts.variants if v.temperature is not None}
        how += "".join(f", {name} at temperature {value:g}" for name, value in temperatures.items())
        later = "".join(f", some replies by {versions_text(versions)}" for versions in self.later_versions)
        first = f" (first {versions_text(backend.versions)})" if later else ""
        behind = ", no label behind the reply" if self._lacks_finals else ""
        if self.from_cache:
            behind += f", {self.from_cache:,} replies from the cache of earlier runs"
        return (
            f"backend {backend.name}{first}, label probabilities: {labels}, {how}, seed {sampling.seed}{behind}{later}"
        )

    @property
    def _lacks_finals(self) -> bool:
        """Whether the prompts ask for the label behind a reply, and the backend could not."""
        return not self.prompts.final_cue and any(variant.final for variant in self.prompts.variants)

    def origin(self) -> dict[str, str]:
        """The study with what it was overridden by, and where the questions come from: split, revision and draw."""
        changed = f", overridden by {' '.join(self.overrides)}" if self.overrides else ""
        texts = {} if self.study is None else {"study": f"{self.study}{changed}"}
        texts |= {"questions": "; ".join(_source_text(record) for record in self.sets)}
        return texts | ({} if self.paraphrases is None else {"paraphrases": self.paraphrases.describe()})

    def merged(self, created: str, others: Sequence[Self] = ()) -> Self:
        """The manifest of the complete run: the sets, variants and stages of all."""
        sets = {record.name: record for record in self.sets}
        for record in (record for other in others for record in other.sets):
            if sets.setdefault(record.name, record).fingerprint != record.fingerprint:
                raise UsageError(f"questions of {record.name}: the runs have different ones; merge shares of one run")
        pieces = dict(self._asked)
        for piece, asked_piece in (
            (piece, asked_piece) for other in others for piece, asked_piece in other._asked.items()
        ):
            if pieces.setdefault(piece, asked_piece) != asked_piece:
                raise UsageError(f"{piece.relation}: the runs asked different stages; ask for the same in each")
        variants = {v.name: v for manifest in (*reversed(others), self) for v in manifest.prompts.variants}
        stated = {s.name: s for manifest in (*reversed(others), self) for s in manifest.prompts.stated}
        p_true = next((share.p_true for share in (self, *others) if share.p_true), self.prompts.p_true)
        joint = replace(self.prompts, variants=tuple(variants.values()), stated=tuple(stated.values()), p_true=p_true)
        prompts = with_own_fingerprint(with_common_end(joint, (self, *others)), self.prompts)
        merged = replace(
            self,
            sets=tuple(sets.values()),
            prompts=prompts,
            asked=tuple(pieces.values()),
            shard=None,
            from_cache=sum(manifest.from_cache for manifest in (self, *others)),
            created=created,
        )
        for other in others:
            for versions in (other.backend.versions, *other.later_versions):
                merged = merged.answered_by(versions)
        return merged

    def recorded_only(self) -> dict[str, object]:
        """Where the server was, the versions of what answered, and how a card computes, where that is known."""
        known = {name: value for name in COMPUTING if (value := getattr(self.backend, name)) is not None}
        if known:  # on a card
            known.setdefault("layers", OWN_LAYERS)
        return {
            "address": self.backend.address,
            "backend versions": versions_text(self.backend.versions),
        } | known

    def answered_by(self, versions: Mapping[str, str]) -> Self:
        """The manifest that names these versions, too, among those that answered."""
        if versions in (self.backend.versions, *self.later_versions):
            return self
        return replace(self, later_versions=(*self.later_versions, dict(versions)))


def _source_text(record: QuestionSetRecord) -> str:
    source = record.source
    clauses = [
        counted(record.n_asked, "question"),
        "" if record.n_roots is None else counted(record.n_questions, "claim"),
        f"split {source.split}" if source.split else "",
        f"revision {source.revision[:12]}" if source.revision else "",
        f"rule {source.rule}",
        f"{counted(source.left_out, 'row')} that cannot be asked left out" if source.left_out else "",
        f"{counted(record.held_back, 'other')} held back as examples" if record.held_back else "",
    ]
    return f"{record.name} ({', '.join(clause for clause in clauses if clause)})"


def versions_text(versions: Mapping[str, str]) -> str:
    """Each name with its version, in one line.

    >>> versions_text({"vllm": "0.9", "torch": "2.7"})
    'torch 2.7, vllm 0.9'
    """
    return ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))


def with_own_fingerprint(prompts: PromptSet, earlier: PromptSet) -> PromptSet:
    """The prompts under a fingerprint of their own, unless they are the earlier ones."""
    return prompts if prompts == earlier else replace(prompts, fingerprint=fingerprint_of(prompts))


def with_common_end(prompts: PromptSet, runs: Sequence[AskManifest]) -> PromptSet:
    """The prompts with the final cue, and its budget, of the runs that ask something behind replies.

    Raises UsageError where these differ: a prompt set has one.
    """
    ends = list(dict.fromkeys(run.end for run in runs if run.end is not None))
    if len(ends) > 1:
        texts = " and ".join(_said_end(end) for end in ends[:2])
        raise UsageError(f"end of replies: the runs have {texts}; leave one of them out, since a run has one")
    return replace(prompts, final_cue=ends[0][0], final_max_new_tokens=ends[0][1]) if ends else prompts


def share_of(n_questions: int, shard: str | None) -> int:
    """How many of so many questions share I of N has: those at places I - 1, I - 1 + N, ..

    >>> share_of(10, None), share_of(10, "1/3"), share_of(10, "3/3")
    (10, 4, 3)
    """
    return len(share_places(n_questions, shard))


def share_places(n_questions: int, shard: str | None) -> range:
    """The places of these questions among so many.

    >>> list(share_places(10, "3/3"))
    [2, 5, 8]
    """
    number, count = (1, 1) if shard is None else map(int, shard.split("/"))
    return range(number - 1, n_questions, count)


def _variant_texts(prompts: PromptSet) -> dict[str, str]:
    """SHA-256 (hex) of all that a variant is, by name."""
    ends = [prompts.final_cue, prompts.final_max_new_tokens]
    return {v.name: sha256_of([record_of(v), prompts.layout, ends if _has_end(v) else []]) for v in prompts.variants}


def _other_budgets(pairs: Sequence[tuple[Stated, Stated]], words: tuple[str, str]) -> str:
    """How the prompts of each pair differ: by their budgets of new tokens, or by more."""
    budgets = {(first.max_new_tokens, second.max_new_tokens) for first, second in pairs}
    if len(budgets) > 1 or any(
        replace(first, max_new_tokens=second.max_new_tokens) != second for first, second in pairs
    ):
        return OTHERWISE
    return _said_budgets(budgets.pop(), words, "--stated-tokens")


def _other_variants(prompts: PromptSet, others: PromptSet, names: Sequence[str], words: tuple[str, str]) -> str:
    """How the variants of these names differ in two sets: by the budgets of new tokens alone, or by more."""
    alike = Overrides(max_new_tokens=1)
    texts, other_texts = (_variant_texts(overridden(each, alike)) for each in (prompts, others))
    if any(texts[name] != other_texts[name] for name in names):
        return OTHERWISE
    tokens, other_tokens = ({v.name: v.max_new_tokens for v in each.variants} for each in (prompts, others))
    budgets = {(tokens[name], other_tokens[name]) for name in names}
    if len(budgets) > 1 or tokens == other_tokens:  # for some kinds of questions alone
        return "other budgets of new tokens (--max-new-tokens)"
    return _said_budgets(budgets.pop(), words, "--max-new-tokens")


def _said_budgets(budgets: tuple[int, int], words: tuple[str, str], option: str) -> str:
    return f"{words[0]} {budgets[0]} new tokens, {words[1]} {budgets[1]} ({option})"


def _said_end(end: tuple[str, int]) -> str:
    cue, budget = end
    return (f"the final cue {cue!r}" if cue else "no final cue") + f" with {counted(budget, 'new token')}"


def _has_end(variant: Variant) -> bool:
    """Whether anything is asked for behind a reply with the budget of finals: a label or a conclusion."""
    return any(wording.final or wording.conclusion for wording in (variant, *variant.wordings.values()))


def _yes(value: bool | int) -> str:
    return "some" if value else "none"


def _shown(manifest: AskManifest, key: str) -> str:
    value: Any = manifest.dtype if key == "dtype" else manifest._fixed.get(key)
    if key == "model" and value != manifest.model.name:
        return f"{manifest.model.name} ({value[:12]})"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {text:.60}" for name, text in value.items()) or "none"
    return "none" if value is None else f"{value}"[:60]


def asked_faults(manifest: AskManifest) -> Iterator[str]:
    """What no asked run can have, with the key at fault."""
    names = [record.name for record in manifest.sets]
    if len(set(names)) < len(names):
        yield "sets: a name is there twice"
    if any(record.n_questions < 0 for record in manifest.sets):
        yield "sets: n_questions must be 0 or more"
    if len(set(manifest.pieces)) < len(manifest.pieces):
        yield "asked: two pieces have one name"
    if (size := manifest.model.size) is not None and not 0 <= (size.embeddings or 0) <= size.parameters > 0:
        yield "model: size must be a number of parameters, those of embeddings among them"
    variants = {variant.name for variant in manifest.prompts.variants}
    for asked_piece in manifest.asked:
        if asked_piece.set not in names or asked_piece.variant not in variants:
            yield (
                f"asked: {asked_piece.set!r:.60} under {asked_piece.variant!r:.60} is not of the run's sets and "
                "variants"
            )
        if (
            not asked_piece.stages
            or len(set(asked_piece.stages)) < len(asked_piece.stages)
            or not 1 <= asked_piece.samples <= 1_000_000
        ):
            yield f"asked: stages or samples of {asked_piece.piece.relation!r:.60} are wrong"
        if not 0 <= asked_piece.paraphrase <= 999_999:
            yield f"asked: paraphrase must be 0 to 999999, got {asked_piece.paraphrase}"
