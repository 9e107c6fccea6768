"""The next token of each row: the most probable one, or one drawn with noise that the row's own key decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from calprobe.backends.local.noise import gumbel_noise
from calprobe.backends.protocol import Decoding
from calprobe.scoring.executor import uploaded

_FIRST_LOOK = 512  # most probable tokens among which the nucleus is looked for before all are sorted


class Draw(NamedTuple):
    """How the next token of one row is chosen."""

    decoding: Decoding
    key: int  # see `sample_key`; a greedy row's is not used
    position: int  # of that token in the reply


class Chosen(NamedTuple):
    """The next tokens and their log-probabilities."""

    tokens: Tensor  # [rows] int64
    logprobs: Tensor  # [rows] float32, under the softmax at temperature 1 over the complete vocabulary
    normalisers: Tensor  # [rows] float32: log of the sum of exp(logits)


def choose(logits: Tensor, draws: Sequence[Draw]) -> Chosen:
    """Choose a token in each row.

    At temperature 0 it is the most probable one, of several the one with the smallest id. Else the logits are divided
    by the temperature, then the smallest set of most probable tokens with mass top_p or more is kept (with all that
    tie with its least probable one), then the largest log-probability plus Gumbel noise wins.

    Args:
        logits: [rows, vocab] float32.
        draws: one for each row.
    """
    normalisers = logits.logsumexp(1)
    tokens = logits.argmax(1)
    sampled = [row for row, draw in enumerate(draws) if draw.decoding.temperature > 0]
    if sampled:
        (rows,) = uploaded([np.array(sampled)], logits.device)
        tokens[rows] = _sampled(logits[rows], [draws[row] for row in sampled])
    logprobs = logits.gather(1, tokens[:, None]).squeeze(1) - normalisers
    return Chosen(tokens, logprobs.clamp_(max=0.0), normalisers)


class MostProbable(NamedTuple):
    """The most probable tokens of some rows, under the softmax at temperature 1, and its entropy."""

    tokens: Tensor  # [rows, count] int64: the chosen one, then the others, the most probable first
    logprobs: Tensor  # [rows, count] float32
    entropies: Tensor  # [rows] float32, nats, over the complete vocabulary


def most_probable(logits: Tensor, chosen: Chosen, count: int) -> MostProbable:
    """The chosen token of each row with the most probable others, `count` in all, or the complete vocabulary.

    Args:
        logits: [rows, vocab] float32.
        chosen: of these rows.
        count: 1 or more.
    """
    logprobs = (logits - chosen.normalisers[:, None]).clamp_(max=0.0)
    likeliest = logprobs.topk(min(count, logits.shape[1]), dim=1)
    tokens = torch.cat([chosen.tokens[:, None], likeliest.indices], dim=1)
    values = torch.cat([chosen.logprobs[:, None], likeliest.values], dim=1)
    # The chosen token is in front; where it is among the others too, it leaves them, else the least of them does.
    again = tokens == chosen.tokens[:, None]
    again[:, 0] = False
    order = again.int().argsort(dim=1, stable=True)[:, : likeliest.indices.shape[1]]
    entropies = torch.special.entr(logprobs.exp()).sum(1)
    return MostProbable(tokens.gather(1, order), values.gather(1, order), entropies)


def _sampled(logits: Tensor, draws: Sequence[Draw]) -> Tensor:
    decodings = [draw.decoding for draw in draws]
    masses = np.array([decoding.top_p for decoding in decodings], np.float64)
    temperatures, top_p, keys, positions = uploaded(
        [
            np.array([decoding.temperature for decoding in decodings], np.float32),
            masses,
            np.array([draw.key for draw in draws], np.int64),
            np.array([draw.position for draw in draws], np.int64),
        ],
        logits.device,
    )
    logprobs = (logits / temperatures[:, None]).log_softmax(1)
    if (masses < 1).any():
        logprobs.masked_fill_(logprobs < nucleus_floor(logprobs, top_p)[:, None], -torch.inf)
    return logprobs.add_(gumbel_noise(keys, positions, logits.shape[1])).argmax(1)


def nucleus_floor(logprobs: Tensor, top_p: Tensor) -> Tensor:
    """The smallest log-probability in the smallest set of most probable tokens that has mass `top_p`, [rows].

    -inf where top_p is 1 or more.

    Args:
        logprobs: [rows, vocab] float32.
        top_p: [rows] float64, above 0.
    """
    size = min(_FIRST_LOOK, logprobs.shape[1])
    highest = logprobs.topk(size).values
    masses = highest.double().exp().cumsum(1)
    if size < logprobs.shape[1] and bool(((masses[:, -1] < top_p) & (top_p < 1)).any()):
        highest = logprobs.sort(1, descending=True).values
        masses = highest.double().exp().cumsum(1)
    last = (masses < top_p[:, None]).sum(1).clamp_(max=highest.shape[1] - 1)
    floor = highest.gather(1, last[:, None]).squeeze(1)
    return floor.masked_fill(top_p >= 1, -torch.inf)
