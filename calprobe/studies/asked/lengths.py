"""How long replies and thoughts are, and how many were cut: by stage of a cell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from calprobe.confidence.asked import ReplyTable
from calprobe.runs.replies import Reply
from calprobe.runs.stages import LABEL


@dataclass(frozen=True, slots=True)
class Lengths:
    """Numbers of tokens."""

    n: int
    mean: float
    least: float
    quartile_1: float
    median: float
    quartile_3: float
    most: float


@dataclass(frozen=True, slots=True)
class StageLengths:
    """The replies of one stage of a cell."""

    JSON: ClassVar = "n=replies tokens thoughts cut open_thoughts ended_thoughts"

    stage: str
    replies: int
    tokens: Lengths | None  # of the replies behind their thoughts; None: of none known
    thoughts: Lengths | None  # with their markers; None: there are none, or they are not counted
    cut: float  # share of the replies that ended at their budget
    open_thoughts: float  # share of the replies with a thought without an end
    ended_thoughts: float  # share of the replies with a thought that was ended for the model


def cell_lengths(cell: ReplyTable) -> tuple[StageLengths, ...]:
    """By stage, in the order of the first row that has it; label probabilities alone have no length."""
    stages = dict.fromkeys(stage for row in cell.rows for stage in row.replies if stage != LABEL)
    lengths = (_stage(stage, [row.replies[stage] for row in cell.rows if stage in row.replies]) for stage in stages)
    return tuple(of_stage for of_stage in lengths if of_stage is not None)


def _stage(stage: str, replies: Sequence[Reply]) -> StageLengths | None:
    """None where no reply has its tokens counted."""
    counts = [count for reply in replies if (count := reply.tokens) is not None]
    thoughts = [count for reply in replies if (count := _thought(reply))]
    if not counts and not thoughts:
        return None
    return StageLengths(
        stage,
        len(replies),
        _lengths(counts),
        _lengths(thoughts),
        float(np.mean([reply.finish == "length" for reply in replies])),
        float(np.mean([reply.reasoning_is_open for reply in replies])),
        float(np.mean([reply.thought_was_ended for reply in replies])),
    )


def _thought(reply: Reply) -> int:
    """Tokens of the thought, hidden ones too; 0: none, or not counted."""
    return reply.thought_tokens or reply.reasoning_tokens


def _lengths(counts: Iterable[int]) -> Lengths | None:
    values = np.array(list(counts), np.float64)
    if not len(values):
        return None
    least, first, median, third, most = np.quantile(values, [0, 0.25, 0.5, 0.75, 1]).tolist()
    return Lengths(len(values), float(values.mean()), least, first, median, third, most)
