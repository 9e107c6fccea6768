"""The check of ragged rows on every load: right engines pass in every dtype, made errors never do."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from engine_errors import ERRORS, rows_see_their_padding, windows_are_ignored
from proofs import few_of
from tiny_models import BY_PLACES, CAUSAL_CONFIGS, HYBRID_CONFIGS, TAKES_NO_TREE, loaded, tiny_causal, tiny_named

from calprobe.backends.local import TransformersBackend, check
from calprobe.backends.local.cache import RaggedCache
from calprobe.backends.local.check import ragged_engine
from calprobe.backends.local.ragged_engine import Engine, log_softmax
from calprobe.errors import CalprobeError
from calprobe.kernels import linear_logprob
from calprobe.models import LoadedModel, LoadOptions, load_model
from calprobe.models.head import ScoringHead

DTYPES = ("float32", "bfloat16", "float16")
Patch = pytest.MonkeyPatch
# What a row of the check says, from other texts: numbers, another order, one word only.
TEXTS = ("1 2 3 4 5 6 7 8 9 10 11 12 13", "the " * 40, "Berlin. A city is a place, and Rome is one of them, I think. ")


def model_in(dtype: Any) -> LoadedModel:
    return load_model("tiny-chat", LoadOptions(dtype=dtype, device="cpu", quiet=True))


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_right_engine_passes_whatever_the_text(dtype: str, monkeypatch: Patch) -> None:
    model = model_in(dtype)
    assert not isinstance(ragged_engine(model), str)
    for text in TEXTS:
        monkeypatch.setattr(check, "_TEXT", text)
        assert not isinstance(ragged_engine(model), str)


@pytest.mark.parametrize(("dtype", "fix"), [("float32", "copy or download"), ("float16", "try --dtype float32")])
def test_a_model_that_gives_nan_is_named_and_not_its_engine(dtype: Any, fix: str) -> None:
    model = model_in(dtype)
    model.network.get_parameter("model.norm.weight").data[0] = torch.nan
    with pytest.raises(CalprobeError, match=rf"{dtype} gives NaN for (\d+) of the first \1 probabilities\n.*: {fix}"):
        ragged_engine(model)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__name__)
def test_an_engine_with_an_error_is_refused(error: Callable[[Patch], None], dtype: str, monkeypatch: Patch) -> None:
    model = model_in(dtype)
    error(monkeypatch)
    reason = ragged_engine(model)
    assert isinstance(reason, str)
    assert "differ from the model's own" in reason


def shifted_from(place: int, by: int) -> Callable[..., torch.Tensor]:
    """The engine's forward with positions one off from a place on."""
    right = Engine._hidden

    def shifted(self: Engine, cache: Any, tokens: Any, positions: torch.Tensor, masks: Any) -> torch.Tensor:
        return right(self, cache, tokens, positions + by * (positions >= place), masks)

    return shifted


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("by", "word"), [(1, "large"), (-1, "small")])
def test_positions_are_told_where_no_tolerance_tells_them(by: int, word: str, dtype: str, monkeypatch: Patch) -> None:
    """Some models hear positions so little that the floors of bfloat16 hide an error of one."""
    model = model_in(dtype)
    monkeypatch.setattr(check, "disagreement", lambda *_: None)
    assert not isinstance(ragged_engine(model), str)
    monkeypatch.setattr(Engine, "_hidden", shifted_from(7, by))
    assert ragged_engine(model) == f"its probabilities are those of positions one too {word} from 7 on"


def test_a_start_token_that_is_one_too_far_is_told_by_the_tolerance(monkeypatch: Patch) -> None:
    """Its direction is not looked for: rounding in bfloat16 moves right engines the same way (test_false_refusals)."""
    monkeypatch.setattr(Engine, "_hidden", shifted_from(1, 1))
    assert "differ from the model's own" in str(ragged_engine(model_in("float32")))


def test_a_refused_engine_is_said_with_how_far_off_it_was(monkeypatch: Patch, caplog: pytest.LogCaptureFixture) -> None:
    rows_see_their_padding(monkeypatch)
    assert TransformersBackend(model_in("float32")).settings()["path"] == "generate"
    (said,) = [record for record in caplog.records if "one question at a time" in record.getMessage()]
    assert said.levelname == "WARNING"
    assert re.search(r"differ from the model's own by up to \d\S* nats", said.getMessage())


@pytest.mark.parametrize("wrapped", [False, True])
def test_the_cache_goes_by_the_name_that_the_model_gives_it(wrapped: bool, monkeypatch: Patch) -> None:
    """As from transformers 5.24 on; a wrapper for adapters takes any name and hands it on."""
    model = model_in("float32")
    network, given = model.network, []
    forward = network.forward

    def renamed(cache: Any = None, **others: Any) -> Any:
        given.append(cache)
        return forward(**others, **({} if cache is None else {"past_key_values": cache}))

    monkeypatch.setattr(network, "forward", renamed)
    if wrapped:
        monkeypatch.setattr(network, "get_base_model", lambda: SimpleNamespace(forward=renamed), raising=False)
        monkeypatch.setattr(network, "forward", lambda *args, **others: renamed(*args, **others))
    assert not isinstance(ragged_engine(model), str)
    assert any(isinstance(cache, RaggedCache) for cache in given)


def test_too_few_positions_are_told() -> None:
    model = replace(model_in("float32"), max_positions=16)
    assert ragged_engine(model) == "its 16 positions are too few for the check"


RAGGED = [name for name in CAUSAL_CONFIGS if name not in TAKES_NO_TREE]


class Words:
    """A tokenizer of tiny models: a number for each letter."""

    def __call__(self, text: str, **_: bool) -> dict[str, list[int]]:
        return {"input_ids": [3 + ord(letter) % 90 for letter in text]}


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
@pytest.mark.parametrize("architecture", few_of([*HYBRID_CONFIGS, *RAGGED], ("granite-hybrid", "llama").__contains__))
def test_rows_of_a_family_do_not_see_each_other_or_it_is_refused(architecture: str, dtype: str) -> None:
    network = tiny_causal(architecture).to(getattr(torch, dtype))
    checked = ragged_engine(loaded(network, dtype=dtype, tokenizer=Words()))
    assert isinstance(checked, str) == (architecture in HYBRID_CONFIGS)


@pytest.mark.parametrize("architecture", ["gemma3", "mistral"])
def test_an_engine_that_ignores_windows_is_refused(architecture: str, monkeypatch: Patch) -> None:
    model = loaded(tiny_causal(architecture), dtype="float32", tokenizer=Words())
    assert not isinstance(ragged_engine(model), str)
    windows_are_ignored(monkeypatch)
    assert "differ from the model's own" in str(ragged_engine(model))


def test_a_window_is_left_by_a_quarter_of_it(monkeypatch: Patch) -> None:
    """Behind it by a few tokens only, what a window hides moves a model less than bfloat16 does."""
    monkeypatch.setattr(check, "_window", lambda _: 32)
    (long, *_) = check._rows(Engine(loaded(tiny_causal("mistral"), tokenizer=Words())))
    assert len(long) >= 32 + 32 // 4


def test_a_head_that_fails_with_many_rows_is_refused(monkeypatch: Patch) -> None:
    """A kernel takes another tile for them."""
    right, asked = ScoringHead.logprobs, list[int]()

    def small_tiles(self: ScoringHead, hidden: torch.Tensor, *others: torch.Tensor) -> torch.Tensor:
        asked.append(len(hidden))
        return right(self, hidden, *others) - 0.5 * (len(hidden) > 64)

    monkeypatch.setattr(ScoringHead, "logprobs", small_tiles)
    assert not isinstance(ragged_engine(model_in("float32")), str)
    assert max(asked) <= 64
    monkeypatch.setattr(check, "triton_takes", lambda _: True)
    assert ragged_engine(model_in("float32")) == "its head's log-probabilities are off by up to 0.5 nats"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("architecture", "reason"), [("mpt", "closed sets: "), ("gpt-neo", "the model's own")])
def test_what_measures_by_slots_is_refused(architecture: str, reason: str, dtype: str) -> None:
    """Of MPT only closed sets are wrong, whose replies lie beside each other; of GPT-Neo, rows beside one that leaves
    its window.
    """
    network = tiny_causal(architecture, configs=BY_PLACES).to(getattr(torch, dtype))
    assert reason in str(ragged_engine(loaded(network, dtype=dtype, tokenizer=Words())))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", few_of(["olmoe", "qwen3_moe", "mixtral"], lambda name: name == "qwen3_moe"))
def test_experts_are_no_fault(name: str, dtype: str) -> None:
    model = loaded(tiny_named(name).to(getattr(torch, dtype)), dtype=dtype, tokenizer=Words())
    assert not isinstance(ragged_engine(model), str)


def replies_see_each_other(patch: Patch) -> None:
    right = Engine._tree_masks

    def all_seen(self: Engine, kept: Any, longest: int, positions: Any, depths: Any, above: torch.Tensor) -> Any:
        return right(self, kept, longest, positions, depths, torch.ones_like(above).tril())

    patch.setattr(Engine, "_tree_masks", all_seen)


def replies_see_each_other_by_a_hair(patch: Patch) -> None:
    right = Engine._tree_masks
    patch.setattr(Engine, "_tree_masks", lambda *given: right(*given).clamp(min=-4.0))


def replies_are_nearer_than_they_are(patch: Patch) -> None:
    right = Engine._hidden

    def shifted(self: Engine, cache: Any, tokens: Any, positions: torch.Tensor, masks: Any) -> torch.Tensor:
        is_tree = positions.shape[1] > 1 and (positions.diff(dim=1) < 0).any()
        return right(self, cache, tokens, positions // 2 if is_tree else positions, masks)

    patch.setattr(Engine, "_hidden", shifted)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "error", [replies_see_each_other, replies_see_each_other_by_a_hair, replies_are_nearer_than_they_are]
)
def test_closed_sets_with_an_error_are_refused(error: Callable[[Patch], None], dtype: str, monkeypatch: Patch) -> None:
    error(monkeypatch)
    assert str(ragged_engine(model_in(dtype))).startswith("closed sets: ")


@pytest.mark.parametrize("dtype", DTYPES)
def test_keys_of_an_earlier_wave_that_are_seen_by_a_hair_are_found_without_tolerance(
    dtype: str, monkeypatch: Patch
) -> None:
    right = Engine._additive

    def thin(self: Engine, seen: torch.Tensor) -> torch.Tensor:
        return right(self, seen).clamp(min=-4.0)  # a weight of some thousandths for what is not to be seen

    model = model_in(dtype)
    for other_check in ("_disagreement", "_wrong_replies"):
        monkeypatch.setattr(check, other_check, lambda *_: None)
    assert not isinstance(ragged_engine(model), str)
    monkeypatch.setattr(Engine, "_additive", thin)
    assert "with the tokens of others" in str(ragged_engine(model))


def test_a_head_whose_kernel_fails_is_left_to_torch(monkeypatch: Patch, caplog: pytest.LogCaptureFixture) -> None:
    def no_compiler(*_: Any) -> Any:
        raise RuntimeError("Failed to find C compiler. Please specify via CC")

    monkeypatch.setattr("calprobe.scoring.path_choice.triton_takes", lambda array: True)  # as on a card
    monkeypatch.setattr("calprobe.models.head.linear_logprob", no_compiler)
    found = ragged_engine(replace(model_in("float32"), fused=False))
    assert not isinstance(found, str)
    head = found.engine.head
    assert head is not None
    assert not head.by_kernel
    (said,) = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert "torch computes the head in the place of a kernel (RuntimeError: Failed to find C compiler" in said


def test_a_head_whose_kernel_is_wrong_is_left_to_torch(monkeypatch: Patch) -> None:
    def off_by_a_little(*given: Any) -> Any:
        lse, logprobs = linear_logprob(*given)
        return lse, logprobs - 0.1

    monkeypatch.setattr("calprobe.scoring.path_choice.triton_takes", lambda array: True)
    monkeypatch.setattr("calprobe.models.head.linear_logprob", off_by_a_little)
    found = ragged_engine(replace(model_in("float32"), fused=False))
    assert not isinstance(found, str)
    assert found.engine.head is not None
    assert not found.engine.head.by_kernel


def test_probabilities_of_many_words_are_exact() -> None:
    logits = 3 * torch.randn(2, 2**18, generator=torch.Generator().manual_seed(0))
    logits[:, 5] += 8
    torch.testing.assert_close(log_softmax(logits).double(), logits.double().log_softmax(1), rtol=0, atol=5e-6)
