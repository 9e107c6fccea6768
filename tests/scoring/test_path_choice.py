"""Every path against one statement at a time, for every architecture; and the choice among them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np
import pytest
import torch
from chosen_paths import choose_path
from proofs import few_of
from scored_samples import CPU_MESSAGE
from statement_rows import as_token_rows, one_at_a_time, random_rows, split
from tiny_models import CAUSAL_CONFIGS, QUICK, TAKES_NO_TREE, loaded, tiny_causal
from tolerances import TINY_SCORE, tiny_score

from calprobe.errors import CalprobeError
from calprobe.kernels import linear_logprob, rms_norm
from calprobe.planning.filled_rows import FilledPlan
from calprobe.scoring import path_choice
from calprobe.scoring.executor import EdgeScores, score_rows
from calprobe.scoring.options import NOTHING_MASKED, Path
from calprobe.scoring.path_choice import Tolerance, checked_path, disagreement, executor_of, paths_of
from calprobe.scoring.tree import CPU_ROW_LENGTH, TreeExecutor


@pytest.mark.parametrize("architecture", few_of(CAUSAL_CONFIGS, QUICK.__contains__))
def test_the_chosen_path_equals_one_statement_at_a_time(architecture: str) -> None:
    network, rows = tiny_causal(architecture), random_rows(seed=11, n_statements=40, longest=40)
    path = choose_path(loaded(network), 96, random_rows(seed=12, n_statements=6, longest=40))
    assert path == ("padded" if architecture in TAKES_NO_TREE else "tree")
    scores = score_rows(executor_of(path, loaded(network), 96), rows)
    np.testing.assert_allclose(scores, one_at_a_time(network, rows), atol=tiny_score(architecture), rtol=0)


@pytest.mark.parametrize("architecture", ["llama", "bloom"])
def test_a_path_is_held_to_rows_without_padding(architecture: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, sample = loaded(tiny_causal(architecture)), random_rows(seed=5, n_statements=20)
    padded, seen, expected = [], 0, one_at_a_time(model.network, sample)
    own = model.network.forward

    def noted(*given: Any, **named: Any) -> Any:
        nonlocal seen
        seen += len(named["input_ids"])
        padded.append(bool((named["attention_mask"] == 0).any()))
        return own(*given, **named)

    monkeypatch.setattr(model.network, "forward", noted)
    truth = path_choice._own_forward(model, 96, sample, NOTHING_MASKED)
    assert not any(padded)
    assert len(padded) < seen
    np.testing.assert_allclose(truth.own, expected, atol=TINY_SCORE, rtol=0)


@pytest.mark.parametrize("path", few_of(["tree", "padded", "plain"], lambda path: path == "tree"))
def test_batch_size_and_order_change_nothing(path: Path) -> None:
    model, rows = loaded(tiny_causal("gemma2")), random_rows(seed=13, n_statements=40, longest=40)
    expected = one_at_a_time(model.network, rows)
    for batch_tokens in (3, 50, 400, 100_000):
        scores = score_rows(executor_of(path, model, batch_tokens), rows)
        np.testing.assert_allclose(scores, expected, atol=TINY_SCORE, rtol=0)
    statements = split(rows, rows.token_ids)
    order = np.random.default_rng(1).permutation(len(statements))
    shuffled = as_token_rows([statements[s] for s in order])
    scores, one = score_rows(executor_of(path, model, 200), shuffled), score_rows(executor_of(path, model, 200), rows)
    for statement, scored in zip(order, split(shuffled, scores), strict=True):
        np.testing.assert_array_equal(scored, split(rows, one)[statement])


@pytest.mark.parametrize(("times", "by_torch"), [(1.0, ()), (1.01, ("layers",))])
def test_fused_layers_are_held_to_the_model_s_own_forward(
    times: float, by_torch: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def norm(*arguments: Any, **rule: Any) -> torch.Tensor:
        calls.append(arguments)
        return times * rms_norm(*arguments, **rule)

    monkeypatch.setattr("calprobe.models.fused_layers.triton_takes", lambda weight: True)  # as on a card
    monkeypatch.setattr("calprobe.models.fused_layers.rms_norm", norm)
    model, sample = loaded(tiny_causal("llama"), fused=True), random_rows(seed=14, n_statements=6)
    score_rows(executor_of("plain", model, 96), sample)
    assert not calls
    for each in ("tree", "padded"):
        calls.clear()
        score_rows(executor_of(each, model, 96), sample)
        assert calls
    assert checked_path(model, 96, sample, paths_of(model)) == ("tree", "flash", by_torch)
    calls.clear()
    assert choose_path(loaded(model.network), 96, sample) == "tree"
    assert not calls


def test_a_path_that_disagrees_is_passed_over_and_said(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    model, sample = loaded(tiny_causal("llama")), random_rows(seed=14, n_statements=6)
    right = TreeExecutor.run

    def off_by_a_little(self: TreeExecutor, plan: Any) -> EdgeScores:
        scores = right(self, plan)
        return scores._replace(logprobs=scores.logprobs - 0.01)

    monkeypatch.setattr(TreeExecutor, "run", off_by_a_little)
    with caplog.at_level(logging.INFO, "calprobe"):
        assert choose_path(model, 64, sample) == "padded"
    (said,) = [record for record in caplog.records if "not on the tree path" in record.getMessage()]
    assert said.levelname == "WARNING"
    assert said.getMessage().endswith("(its token scores differ from the model's own by up to 0.01 nats)")
    with pytest.raises(CalprobeError, match="cannot be scored on the tree path"):
        choose_path(model, 64, sample, asked="tree")


def test_a_path_that_raises_is_passed_over() -> None:
    model, sample = loaded(tiny_causal("llama")), random_rows(seed=14, n_statements=6)
    network = model.network
    network.get_output_embeddings().register_forward_hook(lambda module, given, result: result)
    assert choose_path(model, 64, sample) == "plain"


@pytest.mark.parametrize("raises", [True, False])
def test_a_kernel_that_fails_only_in_rows_as_long_as_the_run_s_is_found(
    raises: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, sample, reasons = loaded(tiny_causal("llama")), random_rows(seed=14, n_statements=6), []

    def fail(layer: torch.nn.Module, given: Any, result: torch.Tensor) -> torch.Tensor | None:
        if result.shape[1] < CPU_ROW_LENGTH:
            return None
        if raises:
            raise RuntimeError("no kernel image is available\nfor this device")
        return result + torch.linspace(0, 1, result.shape[2])

    model.network.get_submodule("model.norm").register_forward_hook(fail)
    assert choose_path(model, 400, sample, on_pass=lambda path, reason: reasons.append(reason)) == "padded"
    expected = "RuntimeError: no kernel image is available" if raises else "in rows of 160 its token scores differ"
    assert reasons[0].startswith(expected)


@pytest.mark.parametrize("everywhere", [True, False])
def test_what_rounds_badly_in_any_rows_is_no_fault_of_full_ones(
    everywhere: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Full rows hold only the first statements, which may be those of the sample that are off by most."""
    model, reasons = loaded(tiny_causal("llama").to(torch.bfloat16), dtype="bfloat16"), []
    sample = random_rows(seed=14, n_statements=60, longest=20)
    n_first = int(sample.offsets[6])
    right = TreeExecutor.run

    def rounds_badly(self: TreeExecutor, plan: Any) -> EdgeScores:
        scores = right(self, plan)
        if everywhere or isinstance(plan, FilledPlan):
            scores.logprobs[np.unique(plan.edge_of_token[:n_first])] -= 0.12
        return scores

    monkeypatch.setattr(TreeExecutor, "run", rounds_badly)
    path = choose_path(model, 400, sample, on_pass=lambda path, reason: reasons.append(reason))
    assert path == ("tree" if everywhere else "padded")
    assert everywhere or "in rows of 160 its token scores differ" in reasons[0]


@pytest.mark.parametrize("path", ["tree", "padded", "plain"])
def test_scores_do_not_follow_the_precision_of_a_notebook(path: Path) -> None:
    model, rows = loaded(tiny_causal("llama")), random_rows(seed=3, n_statements=20)
    expected = score_rows(executor_of(path, model, 200), rows)
    try:
        torch.set_float32_matmul_precision("medium")  # some processors then multiply in bfloat16
        np.testing.assert_array_equal(score_rows(executor_of(path, model, 200), rows), expected)
    finally:
        torch.set_float32_matmul_precision("highest")


@pytest.mark.parametrize("path", ["tree", "padded", "plain"])
def test_scores_are_the_same_within_a_caller_s_autocast(path: Path) -> None:
    model, rows = loaded(tiny_causal("llama")), random_rows(seed=3, n_statements=20)
    expected = score_rows(executor_of(path, model, 200), rows)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert choose_path(model, 200, rows) == "tree"
        np.testing.assert_array_equal(score_rows(executor_of(path, model, 200), rows), expected)
        assert torch.mm(torch.ones(1, 1), torch.ones(1, 1)).dtype == torch.bfloat16


@pytest.mark.parametrize("path", ["tree", "padded", "plain"])
def test_no_pass_of_a_path_may_take_cudnn_for_its_attention(path: Path) -> None:
    model = loaded(tiny_causal("llama"))
    seen: list[bool] = []
    model.network.register_forward_pre_hook(lambda *_: seen.append(torch.backends.cuda.cudnn_sdp_enabled()))
    executor = executor_of(path, model, 64)
    seen.clear()
    score_rows(executor, random_rows(seed=1))
    assert set(seen) == {False}


def test_the_kernel_of_attention_is_named() -> None:
    model, sample = loaded(tiny_causal("llama")), random_rows(seed=14, n_statements=6)
    assert checked_path(model, 64, sample, ("tree", "padded", "plain")) == ("tree", "flash", ())
    assert checked_path(model, 64, sample, ("plain",)) == ("plain", None, ())


@pytest.mark.parametrize("asked", [None, "tree", "plain"])
def test_a_model_that_gives_nan_is_refused(asked: Path | None) -> None:
    model, sample = loaded(tiny_causal("llama")), random_rows(seed=14, n_statements=6)
    model.network.get_parameter("model.norm.weight").data[0] = torch.nan
    said = rf"float32 gives NaN for {len(sample.token_ids)} of the first {len(sample.token_ids)} tokens\nits weights"
    with pytest.raises(CalprobeError, match=said):
        choose_path(model, 64, sample, asked)


@pytest.mark.parametrize(
    ("difference", "said"),
    [
        ([0.0, 1e-4, 0.0, 0.0], None),
        ([0.0, 3e-3, 0.0, 0.0], "by up to 0.003 nats"),
        ([1e-3, 1e-3, 1e-3, 1e-3], "by 0.001 nats on average"),
        ([0.0, np.nan, 0.0, 0.0], "by up to nan nats"),
    ],
)
def test_disagreement_by_hand(difference: list[float], said: str | None) -> None:
    own = np.full(4, -2.0, np.float32)
    found = disagreement(own, own + np.array(difference, np.float32), Tolerance(largest=2e-3, mean=2e-4))
    assert found == said if said is None else (found is not None and said in found)


def test_windows_shorter_than_a_statement_are_honoured() -> None:
    # gemma2 and gemma3 mix windowed and full layers, mistral has windowed ones only; the window is 16.
    for architecture in ("gemma2", "gemma3", "mistral"):
        network, rows = tiny_causal(architecture), random_rows(seed=15, n_statements=12, longest=60)
        assert rows.lengths.max() > 20
        scores = score_rows(executor_of("tree", loaded(network), 300), rows)
        np.testing.assert_allclose(scores, one_at_a_time(network, rows), atol=TINY_SCORE, rtol=0)


@pytest.mark.parametrize("error", [torch.OutOfMemoryError("CUDA out of memory"), RuntimeError(CPU_MESSAGE)])
def test_it_is_never_a_reason_to_step_down(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> NoReturn:
        raise error

    monkeypatch.setattr(TreeExecutor, "run", fail)
    with pytest.raises(type(error)):
        choose_path(loaded(tiny_causal("llama")), 64, random_rows(seed=1))


@pytest.mark.parametrize("path", ["tree", "padded"])
def test_body_and_head_multiply_as_the_model_was_loaded_to(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, asked = loaded(tiny_causal("llama"), precision="tf32x3"), []

    def head(*arguments: Any) -> Any:
        asked.append(arguments[5])
        return linear_logprob(*arguments)

    @contextmanager
    def body(network: torch.nn.Module, precision: str) -> Iterator[None]:
        asked.append(f"body {precision}")
        yield

    monkeypatch.setattr("calprobe.models.head.linear_logprob", head)
    monkeypatch.setattr(f"calprobe.scoring.{path}.split_linears", body)
    score_rows(executor_of(path, model, 96), random_rows(seed=15, n_statements=6))
    assert set(asked) == {"tf32x3", "body tf32x3"}
