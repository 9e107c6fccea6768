"""lm-pub-quiz through its public API: `Evaluator.from_model`, `evaluate_relation`, reduction sum.

It batches the candidates of one instance, so that no batch is larger than the answer space. Its relations are made in
memory from the same subjects, candidates and template as everybody's; it fills the template itself. It puts the start
token in by itself; the tokenizer pads on the right (models.load_tokenizer says why). For a masked model
it batches all masked rows of one instance, and its batch size counts rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from harness.job import Answer
from lm_pub_quiz import Evaluator, Relation

from peers.models import load_network, load_tokenizer
from peers.statements import Piece, ScoreJob


@dataclass(frozen=True)
class LmPubQuiz:
    """An evaluator."""

    network: Any
    evaluator: Evaluator

    def answer(self, items: Sequence[Piece], size: int | None, seed: int) -> Answer:
        """See `Loaded`."""
        sums: list[float] = []
        for piece in items:
            result = self.evaluator.evaluate_relation(
                _relation(piece), template_index=0, batch_size=size, reduction="sum"
            )
            for scores in result.instance_table["pll_scores"]:
                sums.extend(scores)
        return Answer(np.asarray(sums))


def _relation(piece: Piece) -> Relation:
    ids = [str(place) for place in range(len(piece.candidates))]
    instances = pd.DataFrame({"sub_label": piece.subjects, "obj_id": "0", "answer_idx": 0})  # answers are not scored
    return Relation(
        piece.relation,
        templates=[piece.template],
        answer_space=pd.Series(piece.candidates, index=ids),
        instance_table=instances,
        lazy_options=None,
    )


def load(job: ScoreJob) -> LmPubQuiz:
    """lm-pub-quiz with the model of the job."""
    network = load_network(job.model)
    how = (
        {"model_type": "MLM", "pll_metric": "within_word_l2r"} if job.model.kind == "masked" else {"model_type": "CLM"}
    )
    return LmPubQuiz(
        network, Evaluator.from_model(network, tokenizer=load_tokenizer(job.model), device=job.model.device, **how)
    )
