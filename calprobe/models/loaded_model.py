"""What loading takes and what it gives: options in, a model with its tokenizer and identity out."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from calprobe.errors import UsageError
from calprobe.planning.token_rows import SpecialTokens
from calprobe.words import DeviceMap, Dtype, ModelKind, Precision

if TYPE_CHECKING:
    import torch

Attention = Literal["auto", "sdpa", "eager"]
Products = Literal["tf32x3", "ieee"]
Part = Literal["layers", "head"]  # of a model, which a kernel of calprobe's computes on a card, or torch


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """How a model is loaded. The defaults are safe: no pickle, no remote code, nothing left to a guess from the name.

    Raises UsageError for a kind, dtype, precision, attention or device map that does not exist, and for `device` beside
    `device_map`.
    """

    kind: ModelKind | None = None  # None: from the config's architectures
    dtype: Dtype = "auto"  # auto: the checkpoint's own on a GPU (T4: float16 for bfloat16), float32 on a CPU
    precision: Precision = "auto"  # of float32 products on a GPU; auto: tf32x3 where it has tensor cores for it
    fused: bool = True  # on a GPU, RMSNorm, gated units and rotary positions are one kernel each while the model scores
    device: str = "auto"  # auto (GPU if there is one), cpu, cuda, cuda:N
    device_map: DeviceMap | None = None  # accelerate's: several GPUs, or GPU and CPU
    revision: str | None = None  # of a hub id, and of nothing else: branch, tag or commit
    attention: Attention = "auto"  # auto: sdpa where the model computes the same with it, else eager
    allow_pickle: bool = False  # .bin and .pt checkpoints run code when they are read
    trust_remote_code: bool = False  # runs Python files out of the model's repository
    quiet: bool = False  # no progress bars even on a terminal

    def __post_init__(self) -> None:
        _check("--kind", self.kind, (None, *get_args(ModelKind)))
        _check("--dtype", self.dtype, get_args(Dtype))
        _check("--precision", self.precision, get_args(Precision))
        _check("attention", self.attention, get_args(Attention))
        _check("--device-map", self.device_map, (None, *get_args(DeviceMap)))
        if self.device_map is not None and self.device != "auto":
            raise UsageError(
                f"--device {self.device} and --device-map {self.device_map} exclude each other; give one of them"
            )


def _check(option: str, value: object, allowed: tuple[object, ...]) -> None:
    if value not in allowed:
        choices = ", ".join(str(choice) for choice in allowed if choice is not None)
        raise UsageError(f"{option} {value!r} is not one of {choices}")


@dataclass(frozen=True)
class LoadedModel:
    """A model in evaluation mode with its tokenizer, and all that a manifest says about it."""

    name: str  # as the user typed it
    source: str  # hub id, folder or file that the weights came from; base + adapter joined by " + "
    kind: ModelKind
    network: torch.nn.Module
    tokenizer: Any  # a fast tokenizer (transformers.PreTrainedTokenizerFast)
    start_token_id: int  # put in front of every statement once, never scored
    start_token: str
    dtype: str  # of the parameters: float32, bfloat16, float16
    device: torch.device  # where token ids go
    architecture: str  # the network's class: LlamaForCausalLM
    attention: str  # implementation that transformers runs: sdpa, eager
    weights_fingerprint: str
    tokenizer_fingerprint: str
    max_positions: int | None  # longest row with special tokens, in tokens; None: the architecture sets no limit
    special: SpecialTokens | None = None  # around and in the rows of a masked model; None for a causal one
    embedding_rows: int | None = None  # ids from here on have no input embedding; None: not known
    revision: str | None = None  # commit of a hub id, SHA-256 of a GGUF file, None for a folder
    note: str = ""  # what has to be said wherever the model is shown: "Instruct model, Q4_1 weights ..."
    adapter_merged: bool | None = None  # None: no adapter
    precision: Products = "ieee"  # how calprobe's own float32 products are made; tf32x3 on cards only
    fused: bool = False  # whether `fused_layers` computes some of its modules while it scores; on cards only
    head_by_kernel: bool = True  # on cards that have kernels; else torch computes log-probabilities and their sums

    def by_torch(self, parts: Collection[Part]) -> LoadedModel:
        """The same model, of which torch computes these parts too, and none of calprobe's kernels."""
        fused, by_kernel = self.fused and "layers" not in parts, self.head_by_kernel and "head" not in parts
        return replace(self, fused=fused, head_by_kernel=by_kernel)

    def __repr__(self) -> str:
        return f"<LoadedModel {self.name}: {self.kind}, {self.architecture}, {self.dtype} on {self.device}>"
