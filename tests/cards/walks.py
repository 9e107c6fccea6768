"""Runs the product's own functions on networks whose weights are on cards that are not there, and counts what they do.

As a program, `python walks.py FOLDER NAME ..` prints the numbers of `known_work` and of these walks, each as a
line of JSON; FOLDER keeps the device guard.
"""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import torch
import transformers
from fake_cards import Work, fake_cards, load_guard
from tiny_backends import LETTERS, POSITIONS, TEMPLATE, VOCABULARY, dialogue
from tiny_models import (
    _SIZE,
    CAUSAL_CONFIGS,
    EXPERTS,
    HYBRID_CONFIGS,
    MASKED_CONFIGS,
    TAKES_NO_TREE,
    VOCAB,
    loaded,
    tiny_masked,
    tiny_masked_tokenizer,
    tiny_tokenizer,
)
from torch import nn
from torch.utils._python_dispatch import _disable_current_modes
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForMaskedLM

from calprobe.answers import closed_replies
from calprobe.backends import Decoding, FollowUp, Pending
from calprobe.backends.local import TransformersBackend
from calprobe.backends.local import local_backend as backend_module
from calprobe.backends.local.check import RightEngine
from calprobe.backends.local.ragged_engine import Engine, NotRagged
from calprobe.kernels import rms_norm
from calprobe.kernels.linear_logprob import _gives_float32
from calprobe.models import LoadedModel, fused_rotary, head
from calprobe.models.flat_attention import AttentionUnusable
from calprobe.planning.token_rows import TokenRows
from calprobe.scoring.options import Masking
from calprobe.scoring.path_choice import executor_of, what_failed

DTYPE = torch.bfloat16
N_STATEMENTS, BUDGET = 10, 40
N_MASKED, MASKED_BUDGET = 4, 512
N_DIALOGUES, N_JOINING = 6, 400  # the latter more than a wave has
_CLOSED = FollowUp("stated", "How sure?", Decoding(3), closed=closed_replies("x/10"))
_FOLLOW_UPS = (
    FollowUp("final", "\nAnswer:", Decoding(2), continues=True, labels=LETTERS),
    FollowUp("sure", "How sure?", Decoding(3)),
)
_USUAL = {"labels": LETTERS, "decoding": Decoding(2)}
# The paths that ask: in what their dialogues, in turn, are others than two tokens with probabilities of letters.
ASKED: dict[str, tuple[dict[str, Any], ...]] = {
    "ask": ({},),
    "generate": ({},),  # by transformers' own `generate`, one at a time
    "draw": ({"decoding": Decoding(2, temperature=1)}, {"decoding": Decoding(2, temperature=1, top_p=0.9)}),
    "join": tuple({"decoding": Decoding(n)} for n in range(2, 7)),
    "follow": ({"follow_ups": _FOLLOW_UPS},),
    "closed": ({"follow_ups": (_CLOSED,)},),
    "words": ({"labels": ("New York", "Rome")},),  # of several tokens each
    "alternatives": ({"alternatives": 5},),
}
_BYTES_OF_TOKEN = 256  # of a tiny model's keys and values
HYBRIDS = TAKES_NO_TREE | HYBRID_CONFIGS.keys()
# Families beside those of `tiny_models`, by their names in transformers, with what their tiny sizes need.
_MORE: dict[str, dict[str, Any]] = {
    "apertus": {},
    "arcee": {},
    "cohere2": {"sliding_window": 16},
    "ernie4_5": {"head_dim": 8},
    "exaone4": {"sliding_window": 16, "sliding_window_pattern": 2},
    "glm": {"head_dim": 8},
    "glm4": {"head_dim": 8},
    "gpt_oss": {"head_dim": 8, "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 16},
    "granitemoe": {"num_local_experts": 4},
    "helium": {"head_dim": 8},
    "ministral": {"head_dim": 8},
    "mixtral": {"num_local_experts": 4},
    "olmo": {},
    "olmoe": EXPERTS,
    "qwen3_moe": {**EXPERTS, "head_dim": 8},
    "smollm3": {},
}
FAMILIES = (*CAUSAL_CONFIGS, *(name for name in HYBRID_CONFIGS if name not in CAUSAL_CONFIGS), *_MORE, *MASKED_CONFIGS)
_ONE_GROUP = {"albert"}  # of layers that are one, so that there is nothing to spread
# Files of transformers that multiply float32 by bfloat16, which torch refuses: neither does their own forward run.
_IN_FLOAT32 = {"deberta"}
_OF_ALL_KINDS = "llama"  # the family that is asked in all ways
_MANY_TOKENS = 128_256  # of its vocabulary then: on a CPU, noise for two rows of it is computed at once
QUICK = ("llama flat 1", *(f"{_OF_ALL_KINDS} {path} 1" for path in ASKED if path != "generate"), "bert masked 1")
_FIRST = torch.device("cuda", 0)
_RULE_OF = fused_rotary._rule_of


class Walk(NamedTuple):
    """One run: a family along a path, on one card or two."""

    family: str
    path: str  # of scoring or of `ASKED`
    n_cards: int

    @property
    def name(self) -> str:
        """Such as `llama flat 1`."""
        return f"{self.family} {self.path} {self.n_cards}"


def walks() -> list[Walk]:
    """Of all families: each path on one card, and on two where their layers can be spread."""
    return [
        Walk(family, path, n_cards)
        for family in FAMILIES
        for n_cards in ((1,) if family in _ONE_GROUP else (1, 2))
        for path in _paths(family)
    ]


def _paths(family: str) -> tuple[str, ...]:
    if family in MASKED_CONFIGS:
        return ("masked",)
    if family == _OF_ALL_KINDS:
        return ("flat", "tree", "padded", *ASKED)
    return ("padded", "generate") if family in HYBRIDS else ("flat", "tree", "padded", "ask")


def walk(name: Walk) -> dict[str, Any]:
    """What the run does: its numbers and where it waits for the card, or why the path refuses the family."""
    twin = _twin(name.family, name.path)
    _gives_float32.cache_clear()  # what is looked at once a process must not depend on earlier walks
    with _as_real(twin), fake_cards(name.n_cards) as work:
        model = _on_cards(twin, name.n_cards)
        try:
            batches = (_asked if name.path in ASKED else _scored)(model, name.path, work)
        except (AttentionUnusable, head.HeadUnusable, NotRagged, TypeError) as error:
            return {"refused": what_failed(error)}
        except RuntimeError as error:
            if name.family not in _IN_FLOAT32:
                raise
            return {"refused": what_failed(error)}
        return {"batches": batches, **work.numbers(), "where": dict(work.places)}


def known_work() -> dict[str, Any]:
    """Numbers of work that can be counted by hand."""
    with torch.inference_mode(), fake_cards() as work:
        buffer = torch.empty(4, pin_memory=True)
        array = buffer.to(_FIRST, non_blocking=True)  # an upload
        other = torch.tensor([1.0, 2.0, 3.0, 4.0], device=_FIRST)  # one that the host waits for
        total = (array + other).view(2, 2) @ array.view(2, 2)  # two launches, views are none
        total[[1, 0]]  # a waiting upload and a launch
        total[total > 0]  # two launches and a wait
        total.to("cuda:1")  # a move
        total.sum().item()  # a launch and a wait
        rms_norm(total, array[:2], 1e-6)  # a launch of a kernel, whose width is compiled in
        rms_norm(total, array[:2], 1e-6)
        rms_norm(total.view(1, 4), array, 1e-6)
        return {**work.numbers(), "where": dict(work.places)}


def _twin(family: str, path: str) -> LoadedModel:
    """The family's tiny model on the CPU."""
    if family in MASKED_CONFIGS:
        return loaded(tiny_masked(family), kind="masked", tokenizer=tiny_masked_tokenizer())
    if family in _MORE:
        config = AutoConfig.for_model(family, **_SIZE, **_MORE[family])
    else:
        config = copy.deepcopy((CAUSAL_CONFIGS | HYBRID_CONFIGS)[family])
    if path not in ASKED:
        return loaded(AutoModelForCausalLM.from_config(config).eval())
    config.vocab_size, config.eos_token_id = _MANY_TOKENS if path == "draw" else VOCABULARY, 2
    for name in ("max_position_embeddings", "max_seq_len"):
        if hasattr(config, name):
            setattr(config, name, POSITIONS)
    tokenizer = tiny_tokenizer()
    tokenizer.chat_template = TEMPLATE
    network = AutoModelForCausalLM.from_config(config).eval()
    return loaded(network, tokenizer=tokenizer, max_positions=POSITIONS, embedding_rows=config.vocab_size)


@contextmanager
def _as_real(twin: LoadedModel) -> Iterator[None]:
    """What looks at values looks at those of the model on the CPU: the head's rule, and those of rotary positions."""
    try:
        rule = head.scoring_head(twin.network, twin.device).rule
        response: tuple[float, float | None] | None = (rule.scale, rule.softcap)
    except head.HeadUnusable:
        response = None

    def measured(network: nn.Module, device: torch.device) -> tuple[float, float | None]:
        if response is None:
            raise head.HeadUnusable("its logits are none of a linear head")
        return response

    def rule_of(*given: Any) -> Any:
        with _disable_current_modes(), patch.object(fused_rotary, "_rule_of", _RULE_OF):
            return _RULE_OF(*given)

    with patch.object(head, "_response", measured), patch.object(fused_rotary, "_rule_of", rule_of):
        yield


def _on_cards(twin: LoadedModel, n_cards: int) -> LoadedModel:
    """The twin's architecture on fake cards."""
    config = copy.deepcopy(twin.network.config)  # type: ignore[arg-type]
    factory = AutoModelForMaskedLM if twin.kind == "masked" else AutoModelForCausalLM
    with _disable_current_modes(), torch.device("meta"):
        network = factory.from_config(config, dtype=DTYPE).eval()
    parts = _parts(network, n_cards)
    for module_name, module in network.named_modules():
        _place(module, next((card for part, card in parts.items() if _is_in(module_name, part)), _FIRST))
    network.tie_weights()
    if n_cards > 1:
        _dispatch(network, parts)
    return replace(twin, network=network, dtype=str(DTYPE).removeprefix("torch."), device=_FIRST, fused=True)


def _parts(network: nn.Module, n_cards: int) -> dict[str, torch.device]:
    """The card of each layer and of what is beside them, by name: the second half of the layers is on the last card."""
    layers, among = max(
        ((name, module) for name, module in network.named_modules() if isinstance(module, nn.ModuleList)),
        key=lambda named: len(named[1]),
    )
    parts: dict[str, torch.device] = {}

    def add(name: str, module: nn.Module) -> None:
        for child, inner in module.named_children():
            full = f"{name}.{child}" if name else child
            if _is_in(layers, full):
                add(full, inner)
            else:
                is_late = name == layers and 2 * int(child) >= len(among)
                parts[full] = torch.device("cuda", n_cards - 1 if is_late else 0)

    add("", network)
    return parts


def _is_in(name: str, part: str) -> bool:
    return name == part or name.startswith(f"{part}.")


def _place(module: nn.Module, card: torch.device) -> None:
    """Arrays without data on the card for the module's own parameters and buffers."""
    for kind in (module._parameters, module._buffers):
        for key, array in kind.items():
            if array is None:
                continue
            empty = torch.empty(array.shape, dtype=array.dtype, device=card)
            kind[key] = nn.Parameter(empty, requires_grad=False) if kind is module._parameters else empty


def _dispatch(network: nn.Module, parts: dict[str, torch.device]) -> None:
    """Spread over cards as `--device-map auto` does it."""
    from accelerate import big_modeling, dispatch_model

    with patch.object(big_modeling, "find_tied_parameters", lambda _: []):  # fake arrays all have one address
        dispatch_model(network, {name: str(card) for name, card in parts.items()}, main_device=str(_FIRST))


def _scored(model: LoadedModel, path: Any, work: Work) -> int:
    """Score statements; the number of batches."""
    is_masked = model.kind == "masked"
    executor = executor_of(
        path,
        model,
        MASKED_BUDGET if is_masked else BUDGET,
        masking=Masking("original") if is_masked else Masking(),
    )
    plan = executor.plan(_rows(N_MASKED if is_masked else N_STATEMENTS))
    work.clear()
    executor.run(plan).of_tokens()
    return int(plan.n_batches)


def _rows(n_statements: int) -> TokenRows:
    """Statements that share beginnings, as those of a probe do."""
    rng = np.random.default_rng(5)
    stems = [rng.integers(3, VOCAB, length) for length in (2, 4, 7, 9)]
    ids = [np.append(stems[k % 4], rng.integers(3, VOCAB, rng.integers(1, 11))) for k in range(n_statements)]
    tokens = np.concatenate(ids).astype(np.int32)
    return TokenRows(tokens, np.zeros(len(tokens), np.int8), np.cumsum([0, *map(len, ids)], dtype=np.int64))


def _asked(model: LoadedModel, path: str, work: Work) -> int:
    """Ask dialogues of the path; their number."""
    engine = "its rows would see each other" if path == "generate" else RightEngine(Engine(model), _BYTES_OF_TOKEN)
    with patch.object(backend_module, "ragged_engine", lambda model: engine):  # the check compares values
        backend = TransformersBackend(model)
    count = N_JOINING if path == "join" else N_DIALOGUES
    dialogues = [
        dialogue(f"Which of these is number {place}? A, B, C or D.", str(place), **(_USUAL | changes))
        for place, changes in zip(range(count), cycle(ASKED[path]), strict=False)
    ]
    work.clear()
    replies = list(backend.replies(Pending(each) for each in dialogues))
    assert len(replies) == sum(1 + len(each.follow_ups) for each in dialogues)
    return count


if __name__ == "__main__":
    load_guard(Path(sys.argv[1]))
    transformers.logging.set_verbosity_error()
    print(json.dumps({"known work": known_work()}))
    for one in walks():
        if one.name in sys.argv[2:]:
            print(json.dumps({one.name: walk(one)}), flush=True)
