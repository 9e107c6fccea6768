"""How many conversations are in memory at once, and how many tokens a forward pass has."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from calprobe.backends.local.conversation import Conversation
from calprobe.backends.local.noise import scratch_bytes
from calprobe.backends.local.sharing import shared_tokens
from calprobe.models import LoadedModel
from calprobe.models.memory import free_bytes
from calprobe.scoring.budget import auto_batch_tokens, vocabulary_size

_CPU_ROWS, _GPU_ROWS = 64, 256  # conversations whose next tokens are computed together; more gain little
_CPU_BRANCHES, _GPU_BRANCHES = 256, 512  # the same for follow-ups, of which a conversation has several
_CPU_PER_PASS, _GPU_PER_PASS = 128, 4096  # tokens that a pass could have computed while it reads weights and starts
_SHARE = 0.5  # of the free memory, for keys and values; the rest is for activations, logits, and heads
_LEAST_TOKENS = 64
_GPU_JOINING = 32  # of 256 rows: fewer would not be worth the passes that forward their prompts
_LEAST_ROWS = 0.75  # of a wave's rows must be left if longer conversations are to join it


@dataclass(frozen=True, slots=True)
class Limits:
    """How large batches are. Replies do not depend on it beyond the last bits of the logits."""

    rows: int  # conversations at once
    branches: int  # follow-ups at once
    tokens: int  # of a forward pass, padding among them; a longer prompt goes alone
    per_pass: int  # tokens that the beginning of a pass costs
    bytes_of_token: int  # keys and values of a token in all layers; 0: not known
    slots_as_place: int  # slots whose attention costs a token as much as its matrix products
    room: int  # bytes for keys and values and all else, of which those that caches hold already can be used again
    # Rows that have to be free before other conversations join; None: none do. On a CPU a pass over half of the rows
    # takes half of the time.
    joining: int | None = None

    @classmethod
    def of(cls, model: LoadedModel, bytes_of_token: int) -> Limits:
        """The usual ones of the model's device."""
        on_cpu = model.device.type == "cpu"
        rows, branches = (_CPU_ROWS, _CPU_BRANCHES) if on_cpu else (_GPU_ROWS, _GPU_BRANCHES)
        per_pass = _CPU_PER_PASS if on_cpu else _GPU_PER_PASS
        # Both grow with the hidden size; attention reaches a few times fewer operations a second on a CPU.
        config: Any = model.network.config
        return cls(
            rows,
            branches,
            auto_batch_tokens(model),
            per_pass,
            bytes_of_token,
            config.get_text_config().hidden_size,
            free_bytes(model.device),
            joining=None if on_cpu else _GPU_JOINING,
        )

    def now(self, model: LoadedModel, n_held: int, draws: bool) -> Limits:
        """With the memory that is free now, and the bytes that caches hold: these are used again, or let go.

        Where it `draws` tokens, without what their noise takes; an eighth stays in any case: fewer rows, which are
        tried where memory runs out, have less noise.
        """
        most_rows = max(self.rows, self.branches)
        noise = scratch_bytes(most_rows, vocabulary_size(model), model.device) if draws else 0
        room = free_bytes(model.device) + n_held
        return replace(self, room=max(room - noise, room // 8))

    def beside(self, n_places: int) -> Limits:
        """With the memory that is left beside a cache of so many slots in all its rows."""
        return replace(self, room=max(0, self.room - n_places * self.bytes_of_token))

    def halved(self) -> Limits | None:
        """Half of each; None if a single conversation with short passes did not fit either."""
        if self.rows == 1 and self.branches == 1 and self.tokens <= _LEAST_TOKENS:
            return None
        tokens = max(_LEAST_TOKENS, self.tokens // 2)
        joining = None if self.joining is None else max(1, self.joining // 2)
        rows, branches = max(1, self.rows // 2), max(1, self.branches // 2)
        return replace(self, rows=rows, branches=branches, tokens=tokens, joining=joining)

    @property
    def window(self) -> int:
        """Conversations among which shared beginnings and equal lengths are looked for."""
        return 8 * self.rows

    def passes(self, kept: Sequence[int], new: Sequence[int]) -> list[slice]:
        """Cuts of neighbouring rows, a forward pass each: rows that have `kept` slots get `new` tokens."""
        return batches(new, self.tokens, self.per_pass, kept, self.slots_as_place)

    def parts(
        self, kept: Sequence[int], new: Sequence[Sequence[int]]
    ) -> Iterator[tuple[int, Sequence[int], Sequence[Sequence[int]]]]:
        """The same cuts of rows with their new tokens: the first row, the slots, and the tokens of each."""
        for cut in self.passes(kept, [len(ids) for ids in new]):
            yield cut.start, kept[cut], new[cut]

    def rows_of_branches(self, n_slots: int) -> int:
        """Rows of that many slots that fit in memory, for follow-ups."""
        return min(self.branches, self._in_memory(n_slots))

    def scratch_rows(self, n_slots: int) -> int:
        """Rows of that many slots that fit in memory, for copies behind which something is scored: one at least."""
        return max(1, self._in_memory(n_slots))

    def rows_of_wave(self, wave: Sequence[Conversation]) -> int:
        """Rows for the conversations of a wave, of which others may join when some are done: one at least."""
        return min(len(wave), self._rows_of(max(conversation.n_tokens for conversation in wave)))

    def waves(self, conversations: Sequence[Conversation]) -> list[list[Conversation]]:
        """Conversations that fit in memory together, those that share much or are of similar length side by side.

        Where conversations join, a wave has as many more as take about the same memory each.
        """
        waves: list[list[Conversation]] = []
        longest = most = 0
        for conversation in in_order(conversations):
            longest = max(longest, conversation.n_tokens)
            rows = self._rows_of(longest)
            if waves and len(waves[-1]) < rows:
                waves[-1].append(conversation)
                most = rows
            elif waves and self.joining is not None and rows >= _LEAST_ROWS * most:
                waves[-1].append(conversation)
            else:
                waves.append([conversation])
                longest = conversation.n_tokens
                most = self._rows_of(longest)
        return waves

    def _rows_of(self, n_slots: int) -> int:
        return max(1, min(self.rows, self._in_memory(n_slots)))

    def _in_memory(self, n_slots: int) -> int:
        return int(self.room * _SHARE) // max(1, n_slots * self.bytes_of_token)


def in_order(conversations: Sequence[Conversation]) -> list[Conversation]:
    """Families of prompts that share half of their tokens, the shorter families first; of one length of reply together.

    Rows that are answered together all look at as many places as the longest of them, until the last one has ended.
    """
    families: list[list[Conversation]] = []
    for conversation in sorted(conversations, key=lambda c: (_budget(c), c.prompt.ids)):
        if families and _are_kin(families[-1][-1], conversation):
            families[-1].append(conversation)
        else:
            families.append([conversation])
    families = [sorted(family, key=_length) for family in families]
    families.sort(key=lambda family: (_budget(family[0]), _length(family[-1])))
    return [conversation for family in families for conversation in family]


def _are_kin(first: Conversation, second: Conversation) -> bool:
    """Whether they share half of the longer prompt, and have replies of one length."""
    if _budget(first) != _budget(second):
        return False
    return 2 * shared_tokens(first.prompt.ids, second.prompt.ids) >= max(_length(first), _length(second))


def _budget(conversation: Conversation) -> int:
    return conversation.dialogue.decoding.max_new_tokens


def _length(conversation: Conversation) -> int:
    return len(conversation.prompt.ids)


def pass_order(n_kept: int, n_new: int) -> tuple[int, int]:
    """A sort key that brings rows together which cost little in one forward pass.

    Rows that keep up to about twice as many slots are alike, as all rows look at those of the longest; among them, the
    rows with as many new tokens.

    >>> sorted([(500, 9), (20, 90), (30, 10)], key=lambda row: pass_order(*row))
    [(30, 10), (20, 90), (500, 9)]
    """
    return n_kept.bit_length(), n_new


def batches(
    widths: Sequence[int],
    most_tokens: int,
    per_pass: int = 0,
    kept: Sequence[int] | None = None,
    slots_as_place: float = math.inf,
) -> list[slice]:
    """Cuts of neighbouring rows, each as wide as its widest row, of at most that many places (or of one row).

    Of all cuts the cheapest. A place, padding among them, costs 1, and as much again for `slots_as_place` slots that it
    looks at; a pass costs `per_pass` more.

    Args:
        widths: new tokens of each row.
        most_tokens: places of a pass.
        per_pass: in places.
        kept: slots that each row has before; None: none.
        slots_as_place: see above.

    >>> batches([2, 2, 3, 9], 18, per_pass=4)
    [slice(0, 3, None), slice(3, 4, None)]
    """
    cost, start_of = [0.0], [0]
    for end in range(1, len(widths) + 1):
        best, width, longest = None, 0, 0
        for start in range(end - 1, -1, -1):
            width = max(width, widths[start])
            longest = max(longest, kept[start] if kept else 0)
            places = (end - start) * width
            if places > most_tokens and end - start > 1:
                break
            total = cost[start] + places * (1 + (longest + width) / slots_as_place) + per_pass
            if best is None or total <= best[0]:
                best = total, start
        assert best is not None, "one row is always possible"
        cost.append(best[0])
        start_of.append(best[1])
    cuts: list[slice] = []
    end = len(widths)
    while end:
        cuts.append(slice(start_of[end], end))
        end = start_of[end]
    return cuts[::-1]
