"""Asks what is missing: hands out dialogues, stores each reply when it arrives, writes complete pieces."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import groupby, islice
from typing import get_args

from calprobe.asking.ask_options import AskOptions
from calprobe.asking.ask_progress import Meter
from calprobe.asking.known import Lacking, Store, keys_of, missing_keys, pendings, unanswered
from calprobe.asking.plan import Plan
from calprobe.asking.reply_cache import CachedReplies
from calprobe.asking.run_manifest import backend_record
from calprobe.backends.protocol import Backend, Dialogue, Pending
from calprobe.errors import CalprobeError
from calprobe.interrupts import Held, Interrupted, held_interrupts
from calprobe.messages import counted, shortened
from calprobe.models.loaded_model import Part
from calprobe.runs.replies import Reply
from calprobe.runs.reply_records import AskedPiece
from calprobe.runs.run_progress import NOTHING, Progress
from calprobe.runs.stages import ANSWER

log = logging.getLogger(__name__)

_UNTIL = "the requests in progress are answered"
_HOPELESS = 20  # first requests of a session that all fail: a wrong setting would fail on all others too
_TURN = 32  # questions of a variant, before the next variant asks them
_NAMED = 3  # reasons of failures that a message names
_SHORT = 16  # tokens: an answer of fewer is a label or a number, which is often asked for with no room for more
_BY_TORCH = (None, "torch")  # what a record of a backend says of a part that no kernel computes
_MANY_CUT = 0.1  # share of the answers of a variant that ended at their budget, from which on a message says so


@dataclass(frozen=True, slots=True)
class Work:
    """What is asked now, of whom, and where replies go."""

    plan: Plan
    engine: str  # from `calprobe.asking.request_identity.engine_hash`
    backend: Backend
    store: Store
    lacking: Lacking
    options: AskOptions
    spent: Progress = NOTHING  # since the folder was opened: loading the model, and what was asked before this


@dataclass(slots=True)
class _Session:
    """What is handed out and not answered, and what has been done."""

    left: dict[AskedPiece, int]
    waiting: dict[str, tuple[AskedPiece, Dialogue]] = field(default_factory=dict)
    failures: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)  # by variant
    cut: Counter[str] = field(default_factory=Counter)  # of these, those that ended at their budget
    too_long: list[Reply] = field(default_factory=list)  # not among the failures, which may be answered another time
    in_thought: int = 0  # replies that ended at their budget before their thought did
    spent: Progress = field(default_factory=Progress)
    began: float = field(default_factory=time.monotonic)

    @property
    def open(self) -> int:
        """Replies that are still missing."""
        return sum(self.left.values())


def ask_missing(work: Work, meter: Meter) -> Progress:
    """Ask for the replies that are missing; each is stored when it arrives. Returns all that is spent by then.

    Raises Interrupted after Ctrl-C, SIGTERM or SIGHUP, and CalprobeError if the backend cannot go on; the messages say
    how to resume.
    """
    session = _Session(dict(work.lacking.counts), spent=Progress(processes=1))
    try:
        with held_interrupts(_UNTIL, say=not work.backend.capabilities.stops_at_once) as held:
            _ask(work, session, held, meter)
    except KeyboardInterrupt as error:
        raise Interrupted(_left(work, session, str(error) or "interrupted")) from None
    except CalprobeError as error:
        with suppress(CalprobeError):
            work.store.journal.flush()
        if session.open == work.lacking.total:
            raise
        resumable = CalprobeError(_left(work, session, str(error)))
        resumable.exit_code = error.exit_code
        raise resumable from error
    finally:
        with suppress(CalprobeError):  # a full disk should not raise a second error
            _record(work, session)
    _say_failures(work, session)
    _say_cut(session)
    return _spent(work, session)


def _ask(work: Work, session: _Session, held: Held, meter: Meter) -> None:
    replies = work.backend.replies(_handed_out(work, session, held))
    try:
        at_once = work.backend.capabilities.stops_at_once
        while (reply := _next(replies, held, at_once)) is not None:
            _take(work, session, reply, meter)
    finally:
        # A piece may have got its last reply in the moment of an error, or in an earlier session.
        work.store.journal.flush()
        if isinstance(replies, Generator):  # what the engine still writes, nobody will read
            replies.close()
    held()
    if session.open:
        raise CalprobeError(f"backend {work.backend.name} ended without answering {counted(session.open, 'request')}")


def _next(replies: Iterator[Reply], held: Held, at_once: bool) -> Reply | None:
    """The next reply, None behind the last; `at_once`: a signal need not wait for it."""
    with held.opened(at_once):
        return next(replies, None)


def _handed_out(work: Work, session: _Session, held: Held) -> Iterator[Pending]:
    """The dialogues, one by one as the backend takes them; none after a signal, so that the backend ends."""
    for piece, pending in _in_turns(work):
        if held.asked:
            return
        for key in missing_keys(pending):
            session.waiting[key] = (piece, pending.dialogue)
        yield pending


def _in_turns(work: Work) -> Iterator[tuple[AskedPiece, Pending]]:
    """All that is missing. The pieces of a set take turns, some questions each.

    So a question comes in all its variants within a short time: what these share is forwarded once by a backend that
    keeps the beginnings of prompts.
    """
    for _, pieces in groupby(work.lacking.counts, key=lambda piece: piece.set):
        queues = [(piece, pendings(work.plan, work.store, piece, work.engine)) for piece in pieces]
        while queues:
            for piece, queue in list(queues):
                turn = list(islice(queue, _TURN))
                if len(turn) < _TURN:
                    queues.remove((piece, queue))
                yield from ((piece, pending) for pending in turn)


def _take(work: Work, session: _Session, reply: Reply, meter: Meter) -> None:
    """Store a reply; a failed one takes its follow-ups with it. A piece that is then complete becomes a shard."""
    if reply.key not in session.waiting:
        raise CalprobeError(f"backend {work.backend.name} answered a request that was not asked: {reply.key:.12}")
    asked_piece, dialogue = session.waiting[reply.key]
    replies = [reply]
    session.in_thought += reply.is_cut_in_thought
    if reply.finish == "error":
        if reply.is_too_long:
            session.too_long.append(reply)
        else:
            session.failures[shortened(reply.error, 100)] += 1
        replies += [r for r in unanswered(dialogue, reply) if r.key in session.waiting]
    elif reply.stage == ANSWER:
        session.answers[reply.variant] += 1
        session.cut[reply.variant] += reply.finish == "length" and reply.tokens_out >= _SHORT
    work.store.journal.add_all(replies)
    for arrival in replies:
        del session.waiting[arrival.key]
        session.left[asked_piece] -= 1
        session.spent += Progress(statements=arrival.finish != "error", tokens=arrival.tokens_in + arrival.tokens_out)
        is_free = isinstance(work.backend, CachedReplies) and work.backend.is_taken(arrival)
        meter.count(arrival, asked_piece.piece.relation, is_free=is_free)
    _refuse_hopeless(session)
    if not session.left[asked_piece]:
        keys = keys_of(work.plan, asked_piece, work.engine, work.store.folder.manifest.shard)
        if work.store.write_if_complete(asked_piece, keys):
            session.spent += Progress(pieces=1)
        _record(work, session)


def _refuse_hopeless(session: _Session) -> None:
    """Stop if nothing but failures came: whatever is wrong costs time, and perhaps money, for each further request."""
    failed = session.failures.total() + len(session.too_long)
    if failed == _HOPELESS and not session.spent.statements:
        reason, _ = (session.failures or Counter([_about_too_long(session.too_long)])).most_common(1)[0]
        raise CalprobeError(f"the first {failed} requests all failed: {reason}")


def _record(work: Work, session: _Session) -> None:
    work.store.folder.record_progress(0, _spent(work, session))


def _spent(work: Work, session: _Session) -> Progress:
    seconds = time.monotonic() - session.began
    began, now = work.store.folder.manifest.backend, backend_record(work.backend)
    later = tuple(
        part for part in get_args(Part) if getattr(now, part) in _BY_TORCH and getattr(began, part) not in _BY_TORCH
    )
    return work.spent + replace(session.spent, score_s=seconds, wall_s=seconds, later_by_torch=later)


def _left(work: Work, session: _Session, why: str) -> str:
    """Why the run has stopped, how much is left, and how to resume."""
    again = "the same command again" if work.options.resume else "the same command, without --no-resume,"
    total, arrived = work.lacking.total, session.spent.statements
    text = f"{total - arrived:,} of {total:,} replies are left, none that arrived is lost"
    text = text if arrived else f"no reply has arrived, all {total:,} are left"
    return f"{why}; {text}.\nRun {again} to resume in {work.store.folder.path}"


def _about_too_long(replies: Sequence[Reply]) -> str:
    """Which prompts the model's context has no room for, and what to do."""
    worst = max(replies, key=lambda reply: reply.tokens_in)
    names = list(dict.fromkeys(reply.question for reply in replies))
    variants = ", ".join(dict.fromkeys(reply.variant for reply in replies))
    text = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else "")
    text = f"{counted(len(names), 'question')} ({text}) under {variants}"
    return (
        f"{worst.error} (question {worst.question} under {worst.variant}); {text}\n"
        f"use fewer --shots, other --variants, or a model with a longer context"
    )


def _say_cut(session: _Session) -> None:
    """Name the variants of which many answers were cut: what such an answer ends with is rarely what it would say."""
    for variant, count in session.cut.items():
        total = session.answers[variant]
        if count >= _MANY_CUT * total and count:
            log.warning(
                "%s of %s under %s were cut at their longest; ask with a larger --max-new-tokens",
                *(f"{count:,}", counted(total, "answer"), variant),
            )


def _say_failures(work: Work, session: _Session) -> None:
    if session.in_thought:
        log.warning(
            "%s of %s replies were cut inside the thought and have no answer; ask into another --out with a larger "
            "--max-new-tokens, or with %s",
            *(f"{session.in_thought:,}", f"{work.lacking.total:,}"),
            "a lower --reasoning-effort" if work.backend.name == "openai" else "--think-tokens",
        )
    if session.too_long:
        has_option = work.backend.capabilities.room  # with more of it, the same command asks for them again
        log.warning(
            "%s cannot be asked, %s: %s",
            counted(len(session.too_long), "request"),
            "unless --backend-option max-model-len is larger" if has_option else "now or again",
            _about_too_long(session.too_long),
        )
    if not session.failures:
        return
    text = "; ".join(f"{counted(count, 'time')}: {reason}" for reason, count in session.failures.most_common(_NAMED))
    log.warning(
        "%s failed (%s); the same command asks for them again",
        *(counted(session.failures.total(), "request"), text),
    )
