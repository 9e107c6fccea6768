"""All contestants on one slice: loaded one after another, then scoring in turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peers.compare import achieved, rows_of
from peers.job import Job, ModelSpec, Outcome, Piece
from peers.process import Process
from peers.scorers import ALL, TRUTH
from peers.slices import n_statements


@dataclass(frozen=True)
class Contest:
    """What holds for all slices."""

    script: Path  # side_by_side.py, which the children run too
    model: ModelSpec
    scorers: tuple[str, ...]  # calprobe among them
    threads: int
    repeats: int
    sample_statements: int

    def on_slice(self, name: str, pieces: Sequence[Piece]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Rows of all contestants on one slice, and one of what calprobe got out of the machine."""
        outcomes = self._in_turns(pieces)
        truth = None if self.model.dtype == "float32" else self.once(TRUTH, pieces)
        sums = truth.sums if truth is not None and truth.fault is None else None
        rows = rows_of(name, outcomes, n_statements(pieces), self.model.dtype, sums)
        reached = achieved(outcomes["calprobe"])
        return rows, [{"slice": name, **reached}] if reached else []

    def once(self, scorer: str, pieces: Sequence[Piece], then: str = "") -> Outcome:
        """One contestant by itself, timed once."""
        started = self._start(scorer, pieces, then)
        if isinstance(started, Outcome):
            return started
        started.repeat()
        return started.outcome()

    def _in_turns(self, pieces: Sequence[Piece]) -> dict[str, Outcome]:
        """Outcomes by scorer. On a CPU they take turns, round by round, so that other work there meets all alike.

        A card is not shared with others, and does not hold every model four times: there one goes after another.
        """
        outcomes: dict[str, Outcome] = {}
        on_card = self.model.device.startswith("cuda")
        for group in [(scorer,) for scorer in self.scorers] if on_card else [self.scorers]:
            started = {scorer: self._start(scorer, pieces, "analyse") for scorer in group}
            running = [process for process in started.values() if isinstance(process, Process)]
            for _ in range(self.repeats):
                for process in running:
                    process.repeat()
            outcomes |= {s: p.outcome() if isinstance(p, Process) else p for s, p in started.items()}
        return outcomes

    def _start(self, scorer: str, pieces: Sequence[Piece], then: str) -> Process | Outcome:
        """Its process, loaded and warm; or an outcome if it cannot take part."""
        contestant = ALL[scorer]
        if (fault := contestant.missing()) is not None:
            return Outcome(scorer, fault=fault)
        job = Job(
            scorer=scorer,
            model=self.model,
            pieces=tuple(pieces),
            batch_sizes=contestant.batch_sizes[self.model.kind].get(self.model.device.partition(":")[0], ()),
            sample_statements=self.sample_statements,
            threads=self.threads,
            then=then,
        )
        return Process(job, contestant.version(), self.script)
