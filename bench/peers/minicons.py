"""minicons: `IncrementalLMScorer.sequence_score`, sums of token scores, batches of statements sorted by length.

It leaves batching to its caller; sorting spares it most of the padding. `bos_token=True` writes the start token into
the text, which is right only where the tokenizer does not put one in by itself (Gemma's does). `bow_correction` moves
the probability of white space between words and would be another score: it stays off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from minicons.scorer import IncrementalLMScorer

from peers.job import ModelSpec, Piece
from peers.models import load_network, load_tokenizer


@dataclass(frozen=True)
class Minicons:
    """A scorer, and whether the start token has to be written into the text."""

    network: torch.nn.Module
    scorer: IncrementalLMScorer
    write_bos: bool

    def score(self, pieces: Sequence[Piece], batch_size: int | None) -> npt.NDArray[np.float64]:
        """See `scorers.Scorer`."""
        texts = [text for piece in pieces for text in piece.texts()]
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        sums, step = np.empty(len(texts)), batch_size or 1
        for start in range(0, len(texts), step):
            places = order[start : start + step]
            batch = [texts[place] for place in places]
            sums[places] = self.scorer.sequence_score(batch, reduction=_sum, bos_token=self.write_bos)
        return sums


def _sum(logprobs: torch.Tensor) -> float:
    return float(logprobs.double().sum())  # the caller's part, so nothing is rounded here


def load(spec: ModelSpec) -> Minicons:
    """minicons with the model of `spec`."""
    network, tokenizer = load_network(spec), load_tokenizer(spec)
    puts_bos = tokenizer("a")["input_ids"][0] == tokenizer.bos_token_id
    return Minicons(network, IncrementalLMScorer(network, spec.device, tokenizer=tokenizer), not puts_bos)
