"""The choice of a token: greedy, with temperature, with a nucleus."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from calprobe.backends import Decoding
from calprobe.backends.local import noise
from calprobe.backends.local.choosing import Draw, choose, nucleus_floor
from calprobe.backends.local.noise import sample_key

LOGITS = torch.tensor([[1.0, 3.0, 3.0, -2.0, 0.5, -torch.inf]])


def test_greedy_takes_the_first_of_ties_and_gives_logprobs_at_temperature_one() -> None:
    chosen = choose(LOGITS, [Draw(Decoding(1), 0, 0)])
    assert chosen.tokens.tolist() == [1]
    assert chosen.logprobs.item() == pytest.approx(LOGITS.log_softmax(1)[0, 1].item(), abs=1e-6)
    assert chosen.normalisers.item() == pytest.approx(LOGITS.logsumexp(1).item(), abs=1e-6)


@pytest.mark.parametrize(("temperature", "top_p"), [(1.0, 1.0), (0.5, 1.0), (2.0, 1.0), (1.0, 0.9), (1.5, 0.6)])
def test_samples_have_the_distribution_that_was_asked_for(temperature: float, top_p: float) -> None:
    n_samples = 8000
    probabilities = (LOGITS[0].double() / temperature).softmax(0)
    order = probabilities.argsort(descending=True)
    before = probabilities[order].cumsum(0) - probabilities[order]
    probabilities[order[before >= top_p]] = 0
    expected = (probabilities / probabilities.sum()).numpy() * n_samples

    decoding = Decoding(1, temperature, top_p, seed=1)
    draws = [Draw(decoding, sample_key(1, number), number % 7) for number in range(n_samples)]
    counts = np.bincount(choose(LOGITS.expand(n_samples, -1), draws).tokens.numpy(), minlength=6)
    possible = expected > 0
    assert counts[~possible].sum() == 0
    assert chisquare(counts[possible], expected[possible]).pvalue > 0.001


def test_rows_choose_for_themselves() -> None:
    logits = torch.randn(6, 300, generator=torch.Generator().manual_seed(0)) * 3
    decodings = [Decoding(1), Decoding(1, 1.0), Decoding(1, 0.7, 0.9), Decoding(1), Decoding(1, 1.0, 0.5), Decoding(1)]
    draws = [Draw(decoding, sample_key(0, row), row) for row, decoding in enumerate(decodings)]
    together = choose(logits, draws)
    for row, draw in enumerate(draws):
        alone = choose(logits[row : row + 1], [draw])
        assert alone.tokens.item() == together.tokens[row].item()
        assert alone.logprobs.item() == pytest.approx(together.logprobs[row].item(), abs=1e-6)


def test_the_nucleus_of_a_flat_distribution_is_found_behind_the_first_look() -> None:
    flat = torch.linspace(0, 1e-3, 2000)[None].log_softmax(1)
    floor = nucleus_floor(flat, torch.tensor([0.75], dtype=torch.float64))
    kept = flat[flat >= floor].double().exp()
    assert 0.75 <= kept.sum() < 0.75 + 2 / 2000
    assert nucleus_floor(flat, torch.tensor([1.0], dtype=torch.float64)).item() == -torch.inf


def test_ties_with_the_last_token_of_a_nucleus_are_kept() -> None:
    tied = torch.tensor([[0.5, 0.25, 0.25]]).log()
    assert nucleus_floor(tied, torch.tensor([0.7], dtype=torch.float64)).exp().item() == pytest.approx(0.25)


@pytest.mark.parametrize("scratch", [0, 2**20, 2**29])
def test_the_tokens_that_were_drawn_are_drawn_again(scratch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of a torch 2.13 on a CPU, when noise was first drawn: runs go on with the replies that they have."""
    monkeypatch.setattr(noise, "_CPU_SCRATCH", scratch)
    logits = torch.arange(50_000).remainder(17).expand(12, -1) / 4
    decodings = [Decoding(1, 1.0)] * 6 + [Decoding(1, 0.7, 0.9)] * 6
    draws = [Draw(decoding, sample_key(row // 6, "q", row % 6), row) for row, decoding in enumerate(decodings)]
    expected = [8786, 34300, 28912, 8460, 18460, 41325, 44895, 30122, 9382, 169, 46783, 24579]
    assert choose(logits, draws).tokens.tolist() == expected
