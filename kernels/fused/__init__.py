"""calprobe's kernels, each beside its plain torch reference of the same signature. Imported as `calprobe.kernels`."""

from calprobe.kernels.linear_logprob import linear_logprob, linear_logprob_reference, linear_logprob_triton
from calprobe.kernels.logit_rule import LogitRule
from calprobe.kernels.segment_reduce import (
    StatementScores,
    segment_reduce,
    segment_reduce_reference,
    segment_reduce_triton,
)

__all__ = [
    "LogitRule",
    "StatementScores",
    "linear_logprob",
    "linear_logprob_reference",
    "linear_logprob_triton",
    "segment_reduce",
    "segment_reduce_reference",
    "segment_reduce_triton",
]
