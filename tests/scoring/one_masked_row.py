"""The oracle of masked scoring: one masked row at a time through the model's own forward."""

from __future__ import annotations

from typing import get_args

import torch

from calprobe.models import LoadedModel
from calprobe.statements import Statement
from calprobe.words import PllMetric

METRICS: tuple[PllMetric, ...] = get_args(PllMetric)


@torch.inference_mode()
def one_row_at_a_time(model: LoadedModel, statement: Statement, metric: PllMetric) -> list[float]:
    """The definition, written out: mask, forward one row, take the float32 log-softmax at the token's place."""
    encoded = model.tokenizer(statement.text, return_offsets_mapping=True)
    ids, words, spans = encoded["input_ids"], encoded.word_ids(), encoded["offset_mapping"]
    places = [place for place, word in enumerate(words) if word is not None]
    answer = [p for p in places if spans[p][0] < statement.answer[1] and spans[p][1] > statement.answer[0]]
    scores = []
    for place in places:
        also = {
            "original": [],
            "within_word_l2r": [p for p in places if words[p] == words[place]],
            "sentence_l2r": list(range(len(ids))),
        }
        also["answer_l2r+word_l2r"] = answer if place in answer else also["within_word_l2r"]
        hidden = {place, *(p for p in also[metric] if p > place)}
        row = [model.tokenizer.mask_token_id if p in hidden else token for p, token in enumerate(ids)]
        logits = model.network(input_ids=torch.tensor([row])).logits[0, place]
        scores.append(float(logits.float().log_softmax(-1)[ids[place]]))
    return scores
