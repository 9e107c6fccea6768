"""An asked run as analysis has it, and its cells with the answers that were read in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from calprobe.answers.graders import GradeRules
from calprobe.cells.asked_extent import AskedExtent
from calprobe.cells.cell import UNKNOWN, Cell, Confidences, Units
from calprobe.cells.cell_readers import readers_of_cell, stated_reader
from calprobe.cells.reading_options import ReplyReading
from calprobe.confidence import Confidence
from calprobe.confidence.asked import (
    Answers,
    ReplyTable,
    WayToRead,
    asked_estimators,
    read_answers,
    reply_tables,
)
from calprobe.confidence.asked.label_masses import NO_ANSWER
from calprobe.confidence.asked.read_cell import Read
from calprobe.confidence.asked.reply_table import ANSWER, FINAL
from calprobe.confidence.estimator import Estimator
from calprobe.errors import UsageError
from calprobe.messages import no_such
from calprobe.metrics.recalibration import fit_uncertainty
from calprobe.metrics.uncertainty_map import UncertaintyMaps
from calprobe.prompts.fields import field_text
from calprobe.prompts.types import PromptSet
from calprobe.questions.types import QuestionSet
from calprobe.runs.grades import StoredGrade
from calprobe.runs.manifest_records import ModelSize
from calprobe.runs.meanings import StoredMeanings
from calprobe.runs.replies import Reply
from calprobe.runs.stages import StatedStage
from calprobe.words import Calibrate

# Of the study of science questions: tokens that label probabilities are read from, and alternatives of a token.
STUDY_WINDOW, STUDY_ALTERNATIVES = 20, 5


AskedAs = Literal["base", "instruct", "reasoning", "unknown"]  # plain text, chat, chat with a thought in front


@dataclass(frozen=True, slots=True)
class Asked:
    """Questions and replies of a run, from its folder or made in memory."""

    label: str  # as typed, or the name that it was given
    model: str
    sets: tuple[QuestionSet, ...]
    replies: tuple[Reply, ...]
    prompts: PromptSet | None = None  # None: of an import
    extent: AskedExtent | None = None  # None: all that was asked is there
    size: ModelSize | None = None  # of the model; None: not known
    about: Mapping[str, str] = field(default_factory=dict)  # what else the manifest says, for the disclosure
    grades: Mapping[str, StoredGrade] = field(default_factory=dict)  # by the key of the reply, see `calprobe grade`
    judge_mass: float | None = None  # see `StoredGrades.judge_mass`
    asked_as: AskedAs = "unknown"  # how prompts reached the model; unknown of what another tool asked
    plain: frozenset[str] = frozenset()  # variants that were asked as plain text
    meanings: StoredMeanings | None = None  # what models say of the answers' meaning, see `calprobe grade --nli`

    @property
    def partial(self) -> bool:
        """Whether any request has neither a reply nor a failure."""
        return self.extent is not None and self.extent.partial

    @property
    def turns(self) -> dict[str, int]:
        """By variant, how many places the options of its questions were moved up."""
        return {} if self.prompts is None else {variant.name: variant.turned for variant in self.prompts.variants}

    @property
    def stakes(self) -> dict[str, float]:
        """By variant, the stakes that its prompt names."""
        variants = () if self.prompts is None else self.prompts.variants
        return {variant.name: variant.stakes for variant in variants if variant.stakes is not None}

    @property
    def perturbations(self) -> dict[str, tuple[str, ...]]:
        """By name, the variants that stand for wordings of a question."""
        return {} if self.prompts is None else dict(self.prompts.perturbations)

    def asks_for_a_conclusion(self, table: ReplyTable) -> bool:
        """Whether a turn behind the replies of a cell asks what they conclude."""
        variants = () if self.prompts is None else self.prompts.variants
        names = self.perturbations.get(table.variant, (table.variant,))
        return any(
            wording.conclusion
            for variant in variants
            if variant.name in names
            for wording in (variant, *variant.wordings.values())
        )

    def asks_for_another_form(self, table: ReplyTable) -> bool:
        """Whether the variant of a cell asks for another form of reply; of an import: whether it has final labels."""
        return table.has(FINAL) if self.prompts is None else table.variant in self.prompts.format_changes


@dataclass(frozen=True)
class AskedCell:
    """A set under one variant: its cell, with the replies and the answers that were read off them."""

    cell: Cell
    read: Read  # under the reader that confidences go by
    answers: Mapping[str, Answers]  # by reader, the one that confidences go by first
    maps: Mapping[str, UncertaintyMaps] = field(default_factory=dict)  # by estimator, of those that a map has made

    @property
    def table(self) -> ReplyTable:
        """The replies, a row for each answer."""
        return self.read.table

    @property
    def units(self) -> Units:
        """Those of the cell."""
        return self.cell.units

    @property
    def estimators(self) -> Mapping[str, Estimator]:
        """Those of the cell."""
        return self.cell.estimators

    @property
    def confidences(self) -> Mapping[str, Confidence]:
        """Those of the cell."""
        return self.cell.confidences

    def at(self, places: Sequence[int]) -> AskedCell:
        """The rows at these places alone, with the confidences that they have among all rows."""
        if list(places) == list(range(len(self.table))):
            return self
        read, answers = self.read.at(places), {name: of_reader.at(places) for name, of_reader in self.answers.items()}
        # Of these rows alone a question may have one.
        return AskedCell(replace(self.cell.at(places), units=_units(read.table)), read, answers, self.maps)

    def only(self, estimators: Iterable[str]) -> AskedCell:
        """With these estimators alone."""
        return replace(self, cell=self.cell.only(estimators))


@dataclass(frozen=True, slots=True)
class ReadSet:
    """A set's cells, before any number is computed."""

    name: str
    questions: int
    claims: int  # about the options of these questions; 0: they are asked themselves
    cells: Mapping[str, AskedCell]  # by variant

    @property
    def readers(self) -> tuple[str, ...]:
        """Every reader that any variant is read by."""
        return tuple(dict.fromkeys(reader for cell in self.cells.values() for reader in cell.answers))

    @property
    def answered(self) -> int:
        """The questions with a reply under any variant: of a run that is not finished fewer than it is to ask."""
        return len({row.question.root for cell in self.cells.values() for row in cell.table.rows})


def read_sets(asked: Asked, options: ReplyReading) -> Iterator[ReadSet]:
    """Each set of a run that has any replies, read."""
    way = _way(asked, options)
    sizes = {
        question_set.name: (question_set.n_roots, sum(bool(question.of) for question in question_set.questions))
        for question_set in asked.sets
    }
    if options.window is not None:
        _check_ranks(asked)
    by_set = reply_tables(asked.sets, _taken_apart(asked), asked.grades, asked.turns, asked.perturbations, asked.plain)
    _check_variants(asked.label, options.variants, [name for tables in by_set.values() for name in tables])
    for name, by_variant in by_set.items():
        tables = {
            variant: table
            for variant, table in by_variant.items()
            if options.variants is None or variant in options.variants
        }
        if tables:
            cells = {variant: _cell(table, way, asked, options) for variant, table in tables.items()}
            yield ReadSet(name, *sizes[name], cells)


def _taken_apart(asked: Asked) -> Iterator[Reply]:
    """The replies; behind one of JSON, each confidence in it as the reply to a stated prompt of that name."""
    nothing: dict[str, Any] = {"token_ids": None, "logprobs": None, "label_scores": None, "alternatives": None}
    nothing |= {"tokens_in": 0, "tokens_out": 0, "thought_tokens": 0, "reasoning": None, "reasoning_tokens": 0}
    fields = asked.prompts.fields if asked.prompts is not None else ()
    for reply in asked.replies:
        yield reply
        if reply.stage == ANSWER and reply.finish != "error":
            for stated in fields:
                stage, text = StatedStage(stated.name).stage, field_text(reply.text, stated)
                yield replace(reply, key=f"{reply.key}:{stated.name}", stage=stage, text=text, **nothing)


def format_changes(asked: Asked, cells: Mapping[str, AskedCell]) -> tuple[str, ...]:
    """The variants of a set that ask for another form of reply; none where all do."""
    changes = tuple(variant for variant, cell in cells.items() if asked.asks_for_another_form(cell.table))
    return changes if len(changes) < len(cells) else ()


def usual_variants(asked: Asked, cells: Mapping[str, AskedCell]) -> tuple[str, ...]:
    """The variants with the usual form of reply and order of options, which means over variants are of; all if none."""
    left_out = {*format_changes(asked, cells), *(name for name, places in asked.turns.items() if places)}
    return tuple(name for name in cells if name not in left_out) or tuple(cells)


def _check_variants(label: str, variants: Sequence[str] | None, run_variants: Sequence[str]) -> None:
    """Raise UsageError for a variant that is wanted and that the run has not."""
    for name in variants or ():
        if name not in run_variants:
            raise UsageError(f"--variants: {no_such(name, dict.fromkeys(run_variants), f'in {label}')}")


def _way(asked: Asked, options: ReplyReading) -> WayToRead:
    read_one, window = stated_reader(options, asked.prompts), options.window
    if not options.by_study:
        return WayToRead(read_one, options.by_paper, window=window)
    ranked = all(reply.label_scores is None or reply.label_scores.ranks is not None for reply in asked.replies)
    return WayToRead(
        read_one, claims="token", alternatives=STUDY_ALTERNATIVES, window=window or (STUDY_WINDOW if ranked else None)
    )


def _check_ranks(asked: Asked) -> None:
    """Raise UsageError where a window cannot be applied: ranks were not counted."""
    for reply in asked.replies:
        scores = reply.label_scores
        if scores is not None and scores.ranks is None:
            raise UsageError(f"--window: {asked.label} has no ranks of labels to apply a window to; leave it out")


def _answers(asked: Asked, table: ReplyTable, options: ReplyReading) -> dict[str, Answers]:
    rules = GradeRules(tolerance="equal") if options.by_study else None
    return {
        name: read_answers(table, name, rules)
        for name in readers_of_cell(table, options, asked.asks_for_a_conclusion(table))
    }


def _cell(table: ReplyTable, way: WayToRead, asked: Asked, options: ReplyReading) -> AskedCell:
    answers = _answers(asked, table, options)
    read = Read(table, next(iter(answers.values())), way, asked.meanings)
    estimators = asked_estimators(read, options.forms)
    confidences = Confidences(estimators, partial(_confidence, read, by_study=options.by_study))
    cell = Cell(asked.label, asked.model, table.set, table.variant, _units(table), estimators, confidences)
    asked_cell = AskedCell(cell, read, answers)
    return asked_cell if options.calibrate is None else _calibrated(asked_cell, options.calibrate)


def _units(table: ReplyTable) -> Units:
    """The answers; where some questions have several, resamples draw questions."""
    questions = np.array([row.question.root for row in table.rows], np.str_)
    return Units(
        questions,
        np.fromiter((row.key for row in table.rows), object, len(table)),
        np.array([len(q.options) if (q := row.question).is_known else UNKNOWN for row in table.rows], np.int64),
        questions if len(np.unique(questions)) < len(questions) else None,
    )


def _confidence(read: Read, estimator: Estimator, *, by_study: bool) -> Confidence:
    """What an estimator says; in the study of science questions of the rows alone that have an answer."""
    confidence: Confidence = estimator(read)
    if not by_study:
        return confidence
    lacking = confidence.read & ~read.answers.extracted
    values, why = np.where(lacking, np.nan, confidence.confidence), np.where(lacking, NO_ANSWER, confidence.status)
    return replace(confidence, confidence=values, why=why)


def _calibrated(asked_cell: AskedCell, method: Calibrate) -> AskedCell:
    """With each uncertainty without a scale as the chance of being right, too: NAME.METHOD, fitted on other questions.

    Left out where fewer than two questions have it.
    """
    cell, estimators, confidences = asked_cell.cell, dict(asked_cell.estimators), dict(asked_cell.confidences)
    maps: dict[str, UncertaintyMaps] = {}
    for name, estimator in cell.estimators.items():
        confidence, questions = confidences[name], cell.units.group
        read = confidence.read
        if estimator.scale != "uncertainty" or len(np.unique(questions[read])) < 2:
            continue
        values = np.full(len(read), np.nan)
        values[read], fitted = fit_uncertainty(
            confidence.confidence[read], confidence.correct[read], questions[read], method
        )
        definition = f"{estimator.definition}; as a confidence, by a map fitted on other questions ({method})"
        calibrated = replace(
            estimator, name=f"{name}.{method}", definition=definition, group="samples", scale="probability"
        )
        estimators[calibrated.name], maps[calibrated.name] = calibrated, fitted
        confidences[calibrated.name] = Confidence(
            confidence.prediction, values, confidence.correct, why=confidence.status
        )
    return replace(asked_cell, cell=replace(cell, estimators=estimators, confidences=confidences), maps=maps)
