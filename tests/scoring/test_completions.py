"""Completions after contexts: every path against one statement at a time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from chosen_paths import choose_path
from proofs import few_of
from statement_rows import as_token_rows, one_at_a_time, split
from tiny_models import TAKES_NO_TREE, VOCAB, loaded, tiny_causal
from tolerances import TINY_SCORE

from calprobe.planning.token_rows import Contexts, TokenRows
from calprobe.scoring.executor import score_rows
from calprobe.scoring.options import Path
from calprobe.scoring.path_choice import executor_of


def rows_with_contexts(seed: int, n_contexts: int = 9, longest: int = 48) -> TokenRows:
    """Contexts of different lengths with four completions each; some are one another's beginnings, one stands twice.

    The first token of a completion may be that of the context's end in another statement, as across a joint.
    """
    rng = np.random.default_rng(seed)
    statements, lengths = [], []
    for _ in range(n_contexts):
        context = rng.integers(3, VOCAB, rng.integers(1, longest))
        begins = rng.integers(3, VOCAB, 3)
        for completion in range(4):
            own = np.concatenate([begins[:completion], rng.integers(3, VOCAB, rng.integers(1, 9))])
            statements.append(np.concatenate([context, own]))
            lengths.append(len(context) + (completion == 3))  # one token of these belongs to the context
    rows = as_token_rows([*statements, statements[4], statements[0][: lengths[0] + 1]])
    lengths += [lengths[4], 0]  # a completion without any context
    return replace(rows, contexts=Contexts(np.array(lengths), np.zeros(len(lengths), np.int64)))


def expected_scores(network: object, rows: TokenRows) -> npt.NDArray[np.float32]:
    return one_at_a_time(network, replace(rows, contexts=None))[rows.is_scored]  # type: ignore[arg-type]


@pytest.mark.parametrize("architecture", ["gpt2", "opt", "llama", "gemma2", "mistral", "bloom", "mamba"])
def test_the_chosen_path_equals_one_statement_at_a_time(architecture: str) -> None:
    network, rows = tiny_causal(architecture), rows_with_contexts(seed=1)
    path = choose_path(loaded(network), 96, rows_with_contexts(seed=2, n_contexts=3))
    assert path == ("padded" if architecture in TAKES_NO_TREE else "tree")
    expected = expected_scores(network, rows)
    assert expected.std() > 0.2
    np.testing.assert_allclose(
        score_rows(executor_of(path, loaded(network), 96), rows), expected, atol=TINY_SCORE, rtol=0
    )


@pytest.mark.parametrize("path", few_of(["tree", "padded", "plain"], lambda path: path == "tree"))
def test_batch_size_and_order_change_nothing(path: Path) -> None:
    model, rows = loaded(tiny_causal("gemma2")), rows_with_contexts(seed=3)
    expected = expected_scores(model.network, rows)
    for batch_tokens in (3, 50, 400, 100_000):
        for row_length in (8, 40, 160):
            scores = score_rows(executor_of(path, model, batch_tokens, row_length), rows)
            np.testing.assert_allclose(scores, expected, atol=TINY_SCORE, rtol=0)
    order = np.random.default_rng(1).permutation(rows.n_statements)
    shuffled = TokenRows.joined([rows.part(place, place + 1) for place in order.tolist()])
    executor = executor_of(path, model, 200)
    one, other = split(rows.scored, score_rows(executor, rows)), score_rows(executor, shuffled)
    for statement, scored in zip(order, split(shuffled.scored, other), strict=True):
        np.testing.assert_array_equal(scored, one[statement])


def test_contexts_never_reach_the_head(monkeypatch: pytest.MonkeyPatch) -> None:
    import calprobe.models.head as head

    seen, product = [], head.linear_logprob
    monkeypatch.setattr(
        head, "linear_logprob", lambda hidden, *rest: (seen.append(len(hidden)), product(hidden, *rest))[1]
    )
    model, rows = loaded(tiny_causal("llama")), rows_with_contexts(seed=4)
    scored = len(rows.scored.token_ids)
    for path in ("tree", "padded"):
        seen.clear()
        score_rows(executor_of(path, model, 100), rows)
        assert sum(seen) <= scored < len(rows.token_ids) / 2
