"""Which replies a run folder has already, and which are missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from calprobe.asking.plan import Plan
from calprobe.asking.request_identity import requests_of
from calprobe.backends.protocol import Dialogue, Pending
from calprobe.messages import shortened
from calprobe.runs.asked_manifest import AskManifest
from calprobe.runs.folder import RecordFolder
from calprobe.runs.journal import Journal
from calprobe.runs.journal_reading import add_replies
from calprobe.runs.known_replies import Keys, is_asked, known_replies, without_prompts
from calprobe.runs.replies import NOT_ASKED_BEHIND, TOO_LONG, Reply
from calprobe.runs.reply_records import AskedPiece, PieceReplies
from calprobe.runs.stages import FINAL, GREEDY

LONGEST = 100  # characters of a conclusion that are shown in what is asked about it
AskFolder = RecordFolder[AskManifest, PieceReplies]


@dataclass(frozen=True, slots=True)
class Lacking:
    """The pieces of a request that lack replies."""

    counts: Mapping[AskedPiece, int]  # as they are asked now -> replies that are missing, failed ones among them

    @property
    def total(self) -> int:
        """Missing replies."""
        return sum(self.counts.values())


@dataclass(frozen=True, slots=True)
class Store:
    """The replies of a run: shards, and the journal with what has no complete piece yet."""

    folder: AskFolder
    journal: Journal

    def replies(self, asked: AskedPiece) -> dict[str, Reply]:
        """All replies that there are of a piece, failed ones too, by key; the journal's are the newer ones."""
        shard = self.folder.stored(asked.piece)
        replies: dict[str, Reply] = {}
        add_replies(replies, () if shard is None else shard.replies)
        add_replies(replies, self.journal.of_piece(asked.set, asked.variant, asked.paraphrase))
        return replies

    def write_if_complete(self, asked: AskedPiece, keys: Keys) -> bool:
        """Write the piece's shard if each of its requests has a reply or a failure; the journal then forgets it.

        Args:
            asked: a piece of the run.
            keys: those that the requests have now, see `keys_of`; of other requests, any reply is theirs.
        """
        manifest = self.folder.manifest
        run_piece = manifest.asked_piece(asked.piece)
        replies = self.replies(run_piece).values()
        record = known_replies(run_piece, replies, keys=keys)
        if not manifest.records().is_whole(record):
            return False
        source = next(set_record.source for set_record in manifest.sets if set_record.name == run_piece.set)
        self.folder.write_piece(record if source.quotable else without_prompts(record))
        self.journal.forget([reply.key for reply in replies if is_asked(run_piece, reply)])
        return True


def lacking(plan: Plan, store: Store, engine: str) -> Lacking:
    """How many replies of each piece are missing.

    A failed request counts as missing, and is asked again, unless its prompt is too long for a model that is the same
    and has no more room than before.
    """
    counts = {}
    for piece in plan.asked:
        count = sum(len(missing_keys(p)) for p in pendings(plan, store, piece, engine))
        if count:
            counts[piece] = count
    return Lacking(counts)


def pendings(plan: Plan, store: Store, asked: AskedPiece, engine: str) -> Iterator[Pending]:
    """The piece's dialogues that lack replies, with the replies that are there."""
    replies = store.replies(asked)
    retries = store.folder.manifest.backend.name == "openai"  # a server may have been started with a longer context
    for dialogue in plan.dialogues(asked, engine, store.folder.manifest.shard):
        pending = Pending(dialogue, _known(dialogue, replies, retries, plan.room))
        if missing_keys(pending):
            yield pending


def keys_of(plan: Plan, asked: AskedPiece, engine: str, shard: str | None) -> Keys:
    """The key of each request of a piece as it is asked now; none for a piece that the plan does not ask."""
    planned = next((asked_piece for asked_piece in plan.asked if asked_piece.piece == asked.piece), None)
    if planned is None:
        return {}
    return {
        (dialogue.question, stage, sample): key
        for dialogue in plan.dialogues(planned, engine, shard)
        for (stage, sample), key in dialogue.keys.items()
    }


def phases(plan: Plan, store: Store, engine: str) -> Iterator[Plan]:
    """The plan, and, where something is asked about what the model has said, the plan with what it said.

    That is its answers to other questions, which stand in for its own, or its conclusions.
    """
    yield plan
    if plan.waits_for_conclusions:
        plan = with_conclusions(plan, store, engine)
        yield plan
    if plan.waits_for_answers:
        yield with_answers(plan, store, engine)


def with_conclusions(plan: Plan, store: Store, engine: str) -> Plan:
    """The plan with what the model has concluded so far in what is asked about that."""
    return replace(plan, conclusions={piece: own_conclusions(plan, store, piece, engine) for piece in plan.asked})


def with_answers(plan: Plan, store: Store, engine: str) -> Plan:
    """The plan with the answers that the model has given so far as counterfactual ones."""
    return replace(plan, responses={piece: own_answers(plan, store, piece, engine) for piece in plan.asked})


def own_answers(plan: Plan, store: Store, asked: AskedPiece, engine: str) -> dict[str, str]:
    """The model's answers in the piece, by question; of several samples the first, none of those that failed."""
    replies = store.replies(asked)
    answers = {}
    for dialogue in plan.dialogues(asked, engine, store.folder.manifest.shard):
        key = None if dialogue.stage == GREEDY else dialogue.keys.get((dialogue.stage, 0))
        reply = None if key is None else replies.get(key)
        if reply is not None and reply.finish != "error":
            answers[dialogue.question] = reply.text
    return answers


def own_conclusions(plan: Plan, store: Store, asked: AskedPiece, engine: str) -> dict[tuple[str, int], str]:
    """What the model has concluded in the piece, by question and sample; none of those that failed."""
    replies = store.replies(asked)
    conclusions = {}
    for dialogue in plan.dialogues(asked, engine, store.folder.manifest.shard):
        for sample in dialogue.samples:
            key = dialogue.keys.get((FINAL, sample))
            reply = None if key is None else replies.get(key)
            if reply is not None and reply.finish != "error":
                conclusions[dialogue.question, sample] = shortened(" ".join(reply.text.split()), LONGEST)
    return conclusions


def unanswered(dialogue: Dialogue, failed: Reply) -> Iterable[Reply]:
    """A failure for each follow-up of a reply that failed: it is not asked."""
    if failed.stage != dialogue.stage:
        return
    for follow_up in dialogue.follow_ups:
        yield Reply(
            key=dialogue.keys[follow_up.stage, failed.sample],
            set=dialogue.set,
            question=dialogue.question,
            variant=dialogue.variant,
            stage=follow_up.stage,
            text="",
            finish="error",
            paraphrase=dialogue.paraphrase,
            sample=failed.sample,
            given=follow_up.instead,
            error=f"{NOT_ASKED_BEHIND} {failed.stage} failed: {failed.error}",
        )


def _known(dialogue: Dialogue, replies: Mapping[str, Reply], retries: bool, room: int) -> dict[tuple[str, int], Reply]:
    by_request = {
        request: reply
        for request in requests_of(dialogue)
        if (reply := replies.get(dialogue.keys[request])) is not None
    }
    answered = {request: reply for request, reply in by_request.items() if reply.finish != "error"}
    settled = answered | {request: reply for request, reply in by_request.items() if reply.reason == TOO_LONG}
    retries = retries or any(reply.is_too_long and 0 < reply.tokens_in < room for reply in by_request.values())
    # Follow-ups that are new are asked for with what they follow, also where that fails again.
    return settled if not retries and settled.keys() == set(requests_of(dialogue)) else answered


def missing_keys(pending: Pending) -> list[str]:
    """The keys of the replies that are to be given."""
    keys = pending.dialogue.keys
    return [keys[request] for request in requests_of(pending.dialogue) if request not in pending.known]
