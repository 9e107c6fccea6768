"""RMSNorm, the gated unit and the rotary positions of decoders, each as one kernel on a card, while a block lasts.

transformers writes a norm in six to eight element-wise steps in float32, the unit in two, and positions in ten
(`calprobe.models.fused_rotary`). Residual sums stay torch's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F

from calprobe.kernels import gated_unit, rms_norm
from calprobe.kernels.arguments import FLOATS, Gate, triton_takes
from calprobe.models.forwards import Forward, has_own_forward, inner_forward, other_forwards
from calprobe.models.fused_rotary import rotary_forward, rotary_layers_among

# Folders of transformers' models, with what their classes' names begin with. A file of another version may have no such
# class. Norms by where they round and what they multiply by: `calprobe.kernels.rms_norm`.
_ROUND_FIRST = {
    "apertus": "Apertus", "arcee": "Arcee", "cwm": "Cwm", "deepseek_v2": "DeepseekV2", "deepseek_v3": "DeepseekV3",
    "diffllama": "DiffLlama", "dots1": "Dots1", "ernie4_5": "Ernie4_5", "ernie4_5_moe": "Ernie4_5_Moe",
    "exaone4": "Exaone4", "glm": "Glm", "glm4": "Glm4", "glm4_moe": "Glm4Moe", "granite": "Granite",
    "granitemoe": "GraniteMoe", "hunyuan_v1_dense": "HunYuanDenseV1", "llama": "Llama", "minimax": "MiniMax",
    "ministral": "Ministral", "ministral3": "Ministral3", "mistral": "Mistral", "mixtral": "Mixtral", "olmoe": "Olmoe",
    "phi3": "Phi3", "qwen2": "Qwen2", "qwen2_moe": "Qwen2Moe", "qwen3": "Qwen3", "qwen3_moe": "Qwen3Moe",
    "seed_oss": "SeedOss", "smollm3": "SmolLM3",
}  # fmt: skip
_ROUND_LAST = {
    "flex_olmo": "FlexOlmo", "gpt_oss": "GptOss", "helium": "Helium", "olmo2": "Olmo2", "olmo3": "Olmo3",
}  # fmt: skip
_ONE_PLUS = {
    "gemma": "Gemma", "gemma2": "Gemma2", "gemma3": "Gemma3", "qwen3_5": "Qwen3_5", "qwen3_next": "Qwen3Next",
    "vaultgemma": "VaultGemma",
}  # fmt: skip
# Units of two products, gate and up, and of one product whose halves these are.
_TWO_PRODUCTS = {
    "cohere": "Cohere", "cohere2": "Cohere2", "cwm": "Cwm", "deepseek_v2": "DeepseekV2", "deepseek_v3": "DeepseekV3",
    "diffllama": "DiffLlama", "dots1": "Dots1", "ernie4_5": "Ernie4_5", "ernie4_5_moe": "Ernie4_5_Moe",
    "exaone4": "Exaone4", "flex_olmo": "FlexOlmo", "gemma": "Gemma", "gemma2": "Gemma2", "gemma3": "Gemma3",
    "glm4_moe": "Glm4Moe", "granite": "Granite", "helium": "Helium", "hunyuan_v1_dense": "HunYuanDenseV1",
    "llama": "Llama", "ministral": "Ministral", "ministral3": "Ministral3", "mistral": "Mistral", "olmo": "Olmo",
    "olmo2": "Olmo2", "olmo3": "Olmo3", "olmoe": "Olmoe", "qwen2": "Qwen2", "qwen2_moe": "Qwen2Moe", "qwen3": "Qwen3",
    "qwen3_5": "Qwen3_5", "qwen3_moe": "Qwen3Moe", "qwen3_next": "Qwen3Next", "smollm3": "SmolLM3",
    "stablelm": "StableLm", "vaultgemma": "VaultGemma",
}  # fmt: skip
_ONE_PRODUCT = {"glm": "Glm", "glm4": "Glm4", "phi3": "Phi3"}


def _classes(families: Mapping[str, str], ending: str) -> frozenset[str]:
    return frozenset(f"transformers.models.{name}.modeling_{name}.{begin}{ending}" for name, begin in families.items())


_NORMS = {
    kind: {"one_plus": families is _ONE_PLUS, "rounds_first": families is _ROUND_FIRST}
    for families in (_ROUND_FIRST, _ROUND_LAST, _ONE_PLUS)
    for kind in _classes(families, "RMSNorm")
}
_TWO, _ONE = _classes(_TWO_PRODUCTS, "MLP"), _classes(_ONE_PRODUCT, "MLP")


@contextmanager
def fused_layers(network: nn.Module, fused: bool = True) -> Iterator[None]:
    """Let norms, gated units and rotary positions of `network` that are on a card run as one kernel; if `fused`.

    Only norms and units of the classes of transformers that are named here, no subclasses; attention layers of
    transformers alone; none with a wrapped `forward`. The modules in them are called as before. The results of norms
    and units differ by rounding; positions give the same bits. The modules are changed in place for as long as the
    block lasts; a block within a block changes nothing.
    """
    with other_forwards(forwards_of(network) if fused else []):
        yield


def forwards_of(network: nn.Module) -> list[tuple[nn.Module, Forward]]:
    """The modules that `fused_layers` takes, each with what it then computes."""
    on_card = [module for module in network.modules() if _is_on_card(module)]
    norms = [(norm, _norm_forward(norm)) for norm in norms_among(on_card)]
    units = [(unit, unit_forward(unit, partial(gated_unit, activation=kind))) for unit, kind in units_among(on_card)]
    return [*norms, *units, *((layer, rotary_forward(layer)) for layer in rotary_layers_among(on_card))]


def norms_among(modules: Iterable[nn.Module]) -> list[Any]:
    """Those that are norms of the classes above."""
    return [module for module in modules if _class_of(module) in _NORMS and not has_own_forward(module)]


def units_among(modules: Iterable[nn.Module]) -> list[tuple[Any, Gate]]:
    """Those that are gated units of the classes above, with an activation that the kernel has."""
    units: list[Any]
    units = [module for module in modules if _class_of(module) in _TWO | _ONE and not has_own_forward(module)]
    found = ((unit, _activation(unit.activation_fn if _class_of(unit) in _ONE else unit.act_fn)) for unit in units)
    return [(unit, activation) for unit, activation in found if activation is not None]


def unit_forward(unit: Any, join: Callable[[Tensor, Tensor], Tensor]) -> Forward:
    """What such a unit computes, with `join(gate, up)` between its products."""
    is_one_product = _class_of(unit) in _ONE

    def forward(x: Tensor) -> Tensor:
        gate, up = unit.gate_up_proj(x).chunk(2, dim=-1) if is_one_product else (unit.gate_proj(x), unit.up_proj(x))
        out: Tensor = unit.down_proj(join(gate, up))
        return out

    return forward


def _class_of(module: nn.Module) -> str:
    kind = type(module)
    return f"{kind.__module__}.{kind.__qualname__}"


def _activation(module: nn.Module) -> Gate | None:
    """What the activation module of a unit computes; None if it is none of the kernel's, or somebody listens to it."""
    if has_own_forward(module) or module._forward_hooks or module._forward_pre_hooks:
        return None
    name = _class_of(module)
    if name in ("torch.nn.modules.activation.SiLU", "transformers.activations.SiLUActivation"):
        return "silu"
    if name == "transformers.activations.GELUTanh" and getattr(module.act, "func", None) is F.gelu:
        return "gelu_tanh"  # else the class computes it step by step
    return None


def _is_on_card(module: nn.Module) -> bool:
    weight = next(module.parameters(), None)
    return weight is not None and triton_takes(weight)


def _norm_forward(norm: Any) -> Forward:
    own: Callable[[Tensor], Tensor] = inner_forward(norm)
    rule = _NORMS[_class_of(norm)]
    eps = norm.eps if rule["one_plus"] else norm.variance_epsilon

    def forward(x: Tensor) -> Tensor:
        if x.dtype != norm.weight.dtype or x.dtype not in FLOATS:  # promoted by torch's rules
            return own(x)
        normed: Tensor = rms_norm(x, norm.weight, eps, **rule)
        return normed

    return forward
