"""All contestants on one slice: loaded one after another, then scoring in turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.contestants import CONTESTANTS, OURS, TRUTHS
from harness.job import Outcome
from harness.process import CHILD, in_turns

from peers.compare import achieved, rows_of
from peers.statements import ModelSpec, Piece, ScoreJob


@dataclass(frozen=True)
class Contest:
    """What holds for all slices."""

    model: ModelSpec
    scorers: tuple[str, ...]  # calprobe among them
    threads: int
    repeats: int
    sample_statements: int
    script: Path = CHILD  # what the children run

    def on_slice(self, name: str, pieces: Sequence[Piece]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Rows of all contestants on one slice, and one of what calprobe got out of the machine."""
        outcomes = self._in_turns(pieces)
        truth = None if self.model.dtype == "float32" else self.once(TRUTHS["statements"], pieces)
        sums = truth.sums if truth is not None and truth.fault is None else None
        rows = rows_of(name, outcomes, sum(piece.n_statements for piece in pieces), self.model.dtype, sums)
        reached = achieved(outcomes[OURS])
        return rows, [{"slice": name, **reached}] if reached else []

    def once(self, scorer: str, pieces: Sequence[Piece], then: str = "") -> Outcome:
        """One contestant by itself, timed once."""
        return in_turns([self._job(scorer, pieces, then)], 1, self.script)[scorer]

    def _in_turns(self, pieces: Sequence[Piece]) -> dict[str, Outcome]:
        """Outcomes by scorer.

        A card is not shared with others, and does not hold every model four times: there one goes after another.
        """
        jobs = [self._job(scorer, pieces, "analyse") for scorer in self.scorers]
        groups = [[job] for job in jobs] if self.model.device.startswith("cuda") else [jobs]
        return {name: found for group in groups for name, found in in_turns(group, self.repeats, self.script).items()}

    def _job(self, scorer: str, pieces: Sequence[Piece], then: str) -> ScoreJob:
        where = f"{self.model.kind} {self.model.device.partition(':')[0]}"
        sizes = CONTESTANTS[ScoreJob.task][scorer].batch_sizes.get(where, ())
        return ScoreJob(scorer, sizes, self.threads, self.model, tuple(pieces), self.sample_statements, then)
