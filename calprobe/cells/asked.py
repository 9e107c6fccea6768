"""An asked run as analysis has it, and its cells with the answers that were read in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from calprobe.answers.grading import GradeRules
from calprobe.cells.asked_extent import AskedExtent
from calprobe.cells.cell_readers import readers_of_cell, stated_reader
from calprobe.cells.reading import ReplyReading
from calprobe.confidence import Confidence
from calprobe.confidence.asked import (
    Answers,
    Cell,
    WayToRead,
    asked_estimators,
    cells_of,
    read_answers,
)
from calprobe.confidence.asked.cell import FINAL
from calprobe.confidence.asked.labels import NO_ANSWER
from calprobe.confidence.asked.read_cell import Read
from calprobe.confidence.estimator import Estimator
from calprobe.errors import UsageError
from calprobe.messages import no_such
from calprobe.metrics.recalibration import fit_uncertainty
from calprobe.metrics.uncertainty_map import UncertaintyMaps
from calprobe.prompts.types import PromptSet
from calprobe.questions.types import QuestionSet
from calprobe.runs.grades import StoredGrade
from calprobe.runs.manifest_records import ModelSize
from calprobe.runs.meanings import StoredMeanings
from calprobe.runs.replies import Reply
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
    def perturbations(self) -> dict[str, tuple[str, ...]]:
        """By name, the variants that stand for wordings of a question."""
        return {} if self.prompts is None else dict(self.prompts.perturbations)

    def asks_for_a_conclusion(self, cell: Cell) -> bool:
        """Whether a turn behind the replies of a cell asks what they conclude."""
        variants = () if self.prompts is None else self.prompts.variants
        names = self.perturbations.get(cell.variant, (cell.variant,))
        return any(
            wording.conclusion
            for variant in variants
            if variant.name in names
            for wording in (variant, *variant.wordings.values())
        )

    def asks_for_another_form(self, cell: Cell) -> bool:
        """Whether the variant of a cell asks for another form of reply; of an import: whether it has final labels."""
        return cell.has(FINAL) if self.prompts is None else cell.variant in self.prompts.format_changes


@dataclass(frozen=True)
class OpenedCell:
    """A cell with what was computed of its rows, for figures, frames and exports."""

    read: Read
    estimators: Mapping[str, Estimator]
    confidences: Mapping[str, Confidence]
    maps: Mapping[str, UncertaintyMaps] = field(default_factory=dict)  # of those that a map has made

    @property
    def cell(self) -> Cell:
        """Its rows."""
        return self.read.cell

    def at(self, places: Sequence[int]) -> OpenedCell:
        """The rows at these places alone, with the confidences that they have among all rows."""
        if len(places) == len(self.cell):
            return self
        found = {name: own.at(places) for name, own in self.confidences.items()}
        return OpenedCell(self.read.at(places), self.estimators, found, self.maps)


@dataclass(frozen=True, slots=True)
class ReadSet:
    """A set's cells with the answers under each reader, before any number is computed."""

    name: str
    questions: int
    claims: int  # about the options of these questions; 0: they are asked themselves
    cells: Mapping[str, OpenedCell]  # by variant
    answers: Mapping[str, Mapping[str, Answers]]  # by variant, then by reader


def read_sets(asked: Asked, options: ReplyReading) -> Iterator[ReadSet]:
    """Each set of a run that has any replies, read."""
    way = _way(asked, options)
    sizes = {own.name: (own.n_roots, sum(bool(question.of) for question in own.questions)) for own in asked.sets}
    if options.window is not None:
        _check_ranks(asked)
    found = cells_of(asked.sets, asked.replies, asked.grades, asked.turns, asked.perturbations, asked.plain)
    _check_variants(asked.label, options.variants, [name for cells in found.values() for name in cells])
    for name, every in found.items():
        cells = {own: cell for own, cell in every.items() if options.variants is None or own in options.variants}
        if not cells:
            continue
        answers = {variant: _answers(asked, cell, options) for variant, cell in cells.items()}
        opened = {variant: _opened(cell, answers[variant], way, asked, options) for variant, cell in cells.items()}
        yield ReadSet(name, *sizes[name], opened, answers)


def format_changes(asked: Asked, cells: Mapping[str, OpenedCell]) -> tuple[str, ...]:
    """The variants of a set that ask for another form of reply; none where all do."""
    changes = tuple(variant for variant, own in cells.items() if asked.asks_for_another_form(own.cell))
    return changes if len(changes) < len(cells) else ()


def usual_variants(asked: Asked, cells: Mapping[str, OpenedCell]) -> tuple[str, ...]:
    """The variants with the usual form of reply and order of options, which means over variants are of; all if none."""
    left_out = {*format_changes(asked, cells), *(name for name, places in asked.turns.items() if places)}
    return tuple(name for name in cells if name not in left_out) or tuple(cells)


def _check_variants(label: str, wanted: Sequence[str] | None, known: Sequence[str]) -> None:
    """Raise UsageError for a variant that is wanted and that the run has not."""
    for name in wanted or ():
        if name not in known:
            raise UsageError(f"--variants: {no_such(name, dict.fromkeys(known), f'in {label}')}")


def _way(asked: Asked, options: ReplyReading) -> WayToRead:
    read_one, window = stated_reader(options, asked.prompts), options.window
    if not options.by_study:
        return WayToRead(read_one, options.by_paper, window=window)
    ranked = all(own.label_scores is None or own.label_scores.ranks is not None for own in asked.replies)
    return WayToRead(
        read_one, claims="token", alternatives=STUDY_ALTERNATIVES, window=window or (STUDY_WINDOW if ranked else None)
    )


def _check_ranks(asked: Asked) -> None:
    """Raise UsageError where a window cannot be applied: ranks were not counted."""
    for reply in asked.replies:
        scores = reply.label_scores
        if scores is not None and scores.ranks is None:
            raise UsageError(f"--window: {asked.label} has no ranks of labels to apply a window to; leave it out")


def _answers(asked: Asked, cell: Cell, options: ReplyReading) -> dict[str, Answers]:
    rules = GradeRules(tolerance="equal") if options.by_study else None
    return {
        name: read_answers(cell, name, rules)
        for name in readers_of_cell(cell, options, asked.asks_for_a_conclusion(cell))
    }


def _of_read(found: Confidence, answers: Answers) -> Confidence:
    """The confidences of the rows alone that have an answer, as the study of science questions takes them."""
    lacking = found.read & ~answers.extracted
    return replace(
        found,
        confidence=np.where(lacking, np.nan, found.confidence),
        why=np.where(lacking, NO_ANSWER, found.status),
    )


def _opened(
    cell: Cell, answers: Mapping[str, Answers], way: WayToRead, asked: Asked, options: ReplyReading
) -> OpenedCell:
    read = Read(cell, next(iter(answers.values())), way, asked.meanings)
    estimators = asked_estimators(read, options.forms)
    found = {name: own.compute(read) for name, own in estimators.items()}
    if options.by_study:
        found = {name: _of_read(own, read.answers) for name, own in found.items()}
    maps: dict[str, UncertaintyMaps] = {}
    if options.calibrate is not None:
        made = list(_calibrated(cell, estimators, found, options.calibrate))
        estimators |= {estimator.name: estimator for estimator, *_ in made}
        found |= {estimator.name: confidence for estimator, confidence, _ in made}
        maps = {estimator.name: own for estimator, _, own in made}
    return OpenedCell(read, estimators, found, maps)


def _calibrated(
    cell: Cell, estimators: Mapping[str, Estimator], found: Mapping[str, Confidence], method: Calibrate
) -> Iterator[tuple[Estimator, Confidence, UncertaintyMaps]]:
    """Each uncertainty without a scale as the chance of being right, NAME.METHOD, fitted on the other questions; its
    maps.

    Left out where fewer than two questions have it.
    """
    questions = np.array([row.question.root for row in cell.rows], np.str_)
    for name, estimator in estimators.items():
        if estimator.scale != "uncertainty":
            continue
        own = found[name]
        kept = own.read
        if len(np.unique(questions[kept])) < 2:
            continue
        values = np.full(len(cell), np.nan)
        values[kept], maps = fit_uncertainty(own.confidence[kept], own.correct[kept], questions[kept], method)
        definition = f"{estimator.definition}; as a confidence, by a map fitted on other questions ({method})"
        made = replace(estimator, name=f"{name}.{method}", definition=definition, group="samples", scale="probability")
        yield made, Confidence(own.prediction, values, own.correct, own.status), maps
