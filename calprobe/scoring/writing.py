"""The pieces that a run folder still lacks, scored by one process or by several, and written one by one."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from calprobe.errors import CalprobeError
from calprobe.messages import counted
from calprobe.runs import PieceScores, Progress, RunFolder
from calprobe.runs.records import Piece
from calprobe.scoring.engine import Engine
from calprobe.scoring.interrupts import Interrupted, held_interrupts
from calprobe.scoring.processes import Processes, Stopped
from calprobe.scoring.progress import Advance, no_progress, progress
from calprobe.scoring.scheduling import Group, incomplete

log = logging.getLogger(__name__)

_UNTIL = "what is in flight is scored"
# For the others, who finish what they have in flight: a launcher kills what lives half a minute after its signal.
_WAIT_WHEN_STOPPED_S = 15.0
_SILENT_WHEN_STOPPED_S = 6.0  # three signs of life left out: it is one that was killed


@dataclass(frozen=True, slots=True)
class Work:
    """An open run folder, the pieces that were missing when it was opened, and the engine that scores them."""

    folder: RunFolder
    engine: Engine
    missing: Sequence[Piece]
    quiet: bool = False  # no progress on stderr
    resume: bool = True  # False: the user started over with --no-resume, and resumes without it


@dataclass(slots=True)
class _Share:
    """What this process has scored since it began, as it records it in the run folder."""

    folder: RunFolder
    processes: Processes
    spent: Progress  # without seconds of scoring
    began: float = field(default_factory=lambda: time.monotonic())

    @classmethod
    def starting(cls, work: Work, processes: Processes, load_s: float) -> _Share:
        """Nothing scored yet."""
        size = processes.size if processes.is_first else 0
        return cls(work.folder, processes, Progress(load_s=load_s, processes=size))

    def record(self) -> None:
        """Write down what was spent so far; the wall clock is the first process's."""
        seconds = time.monotonic() - self.began
        wall_s = seconds if self.processes.is_first else 0.0
        self.folder.record_progress(self.processes.rank, replace(self.spent, score_s=seconds, wall_s=wall_s))

    def take_budget(self, batch_tokens: int) -> None:
        """Record a budget that became smaller before the first scores that were made with it."""
        if batch_tokens != self.spent.batch_tokens:
            self.spent = replace(self.spent, batch_tokens=batch_tokens)
            self.record()

    def write(self, piece: PieceScores) -> None:
        """Write the piece and count it."""
        self.folder.write_piece(piece)
        tokens = 0 if piece.n_tokens is None else int(piece.n_tokens.sum())
        self.spent += Progress(pieces=1, statements=piece.n_statements, tokens=tokens)


def score_missing(work: Work, processes: Processes, load_s: float = 0.0) -> None:
    """Score what the folder lacks, as the first process or the only one.

    Raises Interrupted after Ctrl-C, CalprobeError if another process has failed or was lost; both say how to go on.
    """
    schedule, share = work.engine.schedule, _Share.starting(work, processes, load_s)
    pieces, todo = schedule.pieces, incomplete(schedule.groups, work.missing)
    if there := len(pieces) - len(set(pieces).intersection(work.missing)):
        log.info("%s: %d of %s there already", work.folder.path, there, counted(len(pieces), "piece"))
    try:
        with (
            held_interrupts(_UNTIL) as stop_if_asked,
            progress(schedule.n_statements(todo), work.engine.model.name, work.quiet) as show,
        ):
            advance = processes.adding(show)
            _score(work, processes, share, todo, advance, stop_if_asked)

            def meanwhile() -> None:
                processes.check()
                stop_if_asked()
                advance(0, 0)

            processes.wait_for_others(meanwhile)
            if taken_away := incomplete(schedule.groups, work.folder.unwritten(pieces)):
                log.warning("a process of the run was lost; scoring what it had taken")
                _score(work, Processes(), share, taken_away, advance, stop_if_asked)
    except BaseException as error:
        processes.stop(error)
        with suppress(CalprobeError):  # the others are out of reach, and this error is the news
            processes.wait_for_others(at_most_s=_WAIT_WHEN_STOPPED_S, silent_s=_SILENT_WHEN_STOPPED_S)
        if isinstance(error, KeyboardInterrupt):
            raise Interrupted(_left(work, pieces, str(error) or "interrupted")) from None
        if isinstance(error, Stopped):
            raise _resumable(error, work, pieces) from None
        raise
    finally:
        with suppress(CalprobeError):  # where the disk is full, that is worth no second error
            share.record()
    if work.folder.unwritten(pieces):
        raise CalprobeError(_left(work, pieces, "a process of the run was lost"))


def score_share(work: Work, processes: Processes, load_s: float) -> None:
    """Score along in a folder that the first process has opened."""
    share = _Share.starting(work, processes, load_s)
    advance = processes.adding(no_progress)
    try:
        with held_interrupts(_UNTIL, say=False) as stop_if_asked:
            todo = incomplete(work.engine.schedule.groups, work.missing)
            _score(work, processes, share, todo, advance, stop_if_asked)
    finally:
        with suppress(CalprobeError):
            share.record()


def _score(
    work: Work,
    processes: Processes,
    share: _Share,
    groups: list[Group],
    advance: Advance,
    stop_if_asked: Callable[[], None],
) -> None:
    """Score groups and write their missing pieces, in order; of several processes, each takes what is next."""
    together = processes.size > 1
    ordered = work.engine.schedule.longest_first(groups) if together else groups
    missing = set(work.missing)

    def check() -> None:
        processes.check()
        stop_if_asked()

    check()
    taken = (ordered[turn] for turn in processes.turns(len(ordered)))
    # What is prepared here is taken from the others, so that several processes prepare one group ahead, not two.
    for scored in work.engine.score(taken, advance, prefetch=1 if together else 2):
        share.take_budget(scored.batch_tokens)
        for piece in scored.pieces:
            if piece.piece in missing:
                share.write(piece)
        share.record()
        check()
    processes.check()


def _left(work: Work, pieces: Sequence[Piece], why: str) -> str:
    """Why the run has stopped, what is left of it, and how to go on."""
    again = "the same command again" if work.resume else "the same command, without --no-resume,"
    left = f"{len(work.folder.unwritten(pieces))} of {len(pieces)} pieces are left"
    return f"{why}; {left}.\nRun {again} to go on in {work.folder.path}"


def _resumable(stopped: Stopped, work: Work, pieces: Sequence[Piece]) -> CalprobeError | Interrupted:
    """What the first process raises when another has stopped; Ctrl-C may have reached that one first."""
    if stopped.exit_code == Interrupted.exit_code:
        return Interrupted(_left(work, pieces, "interrupted"))
    error = CalprobeError(_left(work, pieces, str(stopped)))
    error.exit_code = stopped.exit_code
    return error
