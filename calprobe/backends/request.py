"""One reply that an engine is asked for: what it is of, its seed, and the reply where there is none."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from calprobe.backends.protocol import Decoding, Dialogue, FollowUp
from calprobe.runs.replies import Reply


@dataclass(frozen=True, slots=True)
class Request:
    """A reply of one sample of a dialogue: the first one, or the one to a follow-up."""

    dialogue: Dialogue
    sample: int
    stage: str
    decoding: Decoding
    labels: tuple[str, ...]
    given: str | None = None  # see `Reply.given`
    alternatives: int = 0  # as in `Dialogue`
    schema: Mapping[str, Any] | None = None  # as in `Dialogue`

    @classmethod
    def first(cls, dialogue: Dialogue, sample: int) -> Request:
        """The reply to the question."""
        alternatives, schema = dialogue.alternatives, dialogue.schema
        decoding, labels = dialogue.decoding, dialogue.labels
        return cls(dialogue, sample, dialogue.stage, decoding, labels, alternatives=alternatives, schema=schema)

    @classmethod
    def behind(cls, dialogue: Dialogue, sample: int, follow_up: FollowUp) -> Request:
        """The reply to a follow-up."""
        return cls(dialogue, sample, follow_up.stage, follow_up.decoding, follow_up.labels, follow_up.instead)

    @property
    def key(self) -> str:
        """Its reply's key; empty if the dialogue has no keys."""
        return self.dialogue.keys.get((self.stage, self.sample), "")

    @property
    def seed(self) -> int:
        """31 bits of the key, which has the run's seed and the sample's number in it."""
        return int(hashlib.sha256(self.key.encode()).hexdigest()[:8], 16) >> 1

    def identity(self) -> dict[str, Any]:
        """The fields of a reply that say what it is of.

        >>> dialogue = Dialogue("quiz", "q1", "plain", (), Decoding(8), keys={("answer", 2): "k"})
        >>> request = Request.first(dialogue, 2)
        >>> reply = Reply(**request.identity(), text="B", finish="stop")
        >>> reply.key, reply.question, reply.sample
        ('k', 'q1', 2)
        """
        dialogue = self.dialogue
        return {
            "key": self.key,
            "set": dialogue.set,
            "question": dialogue.question,
            "variant": dialogue.variant,
            "stage": self.stage,
            "paraphrase": dialogue.paraphrase,
            "sample": self.sample,
            "given": self.given,
        }

    def failed(self, reason: str, **known: Any) -> Reply:
        """The reply that says why there is none; `known`: its prompt, as far as there is one."""
        return Reply(**self.identity(), **known, text="", finish="error", error=reason or "no reason given")


def why_nan(dtype: str) -> str:
    """Why a reply of which a number is NaN has failed, and what to do.

    >>> why_nan("float16")
    'the model gives NaN in float16: ask into another --out with --dtype float32'
    """
    is_longest = dtype == "float32"
    fix = "copy or download its weights again" if is_longest else "ask into another --out with --dtype float32"
    return f"the model gives NaN in {dtype}: {fix}"
