"""The scoring head: the model's output embedding taken apart, so that logits are computed only where they are wanted.

The model runs with a stand-in at the place of its output embedding, which keeps the hidden states that reach it. What
the model does to its logits afterwards (Gemma 2 soft-caps, Cohere multiplies, Granite divides) is not looked up by name
but measured: chosen numbers go in where the logits would, and what comes out tells scale and cap.

A masked model transforms its hidden states (dense, activation, norm) before the output embedding. It wants one place of
a row only, so the states of that place alone are let through from its encoder to the rest of its own forward.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from calprobe.kernels import LogitRule, linear_logprob, linear_logprob_reference
from calprobe.models.activations import fast_activations
from calprobe.models.forwards import has_own_forward, moves_inputs_alone, other_forwards
from calprobe.models.linears import fast_linears
from calprobe.models.loaded_model import Products
from calprobe.models.torch_settings import exact_torch


class HeadUnusable(Exception):
    """The output embedding cannot be taken apart; the message says why. The plain path scores such a model."""


@dataclass(frozen=True, slots=True)
class ScoringHead:
    """What turns hidden states into logits."""

    weight: Tensor  # [vocab, dim], padded rows of the vocabulary included
    rule: LogitRule  # bias, scale and soft-cap
    precision: Products = "ieee"  # of its float32 products on a card, by the kernel
    by_kernel: bool = True  # on a card; else by torch, as on a CPU

    @property
    def scores_on(self) -> torch.device:
        """Where log-probabilities go: they stay where they are made, unless no kernel can sum them there."""
        return self.weight.device if self.by_kernel else torch.device("cpu")

    def logprobs(self, hidden: Tensor, targets: Tensor, target_offsets: Tensor) -> Tensor:
        """Log-probabilities [targets] float32 of the targets behind each row of `hidden` [rows, dim], in nats, <= 0.

        As `calprobe.kernels.linear_logprob`, which says more.
        """
        compute = linear_logprob if self.by_kernel else linear_logprob_reference
        logprobs: Tensor = compute(hidden, self.weight, targets, target_offsets, self.rule, self.precision)[1]
        return logprobs


def scoring_head(
    network: nn.Module, device: torch.device, precision: Products = "ieee", by_kernel: bool = True
) -> ScoringHead:
    """Find the output embedding of a model and what happens to logits after it; the others say how it computes.

    Raises HeadUnusable if there is none, if it is more than a plain linear layer (adapter, quantised, offloaded or
    hooked) or no embedding of the vocabulary, or if the model changes its logits in a way that scale and soft-cap do
    not describe.
    """
    head = _plain_linear(network)
    scale, softcap = _response(network, device)
    return ScoringHead(head.weight, LogitRule(head.bias, scale, softcap), precision, by_kernel)


@contextmanager
def hidden_states(network: nn.Module, fast: bool = True, once: bool = False) -> Iterator[Keeper]:
    """The network without its head: after a forward pass the value's `hidden` is what the head would have received.

    One block may hold many passes; `once` says that it holds one. Activations go through `fast_activations`; `fast`
    lets linear layers go through `fast_linears` too, which does not pay for a few dozen rows.
    """
    keeper = Keeper()
    with _replaced(network, keeper), fast_activations(network), fast_linears(network, once) if fast else nullcontext():
        yield keeper


@contextmanager
def own_hidden_states(network: nn.Module) -> Iterator[Keeper]:
    """As `hidden_states`, with every layer as it is: what faster ones are compared with."""
    keeper = Keeper()
    with _replaced(network, keeper):
        yield keeper


@contextmanager
def hidden_states_at(network: Any, places: Tensor) -> Iterator[Keeper]:
    """As `hidden_states`, for a masked model and one place of each row: `hidden` is [rows, 1, dim].

    Args:
        network: its encoder (`base_model`) must be a module of its own, and its head must transform the last states
            place by place.
        places: the wanted place in each row of the batch, [rows] int64; no row has padding.
    Raises:
        HeadUnusable: there is no such encoder, or its states are not what the output embedding is reached by.
    """
    encoder = network.base_model
    if encoder is network:
        raise HeadUnusable("its encoder is no module apart from its head")

    def wanted(states: Tensor) -> Tensor:
        rows = torch.arange(len(places), device=states.device)
        return states[rows, places.to(states.device)][:, None]

    def wanted_output(module: nn.Module, given: Any, output: Any) -> Any:
        states = wanted(output[0])
        if isinstance(output, tuple):
            return (states, *output[1:])
        output.last_hidden_state = states
        return output

    attention = _last_attention(encoder)
    with ExitStack() as stack:
        if attention is None:
            stack.callback(encoder.register_forward_hook(wanted_output).remove)
        else:
            stack.enter_context(_last_attention_at(attention, wanted))
        kept = stack.enter_context(hidden_states(network, once=True))
        yield kept
    if kept.hidden.shape[:-1] != (len(places), 1):
        raise HeadUnusable("its output embedding is reached by more than its encoder's last states")


# Encoders of BERT's structure: behind the attention of the last layer, nothing mixes places.
_LIKE_BERT = frozenset({"bert", "camembert", "electra", "roberta", "xlm-roberta"})


def _last_attention(encoder: Any) -> Any:
    """The last layer's attention with the module behind it, that takes up residuals; None for another structure."""
    return encoder.encoder.layer[-1].attention if encoder.config.model_type in _LIKE_BERT else None


@contextmanager
def _last_attention_at(attention: Any, wanted: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """The last layer for the wanted place of each row alone: all places are keys and values, one is a query."""
    mixing, one_query = attention.self, _has_plain_queries(attention.self)

    def attend(states: Tensor, *_: Any, **__: Any) -> tuple[Tensor, None]:
        places = (mixing.query(wanted(states)), mixing.key(states), mixing.value(states))
        heads = (part.unflatten(-1, (mixing.num_attention_heads, -1)).transpose(1, 2) for part in places)
        # Rows of a batch have one length: no place is masked from another.
        return F.scaled_dot_product_attention(*heads).transpose(1, 2).flatten(2), None

    def wanted_inputs(module: nn.Module, given: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        mixed, residual = given
        return mixed if one_query else wanted(mixed), wanted(residual)

    hook = attention.output.register_forward_pre_hook(wanted_inputs)
    try:
        with other_forwards([(mixing, attend)] if one_query else []):
            yield
    finally:
        hook.remove()


def _has_plain_queries(mixing: Any) -> bool:
    """Whether the module is softmax attention over its three projections, and nobody has replaced a part of it."""
    absolute = getattr(mixing, "position_embedding_type", None) in (None, "absolute")
    causal = mixing.is_decoder or getattr(mixing, "is_causal", False)
    return absolute and not causal and not has_own_forward(mixing)


def _plain_linear(network: Any) -> nn.Linear:
    head = network.get_output_embeddings()
    if head is None:
        raise HeadUnusable("the model has no output embedding")
    # Subclasses of Linear (adapters, quantised layers) compute something else than weight and bias say.
    if type(head) is not nn.Linear:
        raise HeadUnusable(f"its output embedding is a {type(head).__name__}, not a plain linear layer")
    if head._forward_hooks or head._forward_pre_hooks or _is_hooked(head):
        raise HeadUnusable("its output embedding is hooked or offloaded")
    if head.weight.device.type == "meta":
        raise HeadUnusable("its output embedding is offloaded")
    # DeBERTa's second head multiplies by the input embedding itself and names a layer before it.
    if len(head.weight) < getattr(network.config.get_text_config(), "vocab_size", 0):
        raise HeadUnusable("its output embedding is smaller than its vocabulary")
    return head


def _is_hooked(head: nn.Module) -> bool:
    """Whether accelerate does more to the layer than move its input: with a device map, it does that to every layer."""
    return getattr(head, "_hf_hook", None) is not None and not moves_inputs_alone(head)


class Keeper(nn.Module):
    """Stands in for the output embedding: keeps what reaches it, hands one column on so that forward can end."""

    hidden: Tensor
    weight: Tensor

    def taken(self) -> Tensor:
        """`hidden` of the last forward pass, which is not kept: the next pass may use its memory."""
        hidden = self.hidden
        del self.hidden
        return hidden

    def forward(self, hidden: Tensor) -> Tensor:
        self.hidden = hidden.to(self.weight.device)  # with a device map the layer before may be elsewhere
        return hidden[..., :1]


class _Constant(nn.Module):
    """Stands in for the output embedding: gives the same logits whatever comes in."""

    def __init__(self, logits: Tensor) -> None:
        super().__init__()
        self.logits = logits

    def forward(self, hidden: Tensor) -> Tensor:
        return self.logits.expand(*hidden.shape[:-1], -1)


@contextmanager
def _replaced(network: Any, stand_in: nn.Module) -> Iterator[None]:
    head = network.get_output_embeddings()
    # Some models look at the weight's dtype (Mamba), some take the bias out of what they are given (BERT).
    stand_in.weight, stand_in.bias = head.weight, head.bias
    network.set_output_embeddings(stand_in)
    try:
        if network.get_output_embeddings() is not stand_in:
            raise HeadUnusable("its output embedding cannot be replaced")
        yield
    finally:
        network.set_output_embeddings(head)


# Small enough that a cap bends the value by less than float32 shows, large enough to saturate any cap.
_SMALL, _LARGE = 2.0**-10, 2.0**20
_BETWEEN = (-50.0, -3.0, 0.0, 1.0, 7.0, 40.0)


@torch.inference_mode()
@exact_torch()
def _response(network: nn.Module, device: torch.device) -> tuple[float, float | None]:
    """Scale and soft-cap that the model applies to its logits, measured on numbers that go in as logits."""
    given = torch.tensor([_SMALL, _LARGE, *_BETWEEN], dtype=torch.float32, device=device)
    token = torch.zeros((1, 1), dtype=torch.long, device=device)
    with _replaced(network, _Constant(given)):
        logits = network(input_ids=token, attention_mask=torch.ones_like(token)).logits
    found = logits[0, 0].double().cpu()
    scale = float(found[0]) / _SMALL
    saturated = float(found[1])
    softcap = None if saturated > 0.5 * scale * _LARGE else saturated
    values = given.double().cpu() * scale
    expected = values if softcap is None else softcap * torch.tanh(values / softcap)
    if scale <= 0 or found.shape != expected.shape or not torch.allclose(found, expected, rtol=1e-5, atol=1e-6):
        raise HeadUnusable("the model changes its logits in a way that is neither a factor nor a soft-cap")
    return scale, softcap
