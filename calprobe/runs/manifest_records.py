"""The parts of the manifest of a run of scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Self

from calprobe.probes.types import Cardinality
from calprobe.runs.run_progress import NOTHING, Progress
from calprobe.words import ModelKind, Scored, TemplateKind

IMPORTED = "imported"  # what files and reports call the path of an import
OWN_LAYERS = "the model's own"  # what messages call layers that no kernel of calprobe computes


@dataclass(frozen=True, slots=True)
class ModelSize:
    """How many parameters a model has."""

    parameters: int  # embeddings and head included, those that layers share once
    source: Literal["weights", "server", "given"]  # counted, said by the server, typed by the user
    embeddings: int | None = None  # of these, in the token embeddings and the head; None: not known

    @property
    def others(self) -> int | None:
        """Parameters without those of the token embeddings and the head; None: not known."""
        return None if self.embeddings is None else self.parameters - self.embeddings


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
    size: ModelSize | None = None  # None: not known

    def with_size_of(self, other: Self) -> Self:
        """This record with the other's size, if the other has one."""
        return self if other.size is None else replace(self, size=other.size)


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
    attention_kernel: str | None = None  # what torch's sdpa took in the self-check: efficient, flash, math, ..
    precision: str | None = None  # of calprobe's float32 products on a card: tf32x3, ieee; None: none, or not known
    layers: str | None = None  # fused: norms, gates, positions on a card by calprobe's kernels; None: the model's own
    head: str | None = None  # what makes log-probabilities on a card: kernel, torch; None: on a CPU, or not known
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
    least_statements: int | None = None  # in a group of pieces; None: by the rule of earlier versions
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
class EarlierFormat:
    """What a run of format 1 or 2 recorded elsewhere than later ones do."""

    identity: str  # of the run when it had that format: its shards carry it, those of format 3 each their own
    progress: Progress = NOTHING  # of format 1, without progress files
    cut_contexts: Mapping[str, int] = field(default_factory=dict)  # of format 1, by relation; without zeros
