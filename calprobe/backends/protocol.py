"""What is asked of an engine and what it promises. Engines differ in capabilities, which are data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from calprobe.prompts.types import Message as Message
from calprobe.runs.manifest_records import ModelRecord
from calprobe.runs.replies import Reply


@dataclass(frozen=True, slots=True)
class Decoding:
    """How a reply is generated."""

    max_new_tokens: int
    temperature: float = 0.0  # 0: greedy, the first of tied tokens
    top_p: float = 1.0
    seed: int = 0  # of samples; greedy replies do not depend on it
    think_tokens: int | None = None  # a thought that is longer is ended; on top of max_new_tokens. None: it is not


@dataclass(frozen=True, slots=True)
class FollowUp:
    """What is asked after a reply, of the conversation with that reply. Follow-ups do not see each other."""

    stage: str
    text: str  # the user's next turn, or, if it continues, the text behind the reply itself
    decoding: Decoding
    continues: bool = False  # "\n\nFinal answer:" continues the assistant's own turn
    labels: tuple[str, ...] = ()  # as in `Dialogue`
    instead: str | None = None  # an answer in the place of the reply, which this follow-up then does not see
    # Replies of which the probabilities are wanted, each in its forms: `Reply.label_scores`, by their first forms.
    closed: tuple[tuple[str, ...], ...] = ()
    # Whether a reply of `closed` counts as soon as the text begins with it, not only if it ends there.
    begins: bool = False


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One question under one prompt: the reply's samples, and the follow-ups of each.

    With labels, `Reply.label_scores` has the first position and each position of the reply where a label was generated.
    """

    set: str
    question: str  # id
    variant: str
    messages: tuple[Message, ...]  # a last one of the assistant opens its turn; raw: the one message is the whole text
    decoding: Decoding
    paraphrase: int = 0
    stage: str = "answer"
    samples: tuple[int, ...] = (0,)  # their numbers
    labels: tuple[str, ...] = ()  # of the question's options, if their probabilities are wanted
    follow_ups: tuple[FollowUp, ...] = ()
    raw: bool = False  # plain text, without a chat template
    keys: Mapping[tuple[str, int], str] = field(default_factory=dict)  # (stage, sample) -> Reply.key
    alternatives: int = 0  # most probable tokens at each position of the reply, the generated one among them; 0: none
    schema: Mapping[str, Any] | None = None  # JSON schema that the reply is held to; None: none


@dataclass(frozen=True, slots=True)
class Pending:
    """A dialogue with the replies that are known already: the others are to be given, each once."""

    dialogue: Dialogue
    known: Mapping[tuple[str, int], Reply] = field(default_factory=dict)  # by stage and sample, all without error


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an engine can do; checked before the first request."""

    complete_softmax: bool  # label probabilities are exact; else from the window
    top_logprobs: int  # tokens in the window of the most probable; 0: no log-probabilities at all
    token_ids: bool  # replies come with the ids of their tokens
    continues: bool  # a reply can be continued in its own turn
    raw: bool  # plain text without a chat template
    samples_are_reproducible: str  # in words for the manifest: what the seed promises
    ends_thoughts: bool = False  # a thought can be ended after a number of tokens
    stops_at_once: bool = False  # replies in progress cost nothing but time: a signal may cut them off
    schemas: bool = False  # replies can be held to a JSON schema
    room: int = 0  # tokens of a prompt with its reply, where the user sets it; 0: the model's own, or not known
    refused: Mapping[str, str] = field(default_factory=dict)  # parameters that cannot be sent -> what the server says


class Described(Protocol):
    """An engine with a model: what decides what can be asked of it."""

    name: str  # transformers, vllm, openai
    model: ModelRecord
    capabilities: Capabilities


class Backend(Described, Protocol):
    """An engine with a model that is ready to answer."""

    versions: Mapping[str, str]  # of what answers: package -> version

    def settings(self) -> Mapping[str, object]:
        """What else decides replies, for manifest and keys: dtype, device, label forms, chat template's hash."""

    def replies(self, pending: Iterable[Pending]) -> Iterator[Reply]:
        """The replies that are pending, as they arrive, in any order.

        A follow-up comes after its reply. A request that failed for good is a Reply with finish `error`; its follow-ups
        are not asked. Raises CalprobeError for what stops all requests: a wrong key, a server that is gone.
        """

    def close(self) -> None:
        """Let go of model, connections and processes."""
