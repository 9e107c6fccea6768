"""Estimators of one reply, from the probabilities of its tokens and of their alternatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from calprobe.arrays import Floats
from calprobe.confidence.asked.read_cell import NO_ALTERNATIVES, Read
from calprobe.confidence.asked.reply_table import ANSWER, Row
from calprobe.confidence.asked.sampled import EMPTY, mean_logprob
from calprobe.confidence.samples import ClaimProbability
from calprobe.confidence.types import NOT_ASKED, OK, REQUEST, Confidence

OF_ONE_REPLY = ("perplexity", "token_entropy")  # uncertainties that are no measures of a question's samples
Known = tuple[Sequence[float], Sequence[str]]  # of each row, and why it is not known


def sequence(read: Read) -> Confidence:
    """The length-normalised probability of each reply."""
    values, status = _mean_logprobs(read)
    return of_rows(read, np.exp(values), status)


def perplexity(read: Read) -> Confidence:
    """1 / the length-normalised probability of each reply."""
    values, status = _mean_logprobs(read)
    return of_rows(read, np.exp(np.negative(values)), status)


def token_entropy(read: Read) -> Confidence:
    """The mean entropy of each reply's positions; of windows the least that it can be."""
    entropies = [mean_entropy(row) for row in read.table.rows]
    return of_rows(read, [value for value, _ in entropies], [status for _, status in entropies])


def ccp(read: Read) -> Confidence:
    """The product over each reply's tokens: falls with their number."""
    return _claims(read, lambda claim: claim.product)


def ccp_mean(read: Read) -> Confidence:
    """The geometric mean over each reply's tokens."""
    return _claims(read, lambda claim: claim.mean)


def of_rows(read: Read, values: Sequence[float] | Floats, status: Sequence[str]) -> Confidence:
    """A number for each row with the correctness of its answer."""
    answers = read.answers
    numbers: Floats = np.asarray(values, np.float64)
    return answers.of_asked(Confidence(answers.prediction, numbers, answers.correct, why=np.array(status, np.str_)))


def _mean_logprobs(read: Read) -> Known:
    means = [mean_logprob(row) for row in read.table.rows]
    return [value for value, _ in means], [status for _, status in means]


def mean_entropy(row: Row, stage: str = ANSWER) -> tuple[float, str]:
    """The mean entropy of a reply's positions, and why it is not known."""
    reply = row.replies.get(stage)
    if reply is None:
        return float("nan"), REQUEST if stage in row.failed else NOT_ASKED
    if reply.alternatives is None:
        return float("nan"), NO_ALTERNATIVES
    entropies = reply.alternatives.entropies
    return (float(entropies.astype(np.float64).mean()), OK) if len(entropies) else (float("nan"), EMPTY)


def _claims(read: Read, value: Callable[[ClaimProbability], float]) -> Confidence:
    claims = read.claims
    values = [np.nan if claim is None else value(claim) for claim, _ in claims]
    return of_rows(read, values, [status for _, status in claims])
