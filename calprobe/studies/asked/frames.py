"""Asked runs as pandas frames: what was read off each reply; each row's confidences."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from calprobe.answers.reading import Reading
from calprobe.cells.asked import Asked, AskedCell, ReadSet, read_sets
from calprobe.cells.cell_readers import check_used
from calprobe.confidence.asked import Answers
from calprobe.confidence.asked.readings import greedy_answer, stage_of
from calprobe.confidence.asked.reply_table import ANSWER, LABEL
from calprobe.confidence.asked.sample_readings import reading_of, representatives
from calprobe.confidence.asked.stated_confidence import stated_readings
from calprobe.confidence.types import MORE, NOT_ASKED, REQUEST
from calprobe.interop.asked_exports import IN_WORDS, Place, in_words, place_of
from calprobe.measures.options import ReportOptions
from calprobe.runs.stages import StatedStage
from calprobe.studies.stated.matrices import conditions

if TYPE_CHECKING:
    import pandas as pd

READINGS = (
    *("set", "question", "variant", "paraphrase", "sample", "stage", "reader"),
    *("value", "status", "rule", "start", "end", "correct"),
    *("graded_by", "score", "abstained"),
)
CONFIDENCES = (
    *("set", "question", "variant", "sample", "estimator", "prediction", "confidence", "correct", "status"),
    *("paraphrase", "mass", *MORE, *IN_WORDS),
)


def readings_frame(asked: Asked, options: ReportOptions) -> pd.DataFrame:
    """What every reader found in each reply: answers, and stated confidences, whose reader is `stated`.

    `start` and `end` are characters of the reply, -1 where nothing was read; `correct` and the columns behind
    it are null for stated confidences; `score` is ROUGE-L, or the judge's probability that the answer is right.
    """
    import pandas as pd

    rows: list[tuple[Any, ...]] = []
    for read_set in _read(asked, options):
        for opened in read_set.cells.values():
            for reader, answers in opened.answers.items():
                rows += _answers(opened, reader, answers)
            for name, condition in product(opened.table.stated, ("", *conditions(opened.table))):
                rows += _stated(opened, StatedStage(name, condition))
    frame = pd.DataFrame(rows, columns=list(READINGS))
    return frame.astype(
        {"value": "string", "correct": "boolean", "graded_by": "string", "score": "Float64", "abstained": "boolean"}
    )


def _read(run: Asked, options: ReportOptions) -> list[ReadSet]:
    sets = list(read_sets(run, options))
    check_used(options.readers, [name for read_set in sets for name in read_set.readers])
    return sets


def _answers(opened: AskedCell, reader: str, answers: Answers) -> Iterator[tuple[Any, ...]]:
    graded: tuple[bool | None, str | None, float | None, bool | None]
    rows = zip(opened.table.rows, answers.readings, answers.grades, strict=True)
    for row, reading, grade in rows:
        graded = grade.correct, grade.rule, grade.score, grade.abstained
        if reading.status in (NOT_ASKED, REQUEST):
            graded = None, None, None, None
        stage = stage_of(reader)
        stage = LABEL if stage == ANSWER and ANSWER not in row.replies and ANSWER not in row.failed else stage
        yield (*_place(opened, row.key, stage), reader, *_reading(reading), *graded)


def _stated(opened: AskedCell, stage: StatedStage) -> Iterator[tuple[Any, ...]]:
    readings = stated_readings(opened.table, stage.prompt, opened.read.way, stage.condition)
    for row, reading in zip(opened.table.rows, readings, strict=True):
        yield (*_place(opened, row.key, stage.stage), "stated", *_reading(reading), None, None, None, None)


def _place(opened: AskedCell, key: tuple[str, int, int], stage: str) -> tuple[Any, ...]:
    question, paraphrase, sample = key
    return opened.table.set, question, opened.table.variant, paraphrase, sample, stage


def _reading(reading: Reading) -> tuple[Any, ...]:
    value = None if reading.value is None else str(reading.value)
    return value, reading.status, reading.rule, reading.start, reading.end


def confidences_frame(asked: Asked, options: ReportOptions) -> pd.DataFrame:
    """A row for each answer and estimator: prediction (a label, null of a free answer), confidence, correct, status.

    `confidence` is null where it could not be read, and `status` says why. `mass` is the probability of all replies of
    the closed set that it is a share of; `low` and `high` are the least and the largest that `p_true` can be by a
    window, `mode` and `spread` those of the distribution that `stated_PROMPT.expected` is the mean of. Last come the
    question, its options and right answer, the answer that the confidence speaks of as the first reader found it (of
    `.majority` the most frequent one, of `.greedy` the greedy one), and the question's group.
    """
    import pandas as pd

    rows: list[tuple[Any, ...]] = []
    quotable = {of_set.name: of_set.source.quotable for of_set in asked.sets}
    for read_set in _read(asked, options):
        for opened in read_set.cells.values():
            words = {
                reading: [
                    in_words(row.question, answer, quotable=quotable[read_set.name])
                    for row, answer in zip(opened.table.rows, _answers_of(opened, reading), strict=True)
                ]
                for reading in set(map(reading_of, opened.confidences))
            }
            for name, confidences in opened.confidences.items():
                nothing = np.full(len(opened.table), np.nan)
                last = [
                    nothing if confidences.mass is None else confidences.mass,
                    *(confidences.more.get(column, nothing) for column in MORE),
                ]
                columns = (
                    confidences.prediction,
                    confidences.confidence,
                    confidences.correct,
                    confidences.status,
                    *last,
                )
                lists = (column.tolist() for column in columns)
                values = zip(opened.table.rows, words[reading_of(name)], *lists, strict=True)
                for row, said, prediction, confidence, correct, status, *more in values:
                    label = row.question.labels[prediction] if prediction >= 0 else None
                    place = (opened.table.set, row.question.id, opened.table.variant, row.sample)
                    rows.append((*place, name, label, confidence, correct, status, row.paraphrase, *more, *said))
    texts = dict.fromkeys(("prediction", *IN_WORDS), "string")
    return pd.DataFrame(rows, columns=list(CONFIDENCES)).astype(texts)


def _answers_of(cell: AskedCell, reading: str) -> list[str | None]:
    """For each row the answer that confidences of a reading speak of, as text; None where they speak of none."""
    if reading == "greedy":
        return [greedy_answer(row, cell.read.answers.reader) for row in cell.table.rows]
    answers = [answer for answer, _ in first_answers(cell)]
    if reading == "answers":
        return answers
    places = representatives(cell.read)
    return [answers[places[row]] if row in places else None for row in range(len(answers))]


def first_answers(cell: AskedCell) -> list[tuple[str | None, bool | None]]:
    """For each row, what the first reader found, as text (None: nothing), and whether it is right."""
    answers = next(iter(cell.answers.values()))
    return [
        (answer_text(reading), grade.correct) for reading, grade in zip(answers.readings, answers.grades, strict=True)
    ]


def answer_text(reading: Reading) -> str | None:
    """An answer as it is shown: a number without digits that it has not."""
    return f"{reading.value:.15g}" if isinstance(reading.value, float) else reading.value


def answers_by_reply(asked: Asked, options: ReportOptions) -> dict[Place, tuple[str | None, bool | None]]:
    """What the first reader found in each reply that gives an answer (None: nothing), and whether it is right."""
    cells = (cell for read_set in _read(asked, options) for cell in read_set.cells.values())
    return {
        place_of(row.first): answer
        for cell in cells
        for row, answer in zip(cell.table.rows, first_answers(cell), strict=True)
    }
