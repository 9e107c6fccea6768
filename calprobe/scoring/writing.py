"""Score the missing pieces of a run folder, with one process or several, and write them one by one.

While a group is scored, the pieces of the group before it are written. Everything that changes the folder meanwhile is
done by that one thread, in order.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

from calprobe.errors import CalprobeError
from calprobe.interrupts import Interrupted, held_interrupts
from calprobe.messages import counted
from calprobe.runs import PieceScores, Progress, RunFolder
from calprobe.runs.records import Piece
from calprobe.scoring.behind import writing_behind
from calprobe.scoring.engine import Engine, ScoredGroup
from calprobe.scoring.growth import Lacking
from calprobe.scoring.scheduling import Group, incomplete
from calprobe.scoring.score_progress import Advance, ProgressHook, no_progress, progress
from calprobe.scoring.workers import Stopped, Workers

log = logging.getLogger(__name__)

_UNTIL = "the current group is scored"
# For the other processes to finish their groups: a launcher kills its processes half a minute after its signal.
_WAIT_WHEN_STOPPED_S = 15.0
_SILENT_WHEN_STOPPED_S = 6.0  # three missed heartbeats: the process was killed


@dataclass(frozen=True, slots=True)
class Work:
    """An open run folder, what it lacked of the request when it was opened, and the engine that scores that."""

    folder: RunFolder
    engine: Engine
    missing: Lacking
    quiet: bool = False  # no progress on stderr
    hook: ProgressHook | None = None  # the caller's own function
    resume: bool = True  # False: the user started over with --no-resume, and resumes without it

    def unwritten(self, pieces: Iterable[Piece]) -> list[Piece]:
        """Those of the pieces that were missing, and have not been written since."""
        return self.folder.unwritten(piece for piece in pieces if piece in self.missing)


@dataclass(frozen=True, slots=True)
class _Counting:
    """Where a process reports what it scores."""

    advance: Advance
    begin: Callable[[str], None]  # called with the relations of a group


@dataclass(slots=True)
class _Share:
    """What this process has scored since its start, for its progress file in the run folder."""

    folder: RunFolder
    workers: Workers
    spent: Progress  # without seconds of scoring
    began: float = field(default_factory=lambda: time.monotonic())

    @classmethod
    def starting(cls, work: Work, workers: Workers, load_s: float) -> _Share:
        """Nothing scored yet."""
        size = workers.size if workers.is_first else 0
        return cls(work.folder, workers, Progress(load_s=load_s, processes=size))

    def record(self) -> None:
        """Record what was spent so far; only the first process records wall-clock time."""
        seconds = time.monotonic() - self.began
        wall_s = seconds if self.workers.is_first else 0.0
        self.folder.record_progress(self.workers.rank, replace(self.spent, score_s=seconds, wall_s=wall_s))

    def take_way(self, scored: ScoredGroup) -> None:
        """Record a smaller budget, or a path or kernels that are not the manifest's, before their first scores."""
        way = scored.taken(self.folder.manifest.settings.path)
        taken = replace(self.spent, batch_tokens=way.batch_tokens, later_path=way.later_path)
        taken = replace(taken, later_by_torch=way.later_by_torch)
        if taken != self.spent:
            self.spent = taken
            self.record()

    def write(self, piece: PieceScores, has_part: bool) -> None:
        """Write the piece, together with the part of it that is there, and count what is new."""
        self.folder.write_piece(self.folder.completed(piece) if has_part else piece)
        tokens = 0 if piece.n_tokens is None else int(piece.n_tokens.sum())
        self.spent += Progress(pieces=0 if has_part else 1, statements=piece.n_statements, tokens=tokens)

    def write_group(self, scored: ScoredGroup, missing: Lacking) -> None:
        """Write the missing pieces of a group, and what it took."""
        self.take_way(scored)
        for piece in scored.pieces:
            if piece.piece in missing:
                self.write(piece, has_part=bool(missing[piece.piece]))
        self.record()


def score_missing(work: Work, workers: Workers, load_s: float = 0.0) -> None:
    """Score the missing pieces, as the first process or the only one.

    Raises Interrupted after Ctrl-C, CalprobeError if another process has failed or was lost; both say how to resume.
    """
    schedule, share = work.engine.schedule, _Share.starting(work, workers, load_s)
    pieces, todo = schedule.pieces, incomplete(schedule.groups, work.missing)
    if there := len(pieces) - len(set(pieces).intersection(work.missing)):
        log.info("%s: %d of %s already scored", work.folder.path, there, counted(len(pieces), "piece"))
    try:
        with (
            held_interrupts(_UNTIL) as stop_if_asked,
            progress(schedule.n_statements(todo), work.engine.model.name, work.quiet, work.hook) as meter,
        ):
            counting = _Counting(workers.summed(meter.advance), meter.begin)
            advance = counting.advance
            _score(work, workers, share, todo, counting, stop_if_asked)

            def meanwhile() -> None:
                workers.check()
                stop_if_asked()
                advance(0, 0)

            workers.wait_for_others(meanwhile)
            if unfinished := incomplete(schedule.groups, work.unwritten(pieces)):
                log.warning("a process of the run was lost; scoring its groups")
                _score(work, Workers(), share, unfinished, counting, stop_if_asked)
    except BaseException as error:
        workers.stop(error)
        with suppress(CalprobeError):  # the others cannot be reached; this error matters more
            workers.wait_for_others(at_most_s=_WAIT_WHEN_STOPPED_S, silent_s=_SILENT_WHEN_STOPPED_S)
        if isinstance(error, KeyboardInterrupt):
            raise Interrupted(_left(work, pieces, str(error) or "interrupted")) from None
        if isinstance(error, Stopped):
            raise _resumable(error, work, pieces) from None
        raise
    finally:
        with suppress(CalprobeError):  # a full disk should not raise a second error
            share.record()
    if work.unwritten(pieces):
        raise CalprobeError(_left(work, pieces, "a process of the run was lost"))


def score_share(work: Work, workers: Workers, load_s: float) -> None:
    """Score a share of the run in a folder that the first process has opened."""
    share = _Share.starting(work, workers, load_s)
    counting = _Counting(workers.summed(no_progress), lambda relations: None)
    try:
        with held_interrupts(_UNTIL, say=False) as stop_if_asked:
            todo = incomplete(work.engine.schedule.groups, work.missing)
            _score(work, workers, share, todo, counting, stop_if_asked)
    finally:
        with suppress(CalprobeError):
            share.record()


def _score(
    work: Work,
    workers: Workers,
    share: _Share,
    groups: list[Group],
    counting: _Counting,
    stop_if_asked: Callable[[], None],
) -> None:
    """Score groups and write their missing pieces, in order; several processes take groups from one queue."""
    together = workers.size > 1
    ordered = work.engine.schedule.longest_first(groups) if together else groups

    def check() -> None:
        workers.check()
        stop_if_asked()

    check()
    taken = (ordered[turn] for turn in workers.queue(len(ordered)))
    # A prefetched group is taken from the queue, so several processes prefetch one group each, not two.
    with writing_behind() as behind:
        for scored in work.engine.score(taken, counting.advance, 1 if together else 2, counting.begin):
            behind(partial(share.write_group, scored, work.missing))
            check()
    workers.check()


def _left(work: Work, pieces: Sequence[Piece], why: str) -> str:
    """Why the run has stopped, how many pieces are left, and how to resume."""
    again = "the same command again" if work.resume else "the same command, without --no-resume,"
    left = f"{len(work.unwritten(pieces))} of {len(pieces)} pieces are left"
    return f"{why}; {left}.\nRun {again} to resume in {work.folder.path}"


def _resumable(stopped: Stopped, work: Work, pieces: Sequence[Piece]) -> CalprobeError | Interrupted:
    """The first process's error when another process has stopped, perhaps by Ctrl-C."""
    if stopped.exit_code == Interrupted.exit_code:
        return Interrupted(_left(work, pieces, "interrupted"))
    error = CalprobeError(_left(work, pieces, str(stopped)))
    error.exit_code = stopped.exit_code
    return error
