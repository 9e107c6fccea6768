"""Claim-conditioned probability of the replies of a cell, from judged alternatives of their tokens."""

from __future__ import annotations

from calprobe.answers.token_claims import ccp_pairs
from calprobe.confidence.asked.reply_table import ANSWER, ReplyTable, Row
from calprobe.confidence.asked.sampled import EMPTY, Meanings
from calprobe.confidence.asked.way_to_read import WayToRead
from calprobe.confidence.samples import ClaimProbability, ccp
from calprobe.confidence.types import NOT_ASKED, NOT_JUDGED, OK, REQUEST

NO_ALTERNATIVES = "no alternatives of its tokens"
Claim = tuple[ClaimProbability | None, str]  # and why it is not known


def claim_probabilities(table: ReplyTable, meanings: Meanings | None, way: WayToRead) -> tuple[Claim, ...]:
    """Of each row's answer, [rows], in the context and with as many alternatives as the way to read has."""
    return tuple(_claim(table.set, row, meanings, way) for row in table.rows)


def _claim(set_name: str, row: Row, meanings: Meanings | None, way: WayToRead) -> Claim:
    reply = row.replies.get(ANSWER)
    if reply is None:
        return None, REQUEST if ANSWER in row.failed else NOT_ASKED
    if reply.alternatives is None:
        return None, NO_ALTERNATIVES
    if not len(reply.alternatives):
        return None, EMPTY
    tokens = reply.alternatives.tokens(way.alternatives)
    pairs = ccp_pairs(tokens, way.claims)
    probabilities = None if meanings is None else meanings.claimed(set_name, row.question.id, pairs, way.claims)
    if probabilities is None:
        return None, NOT_JUDGED
    return ccp(tokens, lambda claims: probabilities, way.claims), OK
