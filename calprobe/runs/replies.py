"""A reply of a model, as run folders keep it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Ints
from calprobe.runs.alternatives import Alternatives

Finish = Literal["stop", "length", "error"]
NOT_ASKED_BEHIND = "not asked, because stage"  # begins the error of what follows a reply that failed
# Ends a thought that reaches its budget, in front of its family's marker; so it can be recognised.
THOUGHT_ENDED = "I have thought long enough, and answer now."
TOO_LONG = "the prompt is too long"  # begins the error of a request that the model's context has no room for
# Which tokens are a label: one rule, for complete vocabularies and for windows of the most probable tokens.
LABEL_RULE = "all tokens that are the label after leading white space is stripped, case-sensitive"
LABEL_RULE_OF_WINDOW = f"{LABEL_RULE}, of those in the window"


@dataclass(frozen=True, slots=True, eq=False)
class LabelScores:
    """Log-probabilities of a question's labels at some places of a reply.

    A label's log-probability is the natural log of its mass under the softmax at temperature 1: all token forms summed,
    over the complete vocabulary, so that the masses of all labels may sum to less than 1.
    """

    labels: tuple[str, ...]
    # [labels], ids of the tokens that are summed; of a sequence of several tokens, -1 behind it; empty where a server
    # hides them
    forms: tuple[tuple[int, ...], ...]
    positions: Ints  # [places], tokens of the reply, ascending; 0 is the first that was generated
    logprobs: Floats  # [places, labels]; -inf where a window of the most probable tokens lacked all forms
    least: Floats  # [places], the smallest log-probability in that window; -inf where the softmax is complete
    # [places], how many characters of the reply stand before the token at each place; -1 where a server hides it.
    starts: Ints | None = None  # None: not known at any place
    # [places, labels], tokens more probable than the label's most probable form; a window of k sees those below k.
    ranks: Ints | None = None  # -1 at a place where they were not counted; None: at none

    @property
    def covered(self) -> npt.NDArray[np.bool_]:
        """Whether each label was seen, [places, labels] bool."""
        return np.isfinite(self.logprobs)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LabelScores):
            return NotImplemented
        arrays = ("positions", "logprobs", "least", "starts", "ranks")
        return (self.labels, self.forms) == (other.labels, other.forms) and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in arrays
        )


def said_label(token: str) -> str:
    """What a token's text says, to be compared with labels: blanks in front of it do not count, others do.

    A token that ends in a blank is the beginning of a word after the label ("A plant"), not the label.

    >>> said_label(" A"), said_label("A "), said_label("a")
    ('A', 'A ', 'a')
    """
    return token.lstrip()


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said to one request, and what is known of how."""

    key: str  # SHA-256 (hex) of all that decides the reply, see `calprobe.asking.request_identity`
    set: str
    question: str  # id
    variant: str
    stage: str  # see `calprobe.runs.stages`
    text: str
    finish: Finish
    paraphrase: int = 0
    sample: int = 0
    prompt: str = ""  # all text in front of the reply
    prompt_ids: tuple[int, ...] | None = None  # all tokens in front of the reply; None where a server hides them
    token_ids: tuple[int, ...] | None = None  # of thought and reply, without the end token; None where hidden
    logprobs: tuple[float, ...] | None = None  # of the chosen tokens, at temperature 1; None where not known
    reasoning: str | None = None  # thought before the reply, kept apart; None: the model has none
    reasoning_is_open: bool = False  # the thought has no end, so that the text is empty
    # Of a stated confidence: of all replies that its scale allows, see `calprobe.answers.closed_replies`.
    label_scores: LabelScores | None = None  # None: not asked for
    error: str = ""  # why there is no reply; empty unless finish is `error`
    given: str | None = None  # the answer in the conversation, where it is not the model's own; None: its own
    correct: bool | None = None  # as whoever gave the reply graded it, of an import; None: to be read from the text
    tokens_in: int = 0  # of the prompt, as counted by the backend; cached ones included
    tokens_out: int = 0
    thought_tokens: int = 0  # of `token_ids`, those of the thought with its markers; 0: none, or not known
    alternatives: Alternatives | None = None  # of the tokens behind the thought; None: not asked for, or hidden
    # Of `tokens_out`, those of the thought as a server counts them, whether it shows the thought or not.
    reasoning_tokens: int = 0  # 0: none, or not counted

    @property
    def reason(self) -> str:
        """Why the request failed, or the reply that it follows; the same for all prompts that are too long."""
        error = self.error.partition(" failed: ")[2] if self.error.startswith(NOT_ASKED_BEHIND) else self.error
        return TOO_LONG if error.startswith(TOO_LONG) else error

    @property
    def tokens(self) -> int | None:
        """Tokens behind the thought; None where they are not known."""
        thought = self.thought_tokens or self.reasoning_tokens
        if self.reasoning and not thought:
            return None
        if self.reasoning_tokens and not self.thought_tokens:  # a thought that is counted apart from the tokens shown
            return max(self.tokens_out - self.reasoning_tokens, 0)
        known = self.token_ids if self.token_ids is not None else self.logprobs
        total = self.tokens_out if known is None else len(known)
        return total - self.thought_tokens if total or known is not None else None

    @property
    def begins_with_labels(self) -> bool:
        """Whether the first label probabilities are those of the reply's beginning, behind a thought if it has one."""
        scores = self.label_scores
        if scores is None or not len(scores.positions):
            return False
        first = int(scores.positions[0])
        return first >= self.thought_tokens if self.thought_tokens else first == 0

    @property
    def is_cut_in_thought(self) -> bool:
        """Whether the reply ended at its budget before the thought did, so that it has no text."""
        return self.finish == "length" and self.reasoning_is_open

    @property
    def thought_was_ended(self) -> bool:
        """Whether the thought reached its budget, and was ended for the model."""
        return self.reasoning is not None and self.reasoning.endswith(THOUGHT_ENDED)

    @property
    def is_too_long(self) -> bool:
        """Whether the request failed because the model's context has no room for its prompt: it always will."""
        return self.error.startswith(TOO_LONG)


# Fields that came later, with the values that say nothing: they are left out of JSON then, so that checksums of earlier
# replies hold.
LATER: Mapping[str, object] = {"given": None, "thought_tokens": 0, "alternatives": None, "reasoning_tokens": 0}
