"""Former place of `calprobe.words` and of the array types of `calprobe.arrays`; import from there."""

from __future__ import annotations

from calprobe.arrays import Floats, Ints
from calprobe.words import ModelKind, PllMetric, Scored, WordSplit

__all__ = ["Floats", "Ints", "ModelKind", "PllMetric", "Scored", "WordSplit"]
