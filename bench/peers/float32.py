"""The same weights in float32 on calprobe's plain path: what scores in short dtypes are held against. Never timed."""

from __future__ import annotations

from calprobe.scoring import ScoreOptions
from peers.calprobe import Calprobe, random_model
from peers.job import ModelSpec
from peers.models import load_network


def load(spec: ModelSpec) -> Calprobe:
    """The model of `spec`, its weights rounded to `spec.dtype` and then widened."""
    return Calprobe(random_model(spec, load_network(spec).float()), ScoreOptions(path="plain"))
