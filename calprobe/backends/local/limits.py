"""How many conversations are in memory at once, and how many tokens a forward pass has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from calprobe.backends.local.conversation import Conversation
from calprobe.models import LoadedModel
from calprobe.models.memory import free_bytes
from calprobe.scoring.budget import auto_batch_tokens

_CPU_ROWS, _GPU_ROWS = 64, 256  # conversations whose next tokens are computed together; more gain little
_SHARE = 0.5  # of the free memory, for keys and values; the rest is for activations, logits, and heads
_LEAST_TOKENS = 64


@dataclass(frozen=True, slots=True)
class Limits:
    """How large batches are. Replies do not depend on it beyond the last bits of the logits."""

    rows: int  # conversations at once
    tokens: int  # of a forward pass, padding among them; a longer prompt goes alone
    bytes_of_token: int  # keys and values of a token in all layers; 0: not known

    @classmethod
    def of(cls, model: LoadedModel, bytes_of_token: int) -> Limits:
        """The usual ones of the model's device."""
        rows = _CPU_ROWS if model.device.type == "cpu" else _GPU_ROWS
        return cls(rows, auto_batch_tokens(model), bytes_of_token)

    def halved(self) -> Limits | None:
        """Half of each; None if a single conversation with short passes did not fit either."""
        if self.rows == 1 and self.tokens <= _LEAST_TOKENS:
            return None
        return replace(self, rows=max(1, self.rows // 2), tokens=max(_LEAST_TOKENS, self.tokens // 2))

    @property
    def window(self) -> int:
        """Conversations among which shared beginnings and equal lengths are looked for."""
        return 8 * self.rows

    def waves(self, conversations: Sequence[Conversation], model: LoadedModel) -> list[list[Conversation]]:
        """Conversations that fit in memory together, those of one prompt design and of similar length side by side."""
        room = int(free_bytes(model.device) * _SHARE)
        waves: list[list[Conversation]] = []
        longest = 0
        for conversation in sorted(conversations, key=_kind_and_length):
            longest = max(longest, conversation.n_tokens)
            fits = waves and len(waves[-1]) < self.rows
            if fits and (len(waves[-1]) + 1) * longest * self.bytes_of_token <= room:
                waves[-1].append(conversation)
            else:
                waves.append([conversation])
                longest = conversation.n_tokens
        return waves


def _kind_and_length(conversation: Conversation) -> tuple[str, int, int]:
    dialogue = conversation.dialogue
    return dialogue.variant, dialogue.decoding.max_new_tokens, len(conversation.prompt.ids)


def batches(widths: Sequence[int], most_tokens: int) -> list[slice]:
    """Cuts of neighbouring rows, each as wide as its widest row, of at most that many places (or of one row).

    >>> batches([2, 2, 3, 9], 8)
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    cuts: list[slice] = []
    start, width = 0, 0
    for row, own in enumerate(widths):
        width = max(width, own)
        if row > start and (row + 1 - start) * width > most_tokens:
            cuts.append(slice(start, row))
            start, width = row, own
    return [*cuts, slice(start, len(widths))] if widths else []
