"""Keys and values of many conversations of different lengths, in one place: slot j of a row holds its token j.

Since slots are positions, a row is cut by forgetting its length, a beginning is shared by copying slots, and no row has
a gap. transformers' own caches let rows grow side by side: shorter rows need padding in front or in between, each new
token copies everything before it, and windows count the padding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from transformers.cache_utils import Cache


class RaggedCache(Cache):  # type: ignore[misc]
    """One buffer [rows, heads, slots, dim] for each layer's keys, one for its values.

    Before a forward pass `aim` says which rows it extends and from which slots on.
    """

    def __init__(self) -> None:
        super().__init__(layers=[])
        self._keys: list[Tensor] = []
        self._values: list[Tensor] = []
        self._n_rows = self._n_slots = 0
        self._rows = slice(0, 0)
        self._seen = self._before = 0  # slots that the pass looks at, and those of them that are not new
        self._to: tuple[Tensor, Tensor] | slice = slice(0, 0)  # where new tokens go: rows and slots, or slots of all

    def reserve(self, n_rows: int, n_slots: int) -> None:
        """Have room for that many rows and slots; what was there is lost if the room has to grow."""
        if n_rows > self._n_rows or n_slots > self._n_slots:
            self.release()
            self._n_rows, self._n_slots = n_rows, n_slots

    def release(self) -> None:
        """Let go of all memory."""
        self._keys, self._values = [], []
        self._n_rows = self._n_slots = 0

    def aim(self, first_row: int, lengths: Tensor, n_new: int) -> None:
        """The next pass extends the rows from `first_row` on by `n_new` tokens (padding among them).

        Args:
            first_row: the first of `len(lengths)` neighbouring rows.
            lengths: tokens that each of them keeps, [rows] int64 on the CPU.
            n_new: width of the pass.
        """
        n_rows = len(lengths)
        longest = int(lengths.max())
        if first_row + n_rows > self._n_rows:
            raise ValueError(f"no room for {n_rows} rows from {first_row} on: there are {self._n_rows}")
        self._widen(longest + n_new)
        self._rows = slice(first_row, first_row + n_rows)
        self._seen, self._before = longest + n_new, longest
        if int(lengths.min()) == longest:
            self._to = slice(longest, longest + n_new)
        else:
            slots = lengths[:, None] + torch.arange(n_new)
            self._to = (torch.arange(first_row, first_row + n_rows)[:, None], slots)

    def update(
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Store the new tokens of the layer; give all that the pass looks at (transformers calls this)."""
        while len(self._keys) <= layer_idx:
            # Zeros: a masked place counts nothing, but not if it held NaN.
            self._keys.append(self._buffer(key_states))
            self._values.append(self._buffer(value_states))
        keys, values = self._keys[layer_idx], self._values[layer_idx]
        for buffer, states in ((keys, key_states), (values, value_states)):
            if isinstance(self._to, slice):
                buffer[self._rows, :, self._to] = states
            else:
                rows, slots = (index.to(buffer.device) for index in self._to)
                buffer[rows, :, slots] = states.transpose(1, 2)
        return keys[self._rows, :, : self._seen], values[self._rows, :, : self._seen]

    def _buffer(self, like: Tensor) -> Tensor:
        return like.new_zeros(self._n_rows, like.shape[1], self._n_slots, like.shape[3])

    def _widen(self, n_slots: int) -> None:
        """Have that many slots, and lose nothing: the padding of short rows may need more than the rows do."""
        missing = n_slots - self._n_slots
        if missing <= 0:
            return
        self._n_slots = n_slots
        for buffers in (self._keys, self._values):
            for layer, buffer in enumerate(buffers):
                buffers[layer] = F.pad(buffer, (0, 0, 0, missing))

    @torch.inference_mode()
    def copy(self, source: RaggedCache, pairs: Sequence[tuple[int, int, int]]) -> None:
        """Take over beginnings: for each (row of `source`, own row, number of slots).

        Slots that `source` has not forwarded are copied as they are. The two may be one cache.
        """
        for layer, (keys, values) in enumerate(zip(source._keys, source._values, strict=True)):
            if len(self._keys) <= layer:
                self._keys.append(self._buffer(keys))
                self._values.append(self._buffer(values))
            for own, theirs in ((self._keys[layer], keys), (self._values[layer], values)):
                for from_row, to_row, length in pairs:
                    own[to_row, :, :length] = theirs[from_row, :, :length]

    @torch.inference_mode()
    def swap(self, row: int, other: int, n_slots: int | None = None) -> None:
        """Let two rows change places, with their first slots or all of them."""
        if row == other:
            return
        for buffer in (*self._keys, *self._values):
            kept = buffer[row, :, :n_slots].clone()
            buffer[row, :, :n_slots] = buffer[other, :, :n_slots]
            buffer[other, :, :n_slots] = kept

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Slots before the pass's new ones, in the longest row; masks and positions do not use it."""
        return self._before

    def get_mask_sizes(self, *args: Any, **kwargs: Any) -> tuple[int, int]:
        """All slots that the pass looks at, from 0 on."""
        return self._seen, 0

    @property
    def bytes_of_token(self) -> int:
        """Memory of the keys and values of one token; 0 before the first pass."""
        return sum(b.shape[1] * b.shape[3] * b.element_size() for b in (*self._keys, *self._values))

    @property
    def n_bytes(self) -> int:
        """Memory that is reserved; 0 before the first pass."""
        return self.bytes_of_token * self._n_rows * self._n_slots
