"""The plain path against one statement at a time, for every architecture, and the properties of its result."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from proofs import few_of
from statement_rows import as_token_rows, one_at_a_time, random_rows, split
from tiny_models import CAUSAL_CONFIGS, QUICK, VOCAB, loaded, tiny_causal
from tolerances import TINY_SCORE

from calprobe.planning.token_rows import TokenRows
from calprobe.scoring.executor import score_rows
from calprobe.scoring.padded import PlainExecutor, target_logprobs


@pytest.mark.parametrize("architecture", few_of(CAUSAL_CONFIGS, QUICK.__contains__))
def test_equals_one_statement_at_a_time(architecture: str) -> None:
    network, rows = tiny_causal(architecture), random_rows(seed=1)
    expected = one_at_a_time(network, rows)
    assert expected.std() > 0.2  # a flat model would agree with anything
    np.testing.assert_allclose(score_rows(PlainExecutor(loaded(network), 64), rows), expected, atol=TINY_SCORE, rtol=0)


@pytest.mark.parametrize("batch_tokens", [1, 7, 60, 10_000])
def test_batch_size_changes_nothing(batch_tokens: int) -> None:
    model, rows = loaded(tiny_causal("llama")), random_rows(seed=2)
    reference = score_rows(PlainExecutor(model, 128), rows)
    np.testing.assert_allclose(score_rows(PlainExecutor(model, batch_tokens), rows), reference, atol=TINY_SCORE, rtol=0)


def test_order_and_duplicates_change_not_one_bit() -> None:
    model, rows = loaded(tiny_causal("opt")), random_rows(seed=3)
    statements = split(rows, rows.token_ids)
    order = np.random.default_rng(0).permutation(len(statements))
    shuffled = as_token_rows([statements[s] for s in [*order, *order[:4]]])
    scores = split(rows, score_rows(PlainExecutor(model, 50), rows))
    shuffled_scores = split(shuffled, score_rows(PlainExecutor(model, 50), shuffled))
    for place, statement in enumerate([*order, *order[:4]]):
        np.testing.assert_array_equal(shuffled_scores[place], scores[statement])


def test_scores_are_logarithms_of_probabilities() -> None:
    scores = score_rows(PlainExecutor(loaded(tiny_causal("gpt2")), 64), random_rows(seed=4))
    assert scores.dtype == np.float32
    assert (scores <= 0).all()
    assert np.isfinite(scores).all()


def test_bfloat16_logits_are_normalised_in_float32() -> None:
    torch.manual_seed(0)
    logits = (torch.randn(2, 3, VOCAB) * 8).bfloat16()
    targets = torch.randint(0, VOCAB, (2, 3))
    mask = torch.tensor([[True, True, True], [True, False, False]])
    expected = logits.double().log_softmax(-1).gather(2, targets[..., None]).squeeze(2)[mask]
    places = mask.flatten().nonzero().squeeze(1)
    result = target_logprobs(logits.flatten(0, 1), places, targets.flatten()[places])
    assert result.dtype == torch.float32
    torch.testing.assert_close(result.double(), expected, atol=TINY_SCORE, rtol=0)


def test_no_statements_give_no_scores() -> None:
    nothing = TokenRows(np.zeros(0, np.int32), np.zeros(0, np.int8), np.zeros(1, np.int64))
    assert score_rows(PlainExecutor(loaded(tiny_causal("gpt2")), 64), nothing).shape == (0,)
