"""Keys and values of many conversations of different lengths, in one place: slot j of a row holds its token j.

Since slots are positions, a row is cut by forgetting its length, a beginning is shared by copying slots, and no row has
a gap. transformers' own caches let rows grow side by side: shorter rows need padding in front or in between, each new
token copies everything before it, and windows count the padding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from transformers.cache_utils import Cache

from calprobe.scoring.executor import uploaded

_MOVED_AT_ONCE = 2**26  # bytes of a buffer that are moved at once: they are held twice meanwhile


class RaggedCache(Cache):  # type: ignore[misc]
    """One buffer [rows, heads, slots, dim] for each layer's keys, one for its values.

    Before a forward pass `aim` says which rows it extends and from which slots on.
    """

    def __init__(self) -> None:
        super().__init__(layers=[])
        self._keys: list[Tensor] = []
        self._values: list[Tensor] = []
        self.n_rows = self._n_slots = 0
        self._rows = slice(0, 0)
        self._seen = self._before = 0  # slots that the pass looks at, and those of them that are not new
        self._slots: slice | None = None  # where new tokens go, if these are the same slots of all rows
        self._places: dict[torch.device, tuple[Tensor, Tensor]] = {}  # else their rows and slots, by a layer's device

    def reserve(self, n_rows: int, n_slots: int) -> None:
        """Have room for that many rows and slots; what was there is lost if the room has to grow."""
        if n_rows > self.n_rows or n_slots > self._n_slots:
            self.release()
            self.n_rows, self._n_slots = n_rows, n_slots

    def release(self) -> None:
        """Let go of all memory."""
        self._keys, self._values = [], []
        self.n_rows = self._n_slots = 0

    @torch.inference_mode()
    def clear(self, rows: Sequence[int]) -> None:
        """Let these rows, of which nothing is needed, hold zeros, as `update` begins with: they hold NaN."""
        for buffer in (*self._keys, *self._values):
            buffer[rows] = 0

    def aim(self, first_row: int, lengths: Sequence[int], n_new: int, kept: Tensor) -> None:
        """The next pass extends the rows from `first_row` on by `n_new` tokens (padding among them).

        Args:
            first_row: the first of `len(lengths)` neighbouring rows.
            lengths: tokens that each of them keeps.
            n_new: width of the pass.
            kept: the lengths again, [rows] int64 on the device of the embeddings: from there no layer has to wait.
        """
        n_rows, longest = len(lengths), max(lengths)
        if first_row + n_rows > self.n_rows:
            raise ValueError(f"no room for {n_rows} rows from {first_row} on: there are {self.n_rows}")
        self._widen(longest + n_new)
        self._rows = slice(first_row, first_row + n_rows)
        self._seen, self._before = longest + n_new, longest
        self._slots, self._places = None, {}
        if min(lengths) == longest:
            self._slots = slice(longest, longest + n_new)
        else:
            rows = torch.arange(first_row, first_row + n_rows, device=kept.device)[:, None]
            self._places[kept.device] = rows, kept[:, None] + torch.arange(n_new, device=kept.device)

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
            if self._slots is not None:
                buffer[self._rows, :, self._slots] = states
            else:
                rows, slots = self._places_on(buffer.device)
                buffer[rows, :, slots] = states.transpose(1, 2)
        return keys[self._rows, :, : self._seen], values[self._rows, :, : self._seen]

    def _places_on(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """Rows and slots of the new tokens on a layer's device; with a device map, layers are on several."""
        if device not in self._places:
            ((rows, slots),) = list(self._places.values())[:1]
            self._places[device] = rows.to(device), slots.to(device)
        return self._places[device]

    def _buffer(self, like: Tensor) -> Tensor:
        return like.new_zeros(self.n_rows, like.shape[1], self._n_slots, like.shape[3])

    def _widen(self, n_slots: int) -> None:
        """Have that many slots, and lose nothing: the padding of short rows may need more than the rows do."""
        n_missing = n_slots - self._n_slots
        if n_missing <= 0:
            return
        self._n_slots = n_slots
        for buffers in (self._keys, self._values):
            for layer, buffer in enumerate(buffers):
                buffers[layer] = F.pad(buffer, (0, 0, 0, n_missing))

    @torch.inference_mode()
    def copy(self, source: RaggedCache, pairs: Sequence[tuple[int, int, int]]) -> None:
        """Take over beginnings: for each (row of `source`, own row, number of slots).

        On a card, rows of up to twice as many slots are copied together, as many slots as the longest of them has: what
        is behind a beginning is lost. Slots that `source` has not forwarded are copied as they are. The two may be one
        cache; a row that is written to is then none that is read.
        """
        if not pairs:
            return
        for layer, (keys, values) in enumerate(zip(source._keys, source._values, strict=True)):
            if len(self._keys) <= layer:
                self._keys.append(self._buffer(keys))
                self._values.append(self._buffer(values))
        on_cpu = [
            (buffer, source_buffer) for buffer, source_buffer in self._beside(source) if buffer.device.type == "cpu"
        ]
        for buffer, source_buffer in on_cpu:
            for from_row, to_row, length in pairs:
                buffer[to_row, :, :length] = source_buffer[from_row, :, :length]
        elsewhere = [
            (buffer, source_buffer) for buffer, source_buffer in self._beside(source) if buffer.device.type != "cpu"
        ]
        for _, alike in groupby(sorted(pairs, key=lambda pair: pair[2]), key=lambda pair: pair[2].bit_length()):
            rows = list(alike)
            _move(elsewhere, [(from_row, to_row) for from_row, to_row, _ in rows], rows[-1][2])

    @torch.inference_mode()
    def reorder(self, pairs: Sequence[tuple[int, int]], n_slots: int) -> None:
        """Let rows have the first slots of others, all at once: for each (row that is read, row that is written)."""
        if pairs:
            _move(self._beside(self), pairs, n_slots)

    def _beside(self, source: RaggedCache) -> list[tuple[Tensor, Tensor]]:
        """Each buffer with that of `source`."""
        return [*zip(self._keys, source._keys, strict=True), *zip(self._values, source._values, strict=True)]

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
        return self.bytes_of_token * self.n_places

    @property
    def n_places(self) -> int:
        """Slots of all rows."""
        return self.n_rows * self._n_slots


def _move(buffers: Sequence[tuple[Tensor, Tensor]], pairs: Sequence[tuple[int, int]], n_slots: int) -> None:
    """Copy the first slots of rows into others, all at once: (written, read) buffers, (read, written) rows."""
    indices: dict[torch.device, list[Tensor]] = {}
    for buffer, source_buffer in buffers:
        if buffer.device not in indices:
            indices[buffer.device] = uploaded([np.array(rows) for rows in zip(*pairs, strict=True)], buffer.device)
        read, written = indices[buffer.device]
        for slots in _stretches(n_slots, len(pairs) * buffer.shape[1] * buffer.shape[3] * buffer.element_size()):
            buffer[written, :, slots] = source_buffer[read, :, slots]


def _stretches(n_slots: int, slot_bytes: int) -> Iterator[slice]:
    """Cuts of the first slots, each of which moves so much at once as may be held twice."""
    step = max(1, _MOVED_AT_ONCE // max(1, slot_bytes))
    for start in range(0, n_slots, step):
        yield slice(start, min(n_slots, start + step))
