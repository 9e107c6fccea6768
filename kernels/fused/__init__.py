"""calprobe's kernels, each beside its plain torch reference of the same signature. Imported as `calprobe.kernels`.

The Triton code is in modules of its own, which are imported with the first CUDA tensor.
"""

from calprobe.kernels.linear_logprob import linear_logprob, linear_logprob_reference
from calprobe.kernels.logit_rule import LogitRule
from calprobe.kernels.segment_reduce import StatementScores, segment_reduce, segment_reduce_reference

__all__ = [
    "LogitRule",
    "StatementScores",
    "linear_logprob",
    "linear_logprob_reference",
    "segment_reduce",
    "segment_reduce_reference",
]
