"""Where answers come from: whether those that check a promise are those that fixed it."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from calprobe.arrays import Floats, Mask
from calprobe.cells.run_facts import model_name
from calprobe.cells.scored import ScoredRun
from calprobe.runs import AskedRun


@dataclass(frozen=True, slots=True)
class Source:
    """A model and what it was asked, each by its fingerprint, by its name where there is none."""

    model: str
    data: str

    @classmethod
    def of(cls, weights_fingerprint: str | None, model: str, fingerprint: str | None, data: str) -> Source:
        """With names in place of fingerprints that are not known."""
        return cls(weights_fingerprint or model, fingerprint or data)


@dataclass(frozen=True, slots=True)
class Origin:
    """A run or table, and the facts that its answers are about."""

    path: Path | None  # folder or file; None: in memory
    source: Source
    facts: frozenset[Hashable]

    def same_place(self, other: Origin) -> bool:
        """Whether both are one folder or file."""
        return self.path is not None and other.path is not None and self.path.resolve() == other.path.resolve()

    def shares_facts(self, other: Origin) -> bool:
        """Whether one model answers any of the same facts in both, under whatever prompt."""
        return self.source == other.source and not self.facts.isdisjoint(other.facts)


def scored_origin(run: ScoredRun, path: Path | None) -> Origin:
    """Of a run of scores. Raises ValueError for a table of scores."""
    model, probe = run.manifest.model, run.manifest.probe
    source = Source.of(model.weights_fingerprint, run.model, probe.fingerprint, probe.name)
    return Origin(path, source, frozenset(run.instances.places))


def asked_origin(run: AskedRun, set_name: str) -> Origin:
    """Of a set of a run of replies. A question is known by its texts, since the set of a part is another one."""
    model = run.manifest.model
    hashes = next(stored.hashes for stored in run.stored_sets if stored.name == set_name)
    source = Source.of(model.weights_fingerprint, model_name(model), None, "questions")
    return Origin(run.path, source, frozenset(hashes))


def table_origin(path: Path, scores: Floats, correct: Mask) -> Origin:
    """Of a table, which is known by its rows in any order, since it names neither model nor facts."""
    rows = np.lexsort((correct, scores))
    digest = hashlib.sha256(scores[rows].tobytes() + correct[rows].tobytes()).hexdigest()
    return Origin(path, Source("", digest), frozenset([digest]))
