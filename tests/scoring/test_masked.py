"""The paths of masked models against one masked row at a time, for every architecture and metric."""

from __future__ import annotations

import logging
from itertools import cycle

import numpy as np
import numpy.typing as npt
import pytest
import torch
from chosen_paths import choose_path
from hypothesis import given
from hypothesis import strategies as st
from one_masked_row import METRICS, one_row_at_a_time
from proofs import few_of
from tiny_models import KEEPS_ITS_HEAD, MASKED_CONFIGS, loaded, tiny_masked, tiny_masked_tokenizer
from tolerances import TINY_SCORE

import calprobe.scoring.masked as masked
from calprobe.errors import CalprobeError
from calprobe.models import LoadedModel, tokenise
from calprobe.planning.token_rows import TokenRows
from calprobe.scoring.executor import score_rows
from calprobe.scoring.options import Masking, Path
from calprobe.scoring.path_choice import executor_of
from calprobe.statements import fill
from calprobe.words import PllMetric

STATEMENTS = [
    fill("[X] is in [Y].", "Oslo", "No way"),
    fill("[X] is in [Y].", "Oslo", "It aly"),  # masks to the first one's rows wherever all of its answer is masked
    fill("[Y]: a [X]", "U.S.", "d'Or"),
    fill("[X] is in [Y].", "Oslo", "No way"),
]


def tiny(architecture: str) -> LoadedModel:
    return loaded(tiny_masked(architecture), kind="masked", tokenizer=tiny_masked_tokenizer())


@pytest.fixture(scope="module")
def bert() -> LoadedModel:
    return tiny("bert")


CASES = [(architecture, metric) for architecture in MASKED_CONFIGS for metric in METRICS]
OF_EACH = dict(zip(MASKED_CONFIGS, cycle(METRICS), strict=False))  # in turn; of bert all


@pytest.mark.parametrize(
    ("architecture", "metric"), few_of(CASES, lambda which, metric: which == "bert" or OF_EACH[which] == metric)
)
def test_the_chosen_path_equals_one_row_at_a_time(architecture: str, metric: PllMetric) -> None:
    model, masking = tiny(architecture), Masking(metric)
    rows = tokenise(STATEMENTS, model)
    path = choose_path(model, 96, rows, masking=masking)
    assert path == ("plain" if architecture in KEEPS_ITS_HEAD else "masked")
    expected = np.concatenate([one_row_at_a_time(model, statement, metric) for statement in STATEMENTS])
    assert expected.std() > 0.2  # a flat model would agree with anything
    for asked in {path, "plain"}:
        scores = score_rows(executor_of(asked, model, 96, masking=masking), rows)
        np.testing.assert_allclose(scores, expected, atol=TINY_SCORE, rtol=0)


def short_rows(seed: int, lengths: list[int]) -> TokenRows:
    """Statements out of three tokens, so that many of their masked rows are the same, in words of one or two tokens."""
    rng = np.random.default_rng(seed)
    ids = rng.integers(40, 43, sum(lengths)).astype(np.int32)
    words = [np.cumsum(rng.integers(0, 2, length)) for length in lengths]
    roles = rng.integers(0, 3, len(ids)).astype(np.int8)
    offsets = np.cumsum([0, *lengths], dtype=np.int64)
    return TokenRows(ids, roles, offsets, np.concatenate(words).astype(np.int32))


def picked(rows: TokenRows, statements: list[int]) -> tuple[TokenRows, npt.NDArray[np.int64]]:
    """The given statements of `rows`, and where each of their tokens stands in `rows`."""
    place = np.concatenate([np.arange(rows.offsets[s], rows.offsets[s + 1]) for s in statements])
    offsets = np.cumsum([0, *rows.lengths[statements]], dtype=np.int64)
    assert rows.words is not None
    return TokenRows(rows.token_ids[place], rows.roles[place], offsets, rows.words[place]), place


@given(
    seed=st.integers(0, 1000),
    lengths=st.lists(st.integers(1, 7), min_size=1, max_size=6),
    metric=st.sampled_from(METRICS),
    path=st.sampled_from(("masked", "plain")),
    data=st.data(),
)
def test_batches_order_and_duplicates_change_nothing(
    bert: LoadedModel, seed: int, lengths: list[int], metric: PllMetric, path: Path, data: st.DataObject
) -> None:
    rows, masking = short_rows(seed, lengths), Masking(metric)
    scores = score_rows(executor_of(path, bert, 64, masking=masking), rows)
    everything = list(range(rows.n_statements))
    order = data.draw(st.permutations(everything + data.draw(st.lists(st.sampled_from(everything), max_size=3))))
    shuffled, place = picked(rows, order)
    # The same set of statements in the same budget gives the same batches, so the same bits.
    np.testing.assert_array_equal(score_rows(executor_of(path, bert, 64, masking=masking), shuffled), scores[place])
    budget = data.draw(st.integers(1, 500))
    other = score_rows(executor_of(path, bert, budget, masking=masking), rows)
    np.testing.assert_allclose(other, scores, atol=TINY_SCORE, rtol=0)


@pytest.mark.parametrize("path", ["masked", "plain"])
def test_a_long_statement_keeps_to_the_budget(path: Path) -> None:
    words, budget = 120, 256
    network = tiny_masked("bert", positions=512)
    model = loaded(network, kind="masked", tokenizer=tiny_masked_tokenizer(), max_positions=512)
    executor = executor_of(path, model, budget)
    forwarded: list[int] = []
    watch = network.base_model.embeddings.register_forward_hook(  # type: ignore[union-attr, operator]
        lambda module, given, embedded: forwarded.append(embedded.shape[0] * embedded.shape[1])
    )
    scores = score_rows(executor, short_rows(1, [words]))
    watch.remove()
    assert max(forwarded) == 2 * (words + 2) <= budget
    assert sum(forwarded) == words * (words + 2)
    assert np.isfinite(scores).all()


def test_a_masked_path_that_disagrees_is_passed_over_and_said(
    bert: LoadedModel, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    sample = short_rows(2, [6, 6, 9])
    right = masked.MaskedExecutor.score_batch
    monkeypatch.setattr(masked.MaskedExecutor, "score_batch", lambda self, batch: right(self, batch) - 0.01)
    with caplog.at_level(logging.INFO, "calprobe"):
        assert choose_path(bert, 64, sample) == "plain"
    assert "not on the masked path (its token scores differ from the model's own by up to 0.01 nats)" in caplog.text
    with pytest.raises(CalprobeError, match="cannot be scored on the masked path"):
        choose_path(bert, 64, sample, asked="masked")


def test_the_check_on_load_forwards_few_rows_of_a_long_statement(
    bert: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, planned = short_rows(3, [50, 50]), []
    right = masked.plan_masked

    def count(sample: TokenRows, *others: object) -> object:
        planned.append(len(sample.token_ids))
        return right(sample, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(masked, "plan_masked", count)
    assert choose_path(bert, 64, rows) == "masked"
    assert set(planned) == {48}


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("architecture", ["bert", "albert", "modernbert"])
def test_rounding_is_no_reason_to_step_down(architecture: str, dtype: str) -> None:
    network = tiny_masked(architecture).to(getattr(torch, dtype))
    model = loaded(network, kind="masked", tokenizer=tiny_masked_tokenizer(), dtype=dtype)
    assert choose_path(model, 256, short_rows(4, [8, 8, 9])) == "masked"


def test_no_statements_give_no_scores(bert: LoadedModel) -> None:
    assert score_rows(executor_of("masked", bert, 64), tokenise([], bert)).shape == (0,)
