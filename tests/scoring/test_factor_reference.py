"""Real instances of the expert set with a real model, against one text at a time through its plain forward."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from real_models import smollm2

from calprobe.probes import load_probe
from calprobe.scoring.executor import score_rows
from calprobe.scoring.path_choice import executor_of
from calprobe.scoring.scored_pieces import tokenise_pieces
from calprobe.statements import Template, join

pytestmark = pytest.mark.weights
INSTANCES = (1, 3, 2)  # a question alone, a space at the end, an answer begun
COMPLETIONS = 2  # of each: contexts are long, and a text at a time takes a second


@torch.inference_mode()
def plain_scores(context: str, completion: str) -> list[float]:
    """log p of the tokens from the joint on: tokens of context and text agree up to it."""
    model = smollm2()
    text, _, (joint, _) = join(context, completion)
    ids = model.tokenizer(text, add_special_tokens=False)["input_ids"]
    before = model.tokenizer(text[:joint], add_special_tokens=False)["input_ids"]
    assert ids[: len(before)] == before
    tokens = torch.tensor([[model.start_token_id, *ids]])
    logprobs = model.network(input_ids=tokens).logits[0].float().log_softmax(-1)
    return [float(logprobs[place, ids[place]]) for place in range(len(before), len(ids))]


@pytest.mark.proof
def test_token_scores_are_those_of_one_text_at_a_time(shared: Path) -> None:
    relation = load_probe(shared / "factor" / "expert_factor.csv").relations[0]
    chosen = [relation.instances[index] for index in INSTANCES]
    few = tuple(replace(own, candidates=(own.candidates or ())[:COMPLETIONS], answer_idx=0) for own in chosen)
    some = replace(relation, instances=few)
    expected = [
        value
        for instance in some.instances
        for completion in some.candidates_of(instance)
        for value in plain_scores(instance.subject, completion)
    ]
    (piece,) = tokenise_pieces([(some, Template(0, "[X] [Y]", "paraphrase"))], smollm2())
    for path in ("tree", "padded"):
        found = score_rows(executor_of(path, smollm2(), 1024), piece.rows)
        difference = np.abs(found - np.array(expected))
        print(f"{path}: {len(found)} tokens, max {difference.max():.1e}, mean {difference.mean():.1e}")
        assert difference.max() <= 1e-3
        assert difference.mean() <= 1e-4
