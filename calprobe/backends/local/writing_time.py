"""How long a card takes to write replies here and in vLLM: estimated from its memory's speed, before the first token.

A step writes a token in each row. It reads all weights, and the keys and values of the rows:

    step = max((weights + rows * slots * bytes of a token) / speed of the memory, layers * time to launch a layer)

A model that is asked one question at a time writes in one row here. vLLM launches a step at once, so that for it the
first holds; it takes time to start, and holds twice as many rows in the same memory. Cards that share a model work in
turn here, so that the first holds for one card's speed; in vLLM they share each layer, and read at once. What these
cards then send each other is left out.

The figures below are assumed: none was compared with a measured run of both.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import torch

from calprobe.backends.local.limits import Limits
from calprobe.models import LoadedModel

_SHARE_OF_SPEED = 0.8  # of the memory's nominal speed, which kernels that only read come to
# A layer of transformers, launched kernel by kernel. A step of 32 layers took 70 ms on an H200 (bench/README.md, "On a
# GPU"), 51 of them for copies that are made no more; 19 are 0.6 a layer. The step without copies was not measured.
_LAUNCHED_S = 0.7e-3
_SLOTS = 400  # of a row: a prompt of three hundred tokens, and half of a reply
_SHARES_HERE, _SHARES_THERE = 0.5, 0.9  # of the memory beside the weights, for keys and values
_START_S = 75.0  # vLLM compiles and measures
_WORTH, _WORTH_S = 0.8, 60.0  # said only where vLLM takes at most this share of the time, and saves so many seconds


@dataclass(frozen=True, slots=True)
class Writer:
    """A model on a card, or on several, as far as the time of a step depends on it."""

    weight_bytes: int
    n_layers: int
    speed: float  # of a card's memory, bytes a second
    limits: Limits
    n_cards: int = 1
    alone: bool = False  # here one reply at a time, through transformers' `generate`

    @classmethod
    def of(cls, model: LoadedModel, limits: Limits | None) -> Writer | None:
        """Limits are those of rows that are written together; None: each is written alone.

        None where a part of the model is on no card, its cards cannot share its heads, its configuration does not name
        its sizes, or torch does not tell the speed of the first card's memory.
        """
        try:
            return cls._of(model, limits or Limits.of(model, _bytes_of_token(model)), alone=limits is None)
        except (AttributeError, RuntimeError):  # of configurations of any kind, for no more than a hint
            return None

    @classmethod
    def _of(cls, model: LoadedModel, limits: Limits, alone: bool) -> Writer | None:
        config: Any = model.network.config.get_text_config()  # type: ignore[operator,union-attr]
        devices = {parameter.device for parameter in model.network.parameters()}
        is_spread = len(devices) > 1
        if model.device.type != "cuda" or (is_spread and {device.type for device in devices} != {"cuda"}):
            return None
        if is_spread:
            n_heads = config.num_attention_heads  # a list in models whose layers differ
            if not isinstance(n_heads, int) or n_heads % len(devices):
                return None
        card: Any = torch.cuda.get_device_properties(model.device)
        clock_khz, width_bits = getattr(card, "memory_clock_rate", 0), getattr(card, "memory_bus_width", 0)
        if not clock_khz or not width_bits:
            return None
        weights = sum(parameter.nbytes for parameter in model.network.parameters())
        # Both edges of the clock carry data.
        speed = 2e3 * clock_khz * width_bits / 8
        return cls(weights, config.num_hidden_layers, speed, limits, len(devices), alone)

    def seconds_here(self, n_tokens: int) -> float:
        """To write so many tokens with `--backend transformers`."""
        rows = 1 if self.alone else self._rows(_SHARES_HERE * self.limits.room)
        return n_tokens / rows * max(self._read_s(rows), self.n_layers * _LAUNCHED_S)

    def seconds_in_vllm(self, n_tokens: int) -> float:
        """To write as many with vLLM, its start included."""
        rows = self._rows(_SHARES_THERE * self.limits.room * self.n_cards)
        return _START_S + n_tokens / rows * self._read_s(rows) / self.n_cards

    def _rows(self, room: float) -> int:
        in_memory = int(room) // max(1, _SLOTS * self.limits.bytes_of_token)
        return max(1, min(self.limits.rows, in_memory))

    def _read_s(self, rows: int) -> float:
        read = self.weight_bytes + rows * _SLOTS * self.limits.bytes_of_token
        return read / (_SHARE_OF_SPEED * self.speed)


def _bytes_of_token(model: LoadedModel) -> int:
    """Of its keys and values, as if all layers had them; 0 without heads of attention (Mamba, RWKV)."""
    config: Any = model.network.config.get_text_config()  # type: ignore[operator,union-attr]
    heads = getattr(config, "num_attention_heads", None)
    if not isinstance(heads, int):
        return 0
    shared = getattr(config, "num_key_value_heads", None) or heads
    width = getattr(config, "head_dim", None) or config.hidden_size // heads
    return int(2 * config.num_hidden_layers * shared * width * getattr(torch, model.dtype).itemsize)


def faster_in_vllm(writer: Writer, n_tokens: int) -> str | None:
    """What to say where vLLM would write so many tokens in clearly less time; None where it would not."""
    local_s, vllm_s = writer.seconds_here(n_tokens), writer.seconds_in_vllm(n_tokens)
    if vllm_s > _WORTH * local_s or local_s - vllm_s < _WORTH_S:
        return None
    install = "" if find_spec("vllm") else ' (pip install "calprobe[vllm]")'
    known = ", if it knows the architecture" if writer.alone else ""
    shared = f" --backend-option tensor-parallel={writer.n_cards}" if writer.n_cards > 1 else ""
    return (
        f"up to {_tokens(n_tokens)} tokens to write: about {_minutes(local_s)} min here, {_minutes(vllm_s)} with"
        f" --backend vllm{shared}{install}{known}; its replies are another run"
    )


def _tokens(count: int) -> str:
    return f"{count / 1e6:.1f} M" if count >= 1e6 else f"{count:,}"


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f}" if seconds >= 600 else f"{seconds / 60:.2g}"
