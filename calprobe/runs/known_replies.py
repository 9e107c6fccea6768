"""The replies of a piece that there are, out of its shard and the journal: one for each request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from calprobe.runs.journal_reading import add_replies
from calprobe.runs.replies import Reply
from calprobe.runs.reply_records import AskedPiece, PieceReplies

Keys = Mapping[tuple[str, str, int], str]  # question, stage and sample -> key


def known_replies(asked: AskedPiece, *several: Iterable[Reply], keys: Keys = MappingProxyType({})) -> PieceReplies:
    """The piece as far as its requests have a reply or a failure.

    Args:
        asked: what the piece asks.
        several: replies; of those with one key the last that is no failure counts.
        keys: those that the requests have now; of other requests, any reply is theirs.
    """
    by_key: dict[str, Reply] = {}
    for replies in several:
        add_replies(by_key, replies)
    by_request: dict[tuple[str, str, int], list[Reply]] = {}
    for reply in by_key.values():
        if is_asked(asked, reply):
            by_request.setdefault((reply.question, reply.stage, reply.sample), []).append(reply)
    chosen = (only_reply(replies, keys.get(request)) for request, replies in by_request.items())
    return PieceReplies.of(asked, (reply for reply in chosen if reply is not None))


def is_asked(asked: AskedPiece, reply: Reply) -> bool:
    """Whether the piece asks at the reply's stage, for so many samples."""
    return reply.stage in asked.stages and reply.sample < asked.samples_at(reply.stage)


def only_reply(replies: Sequence[Reply], key: str | None) -> Reply | None:
    """The one reply of a request: that with the key, and none where this one is still missing.

    A failure is taken where there is nothing else. None, too, where no key tells which of several replies it is.
    """
    candidates = [reply for reply in replies if key is None or reply.key == key]
    if not candidates:
        return None
    good = [reply for reply in candidates if reply.finish != "error"]
    good = good or [reply for reply in replies if reply.finish != "error"]
    if len(good) > 1:
        return None
    return good[0] if good else candidates[-1]


def without_prompts(record: PieceReplies) -> PieceReplies:
    """The replies without the texts of questions, which must not be quoted."""
    return replace(record, replies=tuple(replace(reply, prompt="", prompt_ids=None) for reply in record.replies))
