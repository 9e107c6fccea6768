"""Confidence that a model states in words."""

from __future__ import annotations

import numpy as np

from calprobe.answers.reading import Reading
from calprobe.confidence.asked.read_cell import WayToRead
from calprobe.confidence.asked.readings import Answers
from calprobe.confidence.asked.reply_table import ReplyTable, Row
from calprobe.confidence.types import NOT_ASKED, REQUEST, Confidence
from calprobe.runs.stages import StatedStage


def stated_readings(table: ReplyTable, name: str, way: WayToRead, condition: str = "") -> tuple[Reading, ...]:
    """What was read off each row's stated confidence, [rows]; `condition`: in what stood in the answer's place."""
    return tuple(_reading(row, StatedStage(name, condition).stage, name, way) for row in table.rows)


def stated_confidence(table: ReplyTable, name: str, answers: Answers, way: WayToRead) -> Confidence:
    """The stated confidence of each row with the correctness of its answer, an answer that was not read being wrong.

    A statement that cannot be read is no wrong answer: the row has no confidence, and its status says why.
    """
    readings = stated_readings(table, name, way)
    values = [np.nan if reading.value is None else float(reading.value) for reading in readings]
    return Confidence(
        answers.prediction,
        np.array(values, np.float64),
        answers.correct,
        why=np.array([reading.status for reading in readings], np.str_),
    )


def _reading(row: Row, stage: str, name: str, way: WayToRead) -> Reading:
    reply = row.replies.get(stage)
    if reply is None:
        return Reading(None, REQUEST if stage in row.failed else NOT_ASKED, "")
    return way.read_stated(reply, name)
