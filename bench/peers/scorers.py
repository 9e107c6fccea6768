"""The contestants by name: where each lives, which package it needs, what it scores in batches of which sizes."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from calprobe.words import ModelKind
from peers.job import ModelSpec, Piece


class Scorer(Protocol):
    """A loaded contestant."""

    @property
    def network(self) -> Any:
        """The model that it runs."""

    def score(self, pieces: Sequence[Piece], batch_size: int | None) -> npt.NDArray[np.float64]:
        """Sum of token log-probabilities of every statement, pieces one after another, each in its `texts` order."""


@dataclass(frozen=True)
class Contestant:
    """How a scorer is found."""

    module: str  # of this folder; it has a function `load(ModelSpec) -> Scorer`
    package: str  # what has to be importable
    distribution: str  # its version is recorded
    # Worth trying, by the kind of model and the type of device; a kind that is not here is not scored by it.
    batch_sizes: Mapping[ModelKind, Mapping[str, tuple[int, ...]]]

    def missing(self) -> str | None:
        """Why it cannot take part, or None."""
        if importlib.util.find_spec(self.package) is None:
            return f"skipped: {self.package} is not installed (pip install -r bench/requirements.txt)"
        return None

    def version(self) -> str:
        """Of its package."""
        return importlib.metadata.version(self.distribution)

    def load(self, model: ModelSpec) -> Scorer:
        """The contestant with its model."""
        scorer: Scorer = importlib.import_module(f"peers.{self.module}").load(model)
        return scorer


_OWN: Mapping[ModelKind, Mapping[str, tuple[int, ...]]] = {"causal": {}, "masked": {}}
_STATEMENTS = {"cpu": (8, 16, 32, 64), "cuda": (64, 256, 1024)}
# A masked statement is a row for each of its dozen tokens. lm-pub-quiz's batches are of rows, minicons' of statements.
_MASKED_ROWS = {"cpu": (16, 32, 64), "cuda": (64, 256, 1024)}
_MASKED_STATEMENTS = {"cpu": (1, 2, 4), "cuda": (4, 16, 64)}

CONTESTANTS = {
    "calprobe": Contestant("calprobe", "calprobe", "calprobe", _OWN),  # its own default is what is measured
    "lm-pub-quiz": Contestant(
        "lm_pub_quiz", "lm_pub_quiz", "lm-pub-quiz", {"causal": _STATEMENTS, "masked": _MASKED_ROWS}
    ),
    "lm-eval": Contestant("lm_eval", "lm_eval", "lm_eval", {"causal": _STATEMENTS}),
    "minicons": Contestant("minicons", "minicons", "minicons", {"causal": _STATEMENTS, "masked": _MASKED_STATEMENTS}),
}
TRUTH = "float32"  # not timed: what scores in short dtypes are held against
ALL = CONTESTANTS | {TRUTH: Contestant("float32", "calprobe", "calprobe", _OWN)}


def those_scoring(kind: ModelKind) -> tuple[str, ...]:
    """Names of the contestants that score models of that kind, calprobe first."""
    return tuple(name for name, contestant in CONTESTANTS.items() if kind in contestant.batch_sizes)
