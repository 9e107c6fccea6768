"""From the cells of an opened run to matrices of stated confidence, with what was put in the answers' places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from calprobe.answers import read_on_scale
from calprobe.answers.reading import Reading
from calprobe.answers.same_answer import is_right, say_the_same, text_says
from calprobe.arrays import Floats, Mask
from calprobe.cells.asked import AskedCell
from calprobe.confidence.asked import ReplyTable
from calprobe.confidence.asked.closed_confidence import closed_readings
from calprobe.confidence.types import rounded
from calprobe.prompts.types import PromptSet, Stated
from calprobe.questions.types import Question
from calprobe.runs.replies import Reply
from calprobe.runs.stages import COUNTERFACTUAL, StatedStage, stated_stage
from calprobe.studies.stated.stated_cells import Matrix, StatedCell, StatedPrompt

LEAST_PROMPTS = 3  # of a set without groups, for a study of its own: the audit compares two
LENIENT = "lenient"  # the status


def is_study(prompts: PromptSet | None, cells: Sequence[AskedCell]) -> bool:
    """Whether a run asks what this study asks: it has groups of prompts, three prompts, or replaced answers."""
    if prompts is not None and (prompts.groups or len(prompts.stated) >= LEAST_PROMPTS):
        return any(opened.table.stated for opened in cells)
    return any(conditions(opened.table) for opened in cells)


def prompts_of(prompts: PromptSet | None, cells: Sequence[AskedCell]) -> tuple[StatedPrompt, ...]:
    """The prompts that ask for a confidence, in the order of the prompt set; of an import by name."""
    if prompts is None:
        names = sorted({name for opened in cells for name in opened.table.stated})
        return tuple(StatedPrompt(name) for name in names)
    stated_prompts = []
    for prompt in prompts.stated:
        forward = prompts.forward_of(prompt.name)
        stated_prompts.append(StatedPrompt(prompt.name, "" if forward is None else forward.name, prompt.is_reversed))
    return tuple(stated_prompts)


def stated_cell(
    opened: AskedCell, prompts: Sequence[StatedPrompt], texts: PromptSet | None = None
) -> StatedCell | None:
    """The matrix of one cell; None where none of these prompts was asked there.

    Args:
        opened: the cell.
        prompts: that asked for a confidence; those that this cell lacks are left out.
        texts: the run's prompt set, which lenient reading needs the scales of; None: of an import.
    """
    present = tuple(prompt for prompt in prompts if prompt.name in opened.table.stated)
    if not present:
        return None
    scales = {} if texts is None else {stated.name: stated for stated in texts.stated}
    matrix = _matrix(opened, present, "", scales)
    expected, mass = _expected(opened, present, "")
    cell = StatedCell(
        set=opened.table.set,
        variant=opened.table.variant,
        prompts=present,
        own=matrix,
        asked=_asked(opened.table, present),
        correct=opened.read.answers.correct,
        abstained=opened.read.answers.abstained,
        clusters=None if opened.units.clusters is None else opened.units.group,
        replaced={name: _matrix(opened, present, name, scales) for name in conditions(opened.table)},
        invalid={COUNTERFACTUAL: _invalid(opened, present, COUNTERFACTUAL)},
        expected=expected,
        mass=mass,
        expected_replaced={
            name: values
            for name in conditions(opened.table)
            if (values := _expected(opened, present, name)[0]) is not None
        },
    )
    unasked = ~opened.read.answers.asked  # the first reader has nothing to read: they are neither right nor wrong
    return cell.without(unasked) if unasked.any() else cell


def conditions(cell: ReplyTable) -> tuple[str, ...]:
    """What stood in the place of answers while confidences were asked for, in the order of the first replies."""
    stages = dict.fromkeys(stage for row in cell.rows for stage in (*row.replies, *row.failed))
    parsed = (stated_stage(stage) for stage in stages)
    return tuple(
        dict.fromkeys(of_stage.condition for of_stage in parsed if of_stage is not None and of_stage.condition)
    )


def _matrix(opened: AskedCell, prompts: Sequence[StatedPrompt], condition: str, scales: Mapping[str, Stated]) -> Matrix:
    """The confidences under one condition; NaN where nothing was asked or read."""
    shape = len(prompts), len(opened.table)
    confidence, lenient = np.full(shape, np.nan), np.zeros(shape, np.bool_)
    for place, prompt in enumerate(prompts):
        stage = StatedStage(prompt.name, condition).stage
        for at, row in enumerate(opened.table.rows):
            if (reply := row.replies.get(stage)) is None:
                continue
            reading = opened.read.way.read_stated(reply, prompt.name)
            lenient[place, at] = reading.status == LENIENT
            if reading.status == LENIENT and reading.value is None and prompt.name in scales:
                reading = _leniently(reply, scales[prompt.name])
            if reading.value is not None:
                confidence[place, at] = float(reading.value)
    return Matrix(rounded(confidence), lenient)


def _leniently(reply: Reply, stated: Stated) -> Reading:
    cut = reply.finish == "length"
    return read_on_scale(reply.text, stated.scale, stated.expressions, cut=cut, lenient=True)


def _asked(cell: ReplyTable, prompts: Sequence[StatedPrompt]) -> Mask:
    """Where there is a reply to be read, [prompts, answers]."""
    stages = [StatedStage(prompt.name).stage for prompt in prompts]
    return np.array([[stage in row.replies for row in cell.rows] for stage in stages], np.bool_)


def _invalid(opened: AskedCell, prompts: Sequence[StatedPrompt], condition: str) -> Mask:
    """Answers whose replacement repeats the model's own, or is right itself, [answers]."""
    stages = [StatedStage(prompt.name, condition).stage for prompt in prompts]
    rows = zip(opened.table.rows, opened.read.answers.readings, strict=True)
    replacements = [
        (next((row.replies[stage].given for stage in stages if stage in row.replies), None), row, reading)
        for row, reading in rows
    ]
    return np.array(
        [text is not None and _says_the_same(text, row.question, reading) for text, row, reading in replacements],
        np.bool_,
    )


def _says_the_same(text: str, question: Question, reading: Reading) -> bool:
    """Whether an answer that was put into the conversation is the model's own one, or one of the right ones."""
    replacement = text_says(text, question)
    return is_right(replacement, question) or say_the_same(replacement, reading, question)


def _expected(
    opened: AskedCell, prompts: Sequence[StatedPrompt], condition: str
) -> tuple[Floats, Floats] | tuple[None, None]:
    """The means over the closed sets of replies and their mass, [prompts, answers]; None where no prompt has one."""
    readings = [closed_readings(opened.table, prompt.name, opened.read.way, condition) for prompt in prompts]
    values = np.array([reading.expected for reading in readings]).reshape(len(prompts), len(opened.table))
    return (
        (None, None) if np.isnan(values).all() else (rounded(values), np.array([reading.mass for reading in readings]))
    )
