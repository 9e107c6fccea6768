"""The parts of the manifest of an asked run."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from calprobe.messages import counted
from calprobe.questions.types import SetSource

ANSWERED = "answered"  # the rule of a set of which an imported file has replies to some questions alone
_NOT_RANDOM = {"first": "the first", ANSWERED: "those with replies"}
COMPUTING = ("precision", "layers", "head")  # of a backend's record: they decide last bits alone
UNKNOWN_TOOL = "import"  # the backend's name where replies came in a file that does not say what made them


@dataclass(frozen=True, slots=True)
class BackendRecord:
    """The engine that answered, and what it promised."""

    name: str  # transformers, vllm, openai; the name of a tool, of an import
    versions: Mapping[str, str] = field(default_factory=dict)  # of what answered: package -> version
    settings: Mapping[str, str] = field(default_factory=dict)  # what else decides replies, each as text or JSON
    address: str | None = None  # of a server, without credentials; it may move
    complete_softmax: bool = False  # label probabilities are exact; else from the window
    top_logprobs: int = 0  # tokens in the window of the most probable
    samples_are_reproducible: str = ""  # what the seed promises, in words
    imported: bool = False  # another tool made the replies
    refused: Mapping[str, str] = field(default_factory=dict)  # parameters that are not sent -> what the server said
    # As in `Settings` of a run of scores, of a model in this process on a card; None: a CPU, another engine, not known.
    precision: str | None = None
    layers: str | None = None
    head: str | None = None  # of closed sets


@dataclass(frozen=True, slots=True)
class QuestionSetRecord:
    """A question set as it was asked: which questions of it, and where it comes from."""

    name: str
    n_questions: int  # or claims about options, each of which is asked like a question
    fingerprint: str  # SHA-256 (hex) of these questions, all fields, in any order
    source: SetSource
    shots: tuple[str, ...] = ()  # ids of the examples in prompts, in their order
    n_roots: int | None = None  # questions that the claims are about; None: they are questions themselves

    @property
    def n_asked(self) -> int:
        """Questions that are asked, with one for all claims about its options."""
        return self.n_questions if self.n_roots is None else self.n_roots

    @property
    def n_in_set(self) -> int:
        """Questions that its source has, as far as is known."""
        return max(self.source.in_split or self.source.available, self.n_asked)

    @property
    def held_back(self) -> int:
        """Questions that are not asked since they serve as examples, where all others are."""
        if self.source.rule != "all" or self.source.shots_split is not None:
            return 0
        return min(len(self.shots), max(self.source.available - self.n_asked, 0))

    @property
    def left_out(self) -> int:
        """Rows of its source that cannot be asked, where all others are."""
        return self.source.left_out if self.source.rule == "all" else 0

    @property
    def is_limited(self) -> bool:
        """Whether the run is of a part of the set by request; questions that serve as examples are no such part."""
        return self.n_asked < self.n_in_set and (self.drawn is not None or bool(self.source.groups))

    @property
    def drawn(self) -> str | None:
        """The rule by which questions were left out: nested, sample, relation, first, answered; None: none were."""
        return self.source.rule if self.n_asked < self.source.available and self.source.rule != "all" else None

    @property
    def is_random(self) -> bool:
        """Whether the seed decided which questions are asked."""
        return self.drawn not in (None, "first", ANSWERED)

    def part(self) -> str:
        """The same in a few words: mini, 5 drawn; mini, 5 of 46; mini, if all of it was asked."""
        if not self.is_limited:
            return self.name
        return f"{self.name}, {self.n_asked:,} " + ("drawn" if self.is_random else f"of {self.n_in_set:,}")

    def limits(self) -> str:
        """What part of the set was asked: 5 of 46 questions of mini (drawn, seed 0); empty if all of it."""
        if not self.is_limited:
            return ""
        random = f"drawn, seed {self.source.seed or 0}"
        how = [random if self.is_random else _NOT_RANDOM[self.drawn]] if self.drawn else []
        if self.source.groups:
            how.append(f"of {'group' if len(self.source.groups) == 1 else 'groups'} {', '.join(self.source.groups)}")
        clause = f" ({', '.join(how)})" if how else ""
        return f"{self.n_asked:,} of {counted(self.n_in_set, 'question')} of {self.name}{clause}"


@dataclass(frozen=True, slots=True)
class SamplingRecord:
    """How replies were generated; the numbers of tokens are the prompts'."""

    temperature: float = 0.0  # 0: greedy
    top_p: float = 1.0
    seed: int = 0
    think_tokens: int | None = None  # a thought that is longer was ended; None: none was


@dataclass(frozen=True, slots=True)
class CounterfactualRecord:
    """Which answers stood in the place of the model's own; the seed is that of the run."""

    pool: str  # targets: right answers to other questions; responses: the model's own answers to them
    answer_type: str  # any; same: answers of the type of the one that is replaced


@dataclass(frozen=True, slots=True)
class ParaphraseRecord:
    """The file that questions have their wordings from, and what was kept of it for the questions asked."""

    path: str
    fingerprint: str  # SHA-256 (hex) of the file
    sources: tuple[str, ...] = ()  # who made them, as its lines say
    wordings: int = 0  # of each question, its own text among them
    kept: int = 0  # paraphrases
    dropped: Mapping[str, int] = field(default_factory=dict)  # by reason
    noted: Mapping[str, int] = field(default_factory=dict)  # odd ones that were kept, by reason
    left_out: int = 0  # questions with fewer wordings

    def describe(self) -> str:
        """One line."""
        counts = [f"{name} {count:,}" for name, count in self.dropped.items()]
        counts += [f"{name} {count:,}, kept" for name, count in self.noted.items()]
        dropped = f"; {', '.join(counts)}" if counts else ""
        left_out = f"; questions with fewer wordings, left out: {self.left_out:,}" if self.left_out else ""
        makers = f", made by {', '.join(self.sources)}" if self.sources else ""
        return f"{self.path} ({self.fingerprint[:12]}{makers}): {self.kept:,} paraphrases kept{dropped}{left_out}"


def questions_fingerprint(hashes: Sequence[str]) -> str:
    """SHA-256 (hex) of the questions with these hashes, in any order."""
    return hashlib.sha256("\n".join(sorted(hashes)).encode()).hexdigest()
