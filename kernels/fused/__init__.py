"""calprobe's kernels, each beside its plain torch reference of the same signature. Imported as `calprobe.kernels`."""

from calprobe.kernels.segment_reduce import StatementScores, segment_reduce_reference

__all__ = ["StatementScores", "segment_reduce_reference"]
