"""How much of what a run asks has been answered: a run that was stopped, or is being asked, is read as far as it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from calprobe.messages import counted
from calprobe.runs import AskedPiece, AskedRun, PieceReplies
from calprobe.runs.asked_manifest import share_places
from calprobe.runs.asked_questions import StoredSet
from calprobe.runs.asked_records import QuestionSetRecord


@dataclass(frozen=True, slots=True)
class AskedExtent:
    """How many of the requests of a run have a reply, or have failed, and how many there are."""

    replies: int
    of_replies: int
    questions: int  # with a reply under any variant
    of_questions: int
    variants: int  # with a reply to any question
    of_variants: int
    missing: Mapping[str, Mapping[str, Mapping[str, int]]]  # requests by set, variant and stage, without zeros
    limited: tuple[QuestionSetRecord, ...] = ()  # sets that were asked in part, by request
    held_back: int = 0  # questions that are not asked, since they serve as examples
    left_out: int = 0  # rows of the sets that cannot be asked, most often since they have no right answer

    @property
    def partial(self) -> bool:
        """Whether any request has neither a reply nor a failure."""
        return self.replies < self.of_replies

    def __str__(self) -> str:
        """Both numbers of each, for headings."""
        return (
            f"replies to {self.questions:,} of {counted(self.of_questions, 'question')} under {self.variants} of "
            f"{counted(self.of_variants, 'variant')} ({self.replies:,} of {counted(self.of_replies, 'request')})"
        )

    def to_json(self) -> dict[str, Any]:
        """What `calprobe report --json` says under `extent`."""
        names = (
            "replies",
            "of_replies",
            "questions",
            "of_questions",
            "held_back",
            "left_out",
            "variants",
            "of_variants",
        )
        return {name: getattr(self, name) for name in names}


COMPLETE = "complete"
# What is there of a run of either kind that is not finished. Prompts of like length are answered together, the short
# ones first; another backend goes by the order of the file, and scores come relation by relation.
NOT_A_SAMPLE = "not a sample: which come first goes by length or order, and intervals do not allow for that"


def state_of(extent: AskedExtent | None) -> str:
    """complete, but for examples; or what is missing: PARTIAL, replies to ..; LIMITED: 5 of 46 questions of mini."""
    if extent is None:
        return COMPLETE
    clauses = [f"PARTIAL, {extent}, {NOT_A_SAMPLE}"] if extent.partial else []
    if extent.limited:
        clauses.append(f"LIMITED: {', '.join(record.limits() for record in extent.limited)}")
    if not clauses:
        clauses = [COMPLETE + (f" but for {counted(extent.held_back, 'question')}" if extent.held_back else "")]
    elif extent.held_back:
        clauses.append(counted(extent.held_back, "question"))
    if extent.held_back:
        clauses[-1] += " held back as examples"
    if extent.left_out:
        clauses.append(f"{counted(extent.left_out, 'row')} without a right answer left out")
    return "; ".join(clauses)


def limited_json(extent: AskedExtent | None) -> dict[str, Any] | None:
    """What part of each set was asked, of those asked in part; None if all, as far as is known."""
    if extent is None or not extent.limited:
        return None
    return {
        record.name: {
            "questions": record.n_asked,
            "in_set": record.n_in_set,
            "drawn": record.drawn,
            "seed": record.source.seed if record.is_random else None,
            "groups": list(record.source.groups),
        }
        for record in extent.limited
    }


def extent_of(run: AskedRun) -> AskedExtent:
    """How much of a run there is."""
    manifest, records = run.manifest, run.by_piece
    sizes = manifest.records().n_questions
    missing = {piece: _missing(piece, records.get(piece), sizes[piece.set]) for piece in manifest.asked}
    roots = {stored.name: _roots(stored, manifest.shard) for stored in run.stored_sets}
    by_cell: dict[str, dict[str, Counter[str]]] = {}
    for piece, stages in missing.items():
        if stages:
            by_cell.setdefault(piece.set, {}).setdefault(piece.variant, Counter()).update(stages)
    of_replies = sum(manifest.records().expected(piece.piece) for piece in manifest.asked)
    return AskedExtent(
        replies=of_replies - sum(stages.total() for stages in missing.values()),
        of_replies=of_replies,
        questions=len({roots[piece.set][r.question] for piece, record in records.items() for r in record.replies}),
        of_questions=len({root for of_set in roots.values() for root in of_set.values()}),
        variants=len({piece.variant for piece in records}),
        of_variants=len({piece.variant for piece in manifest.asked}),
        missing=by_cell,
        limited=tuple(record for record in run.set_records if record.is_limited),
        held_back=sum(record.held_back for record in run.set_records),
        left_out=sum(record.left_out for record in run.set_records),
    )


def _roots(stored: StoredSet, shard: str | None) -> dict[str, tuple[str, str]]:
    """The set and the question that each one of a share is, or is a claim of, by its id."""
    places = share_places(len(stored.questions), shard)
    return {question.id: (stored.name, question.root) for question in (stored.questions[place] for place in places)}


def _missing(piece: AskedPiece, record: PieceReplies | None, n_questions: int) -> Counter[str]:
    """The requests of a piece without reply or failure, by stage."""
    missing = Counter({stage: n_questions * piece.samples_at(stage) for stage in piece.stages})
    if record is not None:
        missing.subtract(reply.stage for reply in record.replies)
    return +missing
