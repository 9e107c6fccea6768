"""What attention a model has: kinds of layers, the function that they look up by name, the kernel that torch takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend
from torch.overrides import TorchFunctionMode

# Of layers that see what a mask lets them see; recurrences and convolutions pass over it.
KINDS_WITH_MASKS = frozenset({"attention", "full_attention", "sliding_attention"})
# Of Nemotron-H: its recurrences and attention, and its MLPs and experts, which see no other tokens.
_LETTERS, _OF_TOKENS_ALONE = {"M": "mamba", "*": "full_attention"}, "-E"


def layer_kinds(network: Any) -> set[str]:
    """The kinds of layers that the model's configuration names; none where it names none.

    Hybrids whose code comes with the checkpoint may have names or letters of their own in the place of `layer_types`.
    """
    config = network.config.get_text_config()
    named = getattr(config, "layer_types", None) or getattr(config, "layers_block_type", None)
    if named:
        return set(named)
    letters = getattr(config, "hybrid_override_pattern", None) or ""
    return {_LETTERS.get(letter, letter) for letter in letters if letter not in _OF_TOKENS_ALONE}


class AttentionNames:
    """Which attention function the layers of a network look up, at each call, by the name in their config.

    The names are as they are, or as they are set while a block lasts.
    """

    def __init__(self, network: nn.Module) -> None:
        configs: Iterator[Any] = (getattr(module, "config", None) for module in network.modules())
        # A module and its parts mostly share one config.
        self._configs = list({id(c): c for c in configs if hasattr(c, "_attn_implementation")}.values())

    def own(self) -> list[str]:
        """Of each config, as transformers chose it."""
        return [config._attn_implementation for config in self._configs]

    @contextmanager
    def set_to(self, name: str) -> Iterator[None]:
        """All of them that name inside; the network is then its thread's alone."""
        own = self.own()
        try:
            for config in self._configs:
                config._attn_implementation = name
            yield
        finally:
            for config, own_name in zip(self._configs, own, strict=True):
                config._attn_implementation = own_name


class AttentionSeen(TorchFunctionMode):
    """Inside, notes the kernels that torch takes for `scaled_dot_product_attention`; computes nothing else."""

    def __init__(self) -> None:
        super().__init__()
        self._kernels: set[str] = set()

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Call `func`; torch calls this for each of its functions."""
        if func is F.scaled_dot_product_attention:
            self._kernels.add(_kernel_for(*args, **(kwargs or {})))
        return func(*args, **(kwargs or {}))

    @property
    def kernels(self) -> str | None:
        """`efficient`, `flash`, `math`, or several; None where no attention went through that function."""
        return ", ".join(sorted(self._kernels)) or None


def _kernel_for(*args: Any, **kwargs: Any) -> str:
    try:
        return SDPBackend(torch._fused_sdp_choice(*args, **kwargs)).name.lower().removesuffix("_attention")
    except (AttributeError, TypeError, ValueError):  # not a public function: another torch may have none
        return "not known"
