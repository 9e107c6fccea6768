"""The default number of tokens in one forward pass: its arithmetic, and budgets stored on disk.

This module does not run the model; `fit.py` does.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from calprobe.folders import cache_root
from calprobe.models import LoadedModel
from calprobe.models.memory import free_bytes, total_bytes
from calprobe.runs import atomic
from calprobe.scoring.device import device_name
from calprobe.scoring.options import Path as ScoringPath

log = logging.getLogger(__name__)

_CPU_TOKENS = 1024  # enough for fast matrix products; larger batches are slower
# A head over a large vocabulary is faster with many rows at once.
_CPU_MASKED_TOKENS = 4096
_GPU_TOKENS = 32768
_LEAST_TOKENS = 64
_CPU_LOGITS_BYTES = 2**29
_GPU_FREE_SHARE = 0.25  # of the free memory, for logits and their float32 copies; the rest is for activations
_SHARE = 0.8  # of the free memory, for a measured pass; the rest is for fragmentation


def auto_batch_tokens(model: LoadedModel, path: ScoringPath | None = None, longest: int = 0) -> int:
    """A token budget with logits that fit: at most 0.5 GiB on a CPU, a quarter of the free memory on a GPU.

    The masked path keeps no logits, so the vocabulary sets no limit there. A path of None is not chosen yet. On a CPU
    the budget is the fastest one, or a smaller one if free memory is low. The `longest` statement must always fit: the
    budget is at least its tokens plus a quarter, so that a long context has room for its other completions.
    """
    return with_room_for(_fitting_tokens(model, path), longest)


def with_room_for(batch_tokens: int, longest: int) -> int:
    """The budget, or a quarter more than the longest statement's tokens if that is more.

    >>> with_room_for(1024, 100), with_room_for(1024, 2000)
    (1024, 2500)
    """
    return max(batch_tokens, longest + longest // 4)


def usual_batch_tokens(model: LoadedModel, path: ScoringPath | None = None, longest: int = 0) -> int:
    """The budget without memory limits: the fastest on a CPU, the maximum on a GPU.

    It depends only on the model, the path and the kind of device, so it is the same on every machine.
    """
    return with_room_for(_fast_tokens(model, path), longest)


def _fast_tokens(model: LoadedModel, path: ScoringPath | None) -> int:
    if model.device.type != "cpu":
        return _GPU_TOKENS
    if path == "masked":
        return _CPU_MASKED_TOKENS
    return max(_LEAST_TOKENS, min(_CPU_TOKENS, _CPU_LOGITS_BYTES // (vocabulary_size(model) * 4)))


def _fitting_tokens(model: LoadedModel, path: ScoringPath | None) -> int:
    most, free = _fast_tokens(model, path), free_bytes(model.device)
    if model.device.type == "cpu":
        most = min(most, int(free * _SHARE) // cpu_bytes_per_token(model, path))
    elif path != "masked":
        most = min(most, int(free * _GPU_FREE_SHARE) // (vocabulary_size(model) * 4))
    return max(_LEAST_TOKENS, most)


@dataclass(frozen=True, slots=True)
class PassSize:
    """A forward pass and its peak memory."""

    n_tokens: int  # forwarded at once
    n_bytes: int  # allocated during the pass


def budget_that_fits(small: PassSize, large: PassSize, free: int) -> int:
    """The budget that takes 0.8 of the free memory, rounded down to a power of two from 64 to 32,768 tokens.

    Memory is modelled as a linear function of tokens, through two passes with rows of equal width, so that quadratic
    parts (masks, attention) are proportional to the number of rows. If the slope or the value at zero is negative
    (buffers of constant size, rounding), the line goes from zero through the larger pass.

    The budget is a power of two, so that small changes in free memory do not change it.

    Args:
        small: a pass of some tokens.
        large: a pass of more tokens.
        free: bytes of the device, now.
    Raises:
        ValueError: `large` has no more tokens than `small`.

    >>> budget_that_fits(PassSize(1000, 30_000_000), PassSize(4000, 90_000_000), 512_500_000)  # 10 MB + 20 kB per token
    16384
    """
    if large.n_tokens <= small.n_tokens:
        raise ValueError(f"large must have more tokens than small, got {large.n_tokens} and {small.n_tokens}")
    slope = (large.n_bytes - small.n_bytes) / (large.n_tokens - small.n_tokens)
    fixed = large.n_bytes - slope * large.n_tokens
    if slope <= 0 or fixed < 0:
        slope, fixed = large.n_bytes / large.n_tokens, 0.0
    room = free * _SHARE - fixed
    tokens = _GPU_TOKENS if slope <= 0 else int(min(_GPU_TOKENS, room / slope))
    return 1 << (max(_LEAST_TOKENS, tokens).bit_length() - 1)


def smaller_budget(batch_tokens: int, longest: int) -> int | None:
    """Half the budget, but enough for the longest statement; None if the budget is already no larger than that.

    >>> [smaller_budget(tokens, longest=30) for tokens in (100, 50, 30, 8)]
    [50, 30, None, None]
    """
    return None if batch_tokens <= longest else max(longest, batch_tokens // 2)


def vocabulary_size(model: LoadedModel) -> int:
    """The width of the logits: rows of the output embedding, if there is one, with padding."""
    network: Any = model.network
    head = network.get_output_embeddings()
    named = getattr(network.config.get_text_config(), "vocab_size", 0)
    return int(max(named, 0 if head is None else head.weight.shape[0]))


def cpu_bytes_per_token(model: LoadedModel, path: ScoringPath | None) -> int:
    """Approximate memory of one token in a pass: a layer's activations, and two copies of logits that are kept."""
    widest = max((max(p.shape) for p in _layer_weights(model)), default=1)
    logits = 2 * vocabulary_size(model) if path in (None, "plain") else 0
    return 4 * (_WIDTHS_ALIVE * widest + logits)


_WIDTHS_ALIVE = 8  # of a layer's widest activation: gate, up, their product, states, queries, keys, values, masks


def _layer_weights(model: LoadedModel) -> list[Any]:
    """Weight matrices without the embeddings, which have as many rows as the vocabulary."""
    n_words = vocabulary_size(model)
    return [p for p in model.network.parameters() if p.dim() == 2 and p.shape[0] < n_words]


_FILE_NAME = "budgets.json"
_MIB = 2**20


@dataclass(frozen=True, slots=True)
class RememberedBudget:
    """The budget that an earlier run measured for one model, path and width of rows on one device.

    A file that cannot be read or written counts as absent: a lost budget is measured again.
    """

    key: str

    @classmethod
    def of(cls, model: LoadedModel, path: ScoringPath, width: int) -> RememberedBudget:
        """The entry for this model on its devices; another version of calprobe has entries of its own."""
        n_parameters = sum(parameter.numel() for parameter in model.network.parameters())
        products = model.dtype if model.precision == "ieee" else f"{model.dtype} in {model.precision}"
        layers = f"{model.attention}, fused layers" if model.fused else model.attention
        weights = f"{model.architecture}, {n_parameters} parameters, {products}, {layers}"
        return cls(f"calprobe {metadata.version('calprobe')}; {_machine(model)}; {weights}; {path}, rows of {width}")

    def recall(self) -> int | None:
        """The budget, in tokens; None if none is stored."""
        budget = _read().get(self.key)
        return budget if isinstance(budget, int) and not isinstance(budget, bool) and budget > 0 else None

    def keep(self, batch_tokens: int) -> None:
        """Store the budget for later runs."""
        file = budgets_file()
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            atomic.write_text(file, json.dumps(_read() | {self.key: batch_tokens}, indent=1, sort_keys=True) + "\n")
        except OSError as error:
            log.debug("%s: budget not stored: %s", file, error)


def budgets_file() -> Path:
    """The file of stored budgets, JSON from key to tokens."""
    return cache_root() / _FILE_NAME


def _read() -> dict[str, object]:
    file = budgets_file()
    try:
        budgets = json.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        log.debug("%s: ignored: %s", file, error)
        return {}
    if isinstance(budgets, dict):
        return budgets
    log.debug("%s: ignored: not an object", file)
    return {}


def _machine(model: LoadedModel) -> str:
    """Each device of the model, with its memory."""
    # Offloaded weights ("meta") use no memory.
    devices = {parameter.device for parameter in model.network.parameters() if not parameter.is_meta}
    shown = (f"{device_name(device)}, {total_bytes(device) // _MIB} MiB" for device in sorted(devices, key=str))
    return " + ".join(shown)
