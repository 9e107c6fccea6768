"""Token rows of made-up statements, and what a model scores in them when it reads one statement at a time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from tiny_models import START, VOCAB

from calprobe.planning.token_rows import TokenRows


def random_rows(seed: int, n_statements: int = 24, longest: int = 20) -> TokenRows:
    """Statements that share beginnings, as those of a probe do, with some that stand twice."""
    rng = np.random.default_rng(seed)
    stems = [rng.integers(3, VOCAB, rng.integers(1, longest // 2)) for _ in range(4)]
    rows = [
        np.concatenate([stems[rng.integers(4)], rng.integers(3, VOCAB, rng.integers(0, longest // 2 + 1))])
        for _ in range(n_statements)
    ]
    return as_token_rows([*rows, rows[0], rows[5]])


def as_token_rows(rows: list[npt.NDArray[np.int64]]) -> TokenRows:
    """One statement an array of token ids."""
    ids = np.concatenate(rows).astype(np.int32)
    return TokenRows(ids, np.zeros(len(ids), np.int8), np.cumsum([0, *map(len, rows)], dtype=np.int64))


def split(rows: TokenRows, values: npt.NDArray[np.generic]) -> list[npt.NDArray[np.generic]]:
    """The values [tokens] of each statement."""
    return np.split(values, rows.offsets[1:-1])


@torch.inference_mode()
def one_at_a_time(network: torch.nn.Module, rows: TokenRows) -> npt.NDArray[np.float32]:
    """The definition: start token in front, one statement a forward, no mask, float32 log-softmax."""
    scores = []
    for ids in split(rows, rows.token_ids):
        tokens = torch.tensor([[START, *ids.tolist()]])
        logprobs = network(input_ids=tokens).logits.float().log_softmax(-1)
        scores.append(logprobs[0, :-1].gather(1, tokens[0, 1:, None]).squeeze(1))
    return torch.cat(scores).numpy()
