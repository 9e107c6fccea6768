"""minicons: `sequence_score` of its causal or its masked scorer, sums, batches of statements sorted by length.

It leaves batching to its caller; sorting spares it most of the padding. A batch of statements is one forward pass, of a
masked model with a row for each of their tokens. `bos_token=True` writes the start token into the text, which is right
only where the tokenizer does not put one in by itself (Gemma's does). `bow_correction` moves the probability of white
space between words and would be another score: it stays off.

The masked scorer is handed encoded statements, which it takes as well: to encode them itself it calls a method of the
tokenizer that transformers 5 no longer has. Its metric is named in each call; there the constructor's is not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from harness.job import Answer
from minicons.scorer import IncrementalLMScorer, MaskedLMScorer

from peers.models import load_network, load_tokenizer
from peers.statements import Piece, ScoreJob


@dataclass(frozen=True)
class Minicons:
    """A scorer, and how it is called."""

    network: torch.nn.Module
    scorer: IncrementalLMScorer | MaskedLMScorer
    encoded: Callable[[list[str]], Any]  # statements as it takes them
    options: Mapping[str, Any]

    def answer(self, items: Sequence[Piece], size: int | None, seed: int) -> Answer:
        """See `Loaded`."""
        texts = [text for piece in items for text in piece.texts()]
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        sums, step = np.empty(len(texts)), size or 1
        for start in range(0, len(texts), step):
            places = order[start : start + step]
            batch = self.encoded([texts[place] for place in places])
            sums[places] = self.scorer.sequence_score(batch, reduction=_sum, **self.options)
        return Answer(sums)


def _sum(logprobs: torch.Tensor) -> float:
    return float(logprobs.double().sum())  # the caller's part, so nothing is rounded here


def load(job: ScoreJob) -> Minicons:
    """minicons with the model of the job."""
    network, tokenizer = load_network(job.model), load_tokenizer(job.model)
    if job.model.kind == "masked":
        masked = MaskedLMScorer(network, job.model.device, tokenizer=tokenizer)
        return Minicons(network, masked, partial(tokenizer, padding=True), {"PLL_metric": "within_word_l2r"})
    puts_bos = tokenizer("a")["input_ids"][0] == tokenizer.bos_token_id
    causal = IncrementalLMScorer(network, job.model.device, tokenizer=tokenizer)
    return Minicons(network, causal, list, {"bos_token": not puts_bos})
