"""Forward passes over the rows of a ragged cache, and the logits of the places that are wanted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from calprobe.backends.local.cache import RaggedCache
from calprobe.backends.local.closed import ReplyTree
from calprobe.kernels.linear_logprob import gives_float32, wide_products
from calprobe.kernels.onednn import linear
from calprobe.models import LoadedModel
from calprobe.models.attention import KINDS_WITH_MASKS, layer_kinds
from calprobe.models.forwards import other_forwards
from calprobe.models.fused_layers import forwards_of
from calprobe.models.grouped_attention import GroupedAttention
from calprobe.models.head import HeadUnusable, ScoringHead, hidden_states, scoring_head
from calprobe.models.torch_settings import exact_torch
from calprobe.scoring.budget import vocabulary_size
from calprobe.scoring.executor import Arrays, uploaded

# Fewer rows than this go through torch's own product: oneDNN's takes rows by the 64.
_FEW_ROWS = 64
_WORDS_AT_ONCE = 8192  # rows of a short-dtype head that are taken to float32 at once on a CPU


class NotRagged(Exception):
    """The model's layers look at more than a mask can say; the message says at what."""


@dataclass(frozen=True, slots=True)
class _Given:
    """What a forward pass is given, on the device of the embeddings: all that the host has to say, copied at once."""

    tokens: Tensor  # [rows, width] int64
    kept: Tensor  # [rows] int64, tokens that each row has
    others: tuple[Tensor, ...]  # what is looked for afterwards


class Engine:
    """A causal model that extends rows of a `RaggedCache`."""

    def __init__(self, model: LoadedModel) -> None:
        self.model = model
        self.network: Any = model.network
        # Found once: to look through all modules takes as long as to launch a layer.
        self._fused = forwards_of(self.network) if model.fused else []
        self._attention = GroupedAttention(self.network)
        # transformers 5.24 has given the argument another name; a wrapper for adapters hands on whatever it gets.
        network: Any = getattr(self.network, "get_base_model", lambda: self.network)()
        self._cache_name = "cache" if "cache" in signature(network.forward).parameters else "past_key_values"
        self.head = _head(model)
        self.windows = _windows(self.network)
        self.n_tokens = vocabulary_size(model)

    @torch.inference_mode()
    def forward(self, cache: RaggedCache, first_row: int, lengths: Sequence[int], new: Sequence[Sequence[int]]) -> None:
        """As `extend`, without logits."""
        self._forward(cache, first_row, lengths, new)

    @torch.inference_mode()
    def extend(
        self, cache: RaggedCache, first_row: int, lengths: Sequence[int], new: Sequence[Sequence[int]]
    ) -> Tensor:
        """Forward the `new` tokens of neighbouring rows behind the tokens that they have; logits behind the last.

        Args:
            cache: has room for them.
            first_row: of `len(new)` rows.
            lengths: tokens that each row keeps; what its later slots hold is overwritten.
            new: one token or more for each row.
        Returns:
            [rows, vocab] float32.
        """
        last = np.array([len(ids) - 1 for ids in new])
        hidden, (rows, places) = self._forward(cache, first_row, lengths, new, [np.arange(len(new)), last])
        return self.logits(hidden, rows, places)

    @torch.inference_mode()
    def continuations(
        self, cache: RaggedCache, first_row: int, lengths: Sequence[int], new: Sequence[Sequence[int]]
    ) -> list[float]:
        """As `extend`; the log-probability of each row's new tokens behind the first one, which is forwarded only."""
        counts = [len(ids) - 1 for ids in new]
        of_rows = np.repeat(np.arange(len(new)), counts)
        of_places = np.concatenate([np.arange(count) for count in counts])
        behind = np.array([token for ids in new for token in ids[1:]])
        hidden, (rows, places, targets) = self._forward(
            cache, first_row, lengths, [ids[:-1] for ids in new], [of_rows, of_places, behind]
        )
        logits = self.logits(hidden, rows, places)
        chosen = logits.gather(1, targets.to(logits.device)[:, None]).squeeze(1) - logits.logsumexp(1)
        sums = torch.zeros(len(new), dtype=torch.float64)
        sums.index_add_(0, torch.from_numpy(of_rows), chosen.cpu().double())
        return [float(total) for total in sums]

    @torch.inference_mode()
    @exact_torch()
    def tree(
        self, cache: RaggedCache, first_row: int, lengths: Sequence[int], roots: Sequence[int], tree: ReplyTree
    ) -> Tensor:
        """Log-probabilities of the tree's `targets` behind neighbouring rows: [rows, edges] float64, on the CPU.

        The slots from each row's length on are overwritten.

        Args:
            cache: has room for them.
            first_row: of `len(roots)` rows.
            lengths: tokens that each row keeps: all of its prompt but the last one.
            roots: the last token of each row's prompt.
            tree: of the replies.
        """
        n_rows, n_edges = len(roots), len(tree.targets)
        firsts = n_edges * np.arange(n_rows)[:, None]
        offsets = np.append((firsts + tree.offsets.numpy()[:-1]).ravel(), n_edges * n_rows)
        of_tree = [np.array(tree.depths), tree.above.numpy(), tree.targets.numpy(), offsets]
        inputs = self._given(lengths, [[root, *tree.tokens] for root in roots], tree.n_places, of_tree)
        depths, above, targets, edge_offsets = inputs.others
        positions = inputs.kept[:, None] + depths
        cache.aim(first_row, lengths, tree.n_places, inputs.kept)
        masks = self._tree_masks(inputs.kept, max(lengths), positions, depths, above)
        hidden = self._hidden(cache, inputs.tokens, positions, masks)
        targets = targets.to(hidden.device)
        if self.head is None:
            of_edges = torch.repeat_interleave(torch.arange(tree.n_places), tree.offsets.diff()).to(hidden.device)
            logprobs: Tensor = log_softmax(hidden.float())[:, of_edges, targets]
            return logprobs.double().cpu()
        values = self.head.logprobs(hidden.flatten(0, 1), targets.repeat(n_rows), edge_offsets.to(hidden.device))
        return values.view(n_rows, n_edges).double().cpu()

    def _forward(
        self,
        cache: RaggedCache,
        first_row: int,
        kept: Sequence[int],
        new: Sequence[Sequence[int]],
        others: Arrays = (),
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Hidden states [rows, width, dim] of the new tokens, or logits where the head cannot be taken out.

        Beside them the arrays `others`, which go to the device with the tokens.
        """
        width = max(len(ids) for ids in new)
        padded = [[*ids, *(ids[-1:] * (width - len(ids)))] for ids in map(list, new)]
        inputs = self._given(kept, padded, width, others)
        positions = inputs.kept[:, None] + torch.arange(width, device=self.model.device)
        cache.aim(first_row, kept, width, inputs.kept)
        masks = self._masks(positions, max(kept) + width)
        return self._hidden(cache, inputs.tokens, positions, masks), inputs.others

    def _given(self, kept: Sequence[int], tokens: Sequence[Sequence[int]], width: int, extras: Arrays) -> _Given:
        arrays = [np.array(tokens, np.int64).reshape(len(kept), width), np.array(kept, np.int64), *extras]
        on_device, lengths, *uploads = uploaded(arrays, self.model.device)
        return _Given(on_device, lengths, tuple(uploads))

    @exact_torch()
    def _hidden(
        self, cache: RaggedCache, tokens: Tensor, positions: Tensor, masks: Tensor | dict[str, Tensor]
    ) -> Tensor:
        """Hidden states [rows, width, dim] of the tokens, or logits where the head cannot be taken out."""
        inputs = {
            "input_ids": tokens,
            # Behind a row's last token stands padding, possibly past the model's last position.
            "position_ids": positions.clamp(max=(self.model.max_positions or 2**31) - 1),
            "attention_mask": masks,
            self._cache_name: cache,
            "use_cache": True,
        }
        with other_forwards(self._fused), self._attention.of_a_pass():
            if self.head is None:
                everywhere: Tensor = self.network(**inputs).logits
                return everywhere
            with hidden_states(self.network, fast=tokens.numel() >= _FEW_ROWS, once=True) as keeper:
                self.network(**inputs)
            return keeper.hidden

    def _masks(self, positions: Tensor, n_slots: int) -> Tensor | dict[str, Tensor]:
        """0 where a new token sees a slot, the dtype's lowest value elsewhere: [rows, 1, width, slots]."""
        slots = torch.arange(n_slots, device=positions.device)
        return self._windowed(slots <= positions[:, :, None], slots[None], positions)

    def _tree_masks(
        self, kept: Tensor, longest: int, positions: Tensor, depths: Tensor, above: Tensor
    ) -> Tensor | dict[str, Tensor]:
        """As `_masks`: a place of the tree sees its row's prompt, and what is above it in the tree.

        Args:
            kept: [rows], the largest of which is `longest`.
            longest: as a number: taken from the device, it would have to be waited for.
            positions: of the tree's places, [rows, places].
            depths: of a `ReplyTree`, [places].
            above: of it, [places, places].
        """
        n_places = len(depths)
        slots = torch.arange(longest + n_places, device=kept.device) - kept[:, None]  # counted from the tree's first
        in_tree = (slots >= 0) & (slots < n_places)
        places = slots.clamp(0, n_places - 1)
        seen = (slots < 0)[:, None] | (in_tree[:, None] & above[:, places].transpose(0, 1))
        at = torch.where(slots < 0, slots, depths[places]) + kept[:, None]
        return self._windowed(seen, at, positions)

    def _windowed(self, seen: Tensor, at: Tensor, positions: Tensor) -> Tensor | dict[str, Tensor]:
        """The masks of layers with and without a window.

        Args:
            seen: [rows, width, slots] bool, without regard to windows.
            at: the position of the token in each slot, [rows, slots]; one row may stand for all.
            positions: of the new tokens, [rows, width].
        """
        window = self.windows.size
        if window is None or seen.shape[2] <= window:
            return self._additive(seen)
        near = seen & (at[:, None] > positions[:, :, None] - window)
        if not self.windows.mixed:
            return self._additive(near)
        return {"full_attention": self._additive(seen), "sliding_attention": self._additive(near)}

    def _additive(self, seen: Tensor) -> Tensor:
        # Not a mask of truth values, which eager attention would add as ones and zeros.
        dtype = self.network.dtype
        mask = torch.zeros(seen.shape, dtype=dtype, device=seen.device)
        return mask.masked_fill_(~seen, torch.finfo(dtype).min)[:, None]

    @exact_torch()
    def logits(self, hidden: Tensor, rows: Tensor, places: Tensor) -> Tensor:
        """Logits [places, vocab] float32, from float32 sums whatever the dtype."""
        states = hidden[rows.to(hidden.device), places.to(hidden.device)]
        if self.head is None:
            return states.float()
        dots = _products(states, self.head.weight)
        bias = None if self.head.rule.bias is None else self.head.rule.bias.float()
        logits: Tensor = self.head.rule.apply_(dots, bias)
        return logits


def _head(model: LoadedModel) -> ScoringHead | None:
    try:
        return scoring_head(model.network, model.device, by_kernel=model.head_by_kernel)
    except HeadUnusable:
        return None


class _Windows:
    """The sliding windows of a model's layers."""

    def __init__(self, size: int | None, mixed: bool) -> None:
        self.size = size  # None: every layer sees everything
        self.mixed = mixed  # layers with and without


def _windows(network: Any) -> _Windows:
    config = network.config.get_text_config()
    kinds = layer_kinds(network)
    if others := kinds - KINDS_WITH_MASKS:
        raise NotRagged(f"it has layers of {', '.join(sorted(others))}")
    if kinds == {"full_attention"}:
        return _Windows(None, False)
    return _Windows(getattr(config, "sliding_window", None), len(kinds) > 1)


def log_softmax(logits: Tensor) -> Tensor:
    """Over the last dimension. On a CPU torch's own, in float32, is up to 1e-4 nats too large where there are 262,144
    words: it adds the small ones to a large sum one by one, as `logsumexp` does not."""
    return logits - logits.logsumexp(-1, keepdim=True)


def _products(hidden: Tensor, weight: Tensor) -> Tensor:
    """`hidden.float() @ weight.float().T` without a float32 copy of the weight: [rows, vocab] float32."""
    if weight.dtype == torch.float32:
        return F.linear(hidden, weight) if len(hidden) < _FEW_ROWS else linear(hidden, weight)
    if gives_float32(hidden):
        products: Tensor = wide_products(hidden, weight)
        return products
    dots = torch.empty(len(hidden), len(weight), device=weight.device)
    wide = hidden.float()
    for start in range(0, len(weight), _WORDS_AT_ONCE):
        words = slice(start, start + _WORDS_AT_ONCE)
        dots[:, words] = F.linear(wide, weight[words].float())
    return dots
