"""calprobe's kernels, each beside its plain torch reference of the same signature. Imported as `calprobe.kernels`.

The Triton code is in modules of its own, which are imported with the first tensor that they take: one on a CUDA device.
"""

from calprobe.kernels.arguments import LogitRule, RotaryRule, StatementScores
from calprobe.kernels.gated_unit import gated_unit, gated_unit_reference
from calprobe.kernels.gather_reduce import gather_reduce, gather_reduce_reference
from calprobe.kernels.linear_logprob import linear_logprob, linear_logprob_reference
from calprobe.kernels.rms_norm import rms_norm, rms_norm_reference
from calprobe.kernels.rotary import rotary, rotary_reference
from calprobe.kernels.tree_attention import tree_attention, tree_attention_reference

__all__ = [
    "LogitRule",
    "RotaryRule",
    "StatementScores",
    "gated_unit",
    "gated_unit_reference",
    "gather_reduce",
    "gather_reduce_reference",
    "linear_logprob",
    "linear_logprob_reference",
    "rms_norm",
    "rms_norm_reference",
    "rotary",
    "rotary_reference",
    "tree_attention",
    "tree_attention_reference",
]
