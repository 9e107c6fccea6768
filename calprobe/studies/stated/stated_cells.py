"""Stated confidences of one set and variant as a matrix of prompts by answers: of own answers and of replaced ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Mask

AS_SAID, LENIENT, COMPLETE, ANSWERED, EXPECTED = "ok", "lenient", "complete", "answered", "expected"
# How each way of reading is called in tables.
WAYS: Mapping[str, str] = {
    AS_SAID: "as asked for",
    LENIENT: "lenient too",
    COMPLETE: "answers with all confidences",
    ANSWERED: 'without answers that say "I do not know"',
    EXPECTED: "mean over all replies of the scale",
}


@dataclass(frozen=True, slots=True)
class StatedPrompt:
    """A prompt that asks for a confidence."""

    name: str
    forward: str = ""  # of a reversed one: the prompt that asks on the same scale the other way round; empty: none
    is_reversed: bool = False  # it asks how probable it is that the answer is wrong


@dataclass(frozen=True, slots=True)
class Matrix:
    """Confidences in answers under several prompts."""

    confidence: Floats  # [prompts, answers], in [0, 1]; NaN where none could be read
    lenient: Mask  # [prompts, answers], whether the reply was not in the form that was asked for

    def by(self, way: str) -> Matrix:
        """The matrix by one way of reading: confidences that it leaves out are NaN, so that all answers stay."""
        if way in (LENIENT, EXPECTED):
            return self
        strict = np.where(self.lenient, np.nan, self.confidence)
        if way == COMPLETE:
            strict = np.where(np.isnan(strict).any(axis=0), np.nan, strict)
        return replace(self, confidence=strict)


@dataclass(frozen=True, slots=True)
class StatedCell:
    """The answers to one set of questions under one variant, or those to several sets end to end."""

    set: str  # empty: of several sets
    variant: str
    prompts: tuple[StatedPrompt, ...]
    own: Matrix  # of the model's own answers
    asked: Mask  # [prompts, answers], False where a request failed or was not made
    correct: Mask  # [answers], of the model's own
    clusters: npt.NDArray[np.str_] | None  # [answers], the question of each; None: all differ
    replaced: Mapping[str, Matrix] = field(default_factory=dict)  # by condition, see `calprobe.runs.stages`
    # By condition: answers that the replacement repeats, or whose replacement is right itself; [answers].
    invalid: Mapping[str, Mask] = field(default_factory=dict)
    abstained: Mask | None = None  # [answers], that say the model does not know; None: no such answers
    # Means over the closed sets of replies, of own answers and by condition, [prompts, answers]; None: not read.
    expected: Floats | None = None
    expected_replaced: Mapping[str, Floats] = field(default_factory=dict)
    mass: Floats | None = None  # of these replies together, behind own answers, [prompts, answers]

    def __len__(self) -> int:
        return len(self.correct)

    @property
    def names(self) -> tuple[str, ...]:
        """The prompts by name."""
        return tuple(prompt.name for prompt in self.prompts)

    @property
    def confidence(self) -> Floats:
        """Of the model's own answers, [prompts, answers]."""
        return self.own.confidence

    def by(self, way: str) -> StatedCell:
        """The cell as one way of reading sees it."""
        if way == EXPECTED:
            nothing, never = np.full_like(self.confidence, np.nan), np.zeros_like(self.own.lenient)
            matrix = Matrix(nothing if self.expected is None else self.expected, never)
            replaced = {name: Matrix(values, never) for name, values in self.expected_replaced.items()}
            return replace(self, own=matrix, replaced=replaced)
        cell = replace(
            self, own=self.own.by(way), replaced={name: matrix.by(way) for name, matrix in self.replaced.items()}
        )
        return cell if way != ANSWERED or self.abstained is None else cell.without(self.abstained)

    def without(self, answers: Mask) -> StatedCell:
        """The cell as if nothing had been read of some answers, [answers]."""

        def cut(matrix: Matrix) -> Matrix:
            return replace(matrix, confidence=np.where(answers, np.nan, matrix.confidence))

        def cut_expected(values: Floats) -> Floats:
            return np.where(answers, np.nan, values)

        return replace(
            self,
            own=cut(self.own),
            asked=self.asked & ~answers,
            replaced={name: cut(replacement) for name, replacement in self.replaced.items()},
            expected=None if self.expected is None else cut_expected(self.expected),
            expected_replaced={name: cut_expected(values) for name, values in self.expected_replaced.items()},
            mass=None if self.mass is None else cut_expected(self.mass),
        )

    @property
    def ways(self) -> tuple[str, ...]:
        """The ways of reading that give different numbers."""
        strict = self.own.by(AS_SAID).confidence
        lenient = self.own.lenient.any() or any(matrix.lenient.any() for matrix in self.replaced.values())
        partial = np.isnan(strict).any(axis=0)
        abstained = self.abstained is not None and self.abstained.any() and not self.abstained.all()
        differing = {
            AS_SAID: True,
            LENIENT: lenient,
            COMPLETE: partial.any() and not partial.all(),
            ANSWERED: abstained,
        }
        return tuple(way for way, differs in {**differing, EXPECTED: self.expected is not None}.items() if differs)

    def of(self, names: Sequence[str]) -> Floats:
        """The confidences of the model's own answers under some of the prompts, [prompts, answers]."""
        return self.confidence[[self.names.index(name) for name in names]]


def pooled(cells: Sequence[StatedCell]) -> StatedCell:
    """The answers of several sets under one variant, end to end; prompts and conditions that not all have are left out.

    Raises ValueError for no cell.
    """
    if not cells:
        raise ValueError("pooled needs one cell or more; got none")
    first = cells[0]
    names = [name for name in first.names if all(name in cell.names for cell in cells)]
    conditions = [name for name in first.replaced if all(name in cell.replaced for cell in cells)]

    def joined(parts: Sequence[npt.NDArray[np.generic]]) -> npt.NDArray[np.generic]:
        return np.concatenate(list(parts), axis=-1)

    def rows(cell: StatedCell, values: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
        return values[[cell.names.index(name) for name in names]]

    def matrix(parts: Sequence[Matrix]) -> Matrix:
        pairs = list(zip(cells, parts, strict=True))
        return Matrix(
            joined([rows(cell, part.confidence) for cell, part in pairs]),  # type: ignore[arg-type]
            joined([rows(cell, part.lenient) for cell, part in pairs]),  # type: ignore[arg-type]
        )

    return StatedCell(
        set="",
        variant=first.variant,
        prompts=tuple(prompt for prompt in first.prompts if prompt.name in names),
        own=matrix([cell.own for cell in cells]),
        asked=joined([rows(cell, cell.asked) for cell in cells]),  # type: ignore[arg-type]
        correct=joined([cell.correct for cell in cells]),  # type: ignore[arg-type]
        clusters=_clusters(cells),
        replaced={name: matrix([cell.replaced[name] for cell in cells]) for name in conditions},
        invalid={
            name: np.concatenate([cell.invalid.get(name, np.zeros(len(cell), np.bool_)) for cell in cells])
            for name in conditions
        },
        abstained=np.concatenate(
            [np.zeros(len(cell), np.bool_) if cell.abstained is None else cell.abstained for cell in cells]
        ),
        expected=None
        if any(cell.expected is None for cell in cells)
        else joined([rows(cell, cell.expected) for cell in cells if cell.expected is not None]),  # type: ignore[arg-type]
        mass=None
        if any(cell.mass is None for cell in cells)
        else joined([rows(cell, cell.mass) for cell in cells if cell.mass is not None]),  # type: ignore[arg-type]
        expected_replaced={
            name: joined([rows(cell, cell.expected_replaced[name]) for cell in cells])  # type: ignore[misc]
            for name in conditions
            if all(name in cell.expected_replaced for cell in cells)
        },
    )


def _clusters(cells: Sequence[StatedCell]) -> npt.NDArray[np.str_] | None:
    """The question of each answer, with its set in front; None where no set has a question with several."""
    if all(cell.clusters is None for cell in cells):
        return None
    names: list[str] = []
    for cell in cells:
        questions = np.arange(len(cell)) if cell.clusters is None else cell.clusters
        names += [f"{cell.set}\0{question}" for question in questions]
    return np.array(names, np.str_)
