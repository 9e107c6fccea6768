"""The checks on every load take a right engine, whatever text they are made with, and never one with an error.

`make test-cards` makes each check with CALPROBE_SEEDS=200 texts, a tenth of them with errors; `make test` makes it with
one and tiny models.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
import real_models
import torch
from chosen_paths import choose_path
from engine_errors import ERRORS, windows_are_ignored
from proofs import few_of
from torch import Tensor

from calprobe.backends.local import check
from calprobe.backends.local.check import ragged_engine
from calprobe.errors import CalprobeError
from calprobe.models import LoadedModel, LoadOptions, load_model
from calprobe.planning import TreePlan
from calprobe.planning.token_rows import TokenRows
from calprobe.probes import load_probe
from calprobe.scoring import path_choice, tree
from calprobe.scoring.options import OVER_TREE
from calprobe.scoring.path_choice import Tolerance, disagreement
from calprobe.statements import statements_of

Patch = pytest.MonkeyPatch
Differences = dict[str, list[np.ndarray]]
SEEDS = int(os.environ.get("CALPROBE_SEEDS", "1"))
WRONG_SEEDS = max(1, SEEDS // 10)
DEVICE = os.environ.get("CALPROBE_DEVICE", "cpu")
DTYPES = ("float32", "bfloat16", "float16")
TINY = {"ask": "tiny-chat", "score": "tiny-clm"}
REAL = ("smollm2", "gemma3")
N_STEMS, N_ENDS = 6, 12  # of a sample: beginnings, and ends of each


@cache
def model_of(name: str, dtype: Any) -> LoadedModel:
    if name == "gemma3":
        real_models.gemma3()  # or a skip
        name = str(real_models.gemma3_file())
    elif name == "smollm2":
        real_models.smollm2()
        name = "smollm2-135m"
    return load_model(name, LoadOptions(dtype=dtype, device=DEVICE, quiet=True))


@cache
def statements() -> list[str]:
    """Real text: what the probe `mini` states, with right and wrong answers."""
    probe = load_probe("mini")
    templates = [(relation, relation.templates[0]) for relation in probe.relations]
    return [statement.text for relation, template in templates for statement in statements_of(relation, template)]


def texts_of(seed: int, count: int) -> list[str]:
    return np.random.default_rng(seed).choice(statements(), count, replace=False).tolist()


def sample_of(model: LoadedModel, seed: int) -> TokenRows:
    """Statements as those of a probe: several share a beginning, and each has an end of its own."""
    texts = texts_of(seed, N_STEMS + N_ENDS)
    ids = [model.tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]
    ids = [[*stem[:-2], *end[-2:]] for stem in ids[:N_STEMS] for end in ids[N_STEMS:]]
    tokens = np.array([token for one in ids for token in one], np.int32)
    return TokenRows(tokens, np.zeros(len(tokens), np.int8), np.cumsum([0, *map(len, ids)], dtype=np.int64))


def is_asked_so(model: LoadedModel, seed: int) -> bool:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(check, "_TEXT", " ".join(texts_of(seed, 40)))
        return not isinstance(ragged_engine(model), str)


def is_scored_so(model: LoadedModel, seed: int) -> bool:
    return choose_path(model, 256, sample_of(model, seed)) in OVER_TREE


@pytest.fixture(autouse=True)
def short_products_as_on_cards(monkeypatch: Patch) -> None:
    """Where a CPU has no units for a short dtype, torch's products in it take much longer than these, which are
    as units and cards make them: sums in float32, rounded once."""
    has_units = {
        torch.float32: True,
        torch.bfloat16: torch.ops.mkldnn._is_mkldnn_bf16_supported(),
        torch.float16: torch.ops.mkldnn._is_mkldnn_fp16_supported(),
    }
    by_torch = torch.nn.Linear.forward

    def forward(self: Any, given: Tensor) -> Tensor:
        if given.device.type != "cpu" or has_units.get(given.dtype, True):
            return by_torch(self, given)
        if not hasattr(self, "wide"):
            self.wide = self.weight.float(), None if self.bias is None else self.bias.float()
        return torch.nn.functional.linear(given.float(), *self.wide).to(given.dtype)

    monkeypatch.setattr(torch.nn.Linear, "forward", forward)


@pytest.fixture
def differences(monkeypatch: Patch) -> Differences:
    """By what scores were compared with in checks, how far off it they were, an array of tokens each."""
    found: Differences = defaultdict(list)

    def noted(own: np.ndarray, scores: np.ndarray, tolerance: Tolerance, others: str = "the model's own") -> str | None:
        found[others].append(np.abs(scores - own))
        return disagreement(own, scores, tolerance, others)

    for module in (check, path_choice):
        monkeypatch.setattr(module, "disagreement", noted)
    return found


CHECKS: dict[str, Callable[[LoadedModel, int], bool]] = {"ask": is_asked_so, "score": is_scored_so}


def siblings_are_seen(patch: Patch) -> None:
    def all_before(network: Any, position_ids: Tensor, end: Tensor, deepest: int) -> Tensor:
        seen = torch.ones(end.shape[1], end.shape[1], dtype=torch.bool, device=end.device).tril()
        return tree._additive(seen.expand(len(end), -1, -1), network.dtype)

    patch.setattr(tree, "attention_masks", all_before)


def _with_other(patch: Patch, change: Callable[[Any], dict[str, Any]]) -> None:
    right = TreePlan.batch

    def batch(self: TreePlan, index: int) -> Any:
        own = right(self, index)
        return replace(own, **change(own))

    patch.setattr(TreePlan, "batch", batch)


def positions_are_places(patch: Patch) -> None:
    width = "position_ids"
    _with_other(patch, lambda own: {width: np.arange(own.token_ids.shape[1]) + 0 * own.position_ids})


def targets_are_their_neighbours(patch: Patch) -> None:
    _with_other(patch, lambda own: {"targets": np.roll(own.targets, 1)})


def the_scoring_head_has_another_scale(patch: Patch) -> None:
    right = path_choice.scoring_head

    def scaled(*given: Any) -> Any:
        head = right(*given)
        return replace(head, rule=replace(head.rule, scale=1.1 * head.rule.scale))

    patch.setattr(path_choice, "scoring_head", scaled)


SCORE_ERRORS = (
    siblings_are_seen,
    positions_are_places,
    targets_are_their_neighbours,
    the_scoring_head_has_another_scale,
)
OVERFLOWS = ("gemma3", "float16")  # activations of Gemma 3 are too large for float16
REAL_CASES = [
    pytest.param(*case, marks=[pytest.mark.proof, pytest.mark.weights])
    for case in product(REAL, DTYPES)
    if case != OVERFLOWS
]


@pytest.mark.parametrize("of", CHECKS)
@pytest.mark.parametrize(
    ("name", "dtype"), [*few_of(product(["tiny"], DTYPES), lambda name, dtype: dtype == "bfloat16"), *REAL_CASES]
)
def test_a_right_engine_is_never_refused(name: str, dtype: str, of: str, differences: Differences) -> None:
    model = model_of(TINY.get(of, name) if name == "tiny" else name, dtype)
    refused = [seed for seed in range(SEEDS) if not CHECKS[of](model, seed)]
    print(f"{of}, {name} in {dtype}: {len(refused)} of {SEEDS} refused")
    for others, found in differences.items():
        largest, mean = (sorted(map(of_one, found))[::-1] for of_one in (np.max, np.mean))
        next_to_it = f" (then {largest[1]:.3g})" if len(largest) > 1 else ""
        print(f"off {others} by {largest[0]:.3g} nats at most{next_to_it} and by up to {mean[0]:.2g} on average")
    assert not refused


@pytest.mark.proof
@pytest.mark.weights
@pytest.mark.parametrize("of", CHECKS)
def test_a_model_whose_numbers_overflow_is_named(of: str) -> None:
    with pytest.raises(CalprobeError, match=r"its own forward in float16 gives NaN .*\n.* try --dtype float32"):
        CHECKS[of](model_of(*OVERFLOWS), 0)


@pytest.mark.proof
@pytest.mark.weights
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_an_engine_that_ignores_windows_is_always_refused(
    dtype: str, differences: Differences, monkeypatch: Patch
) -> None:
    model = model_of("gemma3", dtype)
    windows_are_ignored(monkeypatch)
    taken = [seed for seed in range(WRONG_SEEDS) if is_asked_so(model, seed)]
    least = min(np.max(array) for arrays in differences.values() for array in arrays)
    print(f"windows ignored, {dtype}: {len(taken)} of {WRONG_SEEDS} taken, off by {least:.2g} nats at most, or more")
    assert not taken


@pytest.mark.parametrize(
    "error", few_of([*ERRORS, *SCORE_ERRORS], SCORE_ERRORS[:1].__contains__), ids=lambda error: error.__name__
)
@pytest.mark.parametrize(
    ("name", "dtype"), [*few_of(product(["tiny"], DTYPES), lambda name, dtype: dtype == "float32"), *REAL_CASES]
)
def test_an_engine_with_an_error_is_always_refused(
    name: str, dtype: str, error: Callable[[Patch], None], differences: Differences, monkeypatch: Patch
) -> None:
    if error is siblings_are_seen and DEVICE != "cpu":
        pytest.skip("on a card statements are scored along the flat path, which is given no such mask")
    of = "ask" if error in ERRORS else "score"
    model = model_of(TINY[of] if name == "tiny" else name, dtype)
    error(monkeypatch)
    taken, off = [], []
    for seed in range(WRONG_SEEDS):
        differences.clear()
        if CHECKS[of](model, seed):
            taken.append(seed)
        compared = [array for arrays in differences.values() for array in arrays]
        if compared:  # a wrong head is found before
            off.append([max(map(of_one, compared)) for of_one in (np.max, np.mean)])
    print(f"{of}, {name} in {dtype}, {error.__name__}: {len(taken)} of {WRONG_SEEDS} taken")
    if off:
        print("off by {:.2g} nats at most and by {:.2g} on average, or more".format(*np.min(off, axis=0)))
    assert not taken
