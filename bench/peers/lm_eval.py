"""lm-evaluation-harness: `HFLM.loglikelihood` on requests (empty context, statement), all of a slice in one call.

For an empty context it puts its prefix token (BOS) in front once, which is the start token of everybody else. It sorts
all requests by length, and forwards statements that differ in their last token only once. A context of subject and
relation words would be left out: its sums would be of the answer alone. So this is its fastest way to the sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from harness.job import Answer
from lm_eval.api.instance import Instance
from lm_eval.models.huggingface import HFLM

from peers.models import load_network, load_tokenizer
from peers.statements import Piece, ScoreJob


@dataclass(frozen=True)
class LmEval:
    """A model and its tokenizer; an HFLM is made for each batch size, which costs nothing."""

    network: Any
    tokenizer: Any

    def answer(self, items: Sequence[Piece], size: int | None, seed: int) -> Answer:
        """See `Loaded`."""
        harness = HFLM(self.network, backend="causal", tokenizer=self.tokenizer, batch_size=size)
        texts = [text for piece in items for text in piece.texts()]
        requests = [Instance("loglikelihood", {}, ("", text), place) for place, text in enumerate(texts)]
        return Answer(np.asarray([total for total, _ in harness.loglikelihood(requests, disable_tqdm=True)]))


def load(job: ScoreJob) -> LmEval:
    """lm-evaluation-harness with the model of the job."""
    return LmEval(load_network(job.model), load_tokenizer(job.model))
