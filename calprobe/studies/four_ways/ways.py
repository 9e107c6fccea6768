"""A way of answering facts, and the confidences in it: a cell of the facts that all runs have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from calprobe.arrays import Floats, Ints, Mask
from calprobe.cells.cell import Cell, sample_of
from calprobe.confidence import Confidence, Estimator
from calprobe.metrics.bootstrap import Predictions

WayKind = Literal["ranking", "ranking of options", "choice", "open"]
DONE = {"ranking": "ranks all", "ranking of options": "ranks options of {}", "choice": "chooses", "open": "says"}


@dataclass(frozen=True, eq=False)
class View:
    """What an estimator says of each fact's answer."""

    estimator: Estimator
    confidence: Confidence  # [facts]
    number: int  # 1, 2, .. over all ways
    way: str  # letter of its way

    @property
    def name(self) -> str:
        """Its estimator's."""
        return self.estimator.name

    @property
    def sureness(self) -> Floats:
        """Larger is surer, whatever the scale, [facts]; NaN where none could be read."""
        return self.confidence.sureness(self.estimator.scale)

    def sample(self, kept: Mask) -> Predictions:
        """What metrics take, of the facts kept."""
        return sample_of(self.confidence, kept, self.estimator.scale)

    @property
    def title(self) -> str:
        """With its number: 3 label."""
        return f"{self.number} {self.name}"


@dataclass(frozen=True, eq=False)
class Way:
    """One run's way to answer: its ranking, or its replies under a variant."""

    kind: WayKind
    cell: Cell  # of the facts, with the confidences that are shown
    by: str  # the estimator or reader that answers
    said: tuple[str | None, ...]  # [facts], the answers; None: not read, or not known in words
    place: Ints  # [facts], of the answer among the options, or the candidates; -1: none
    correct: Mask  # [facts]
    of: str = ""  # ranking of options: letters of the ways whose options they are
    letter: str = ""  # A, B, .. over all ways
    before: int = 0  # views of the ways before
    readers: Mapping[str, Mask] = field(default_factory=dict)  # of replies -> [facts], right by each
    sampled: bool = False  # whether the answer is the most frequent of several

    @cached_property
    def views(self) -> tuple[View, ...]:
        """What each estimator says."""
        confidences = self.cell.confidences.items()
        return tuple(
            View(self.cell.estimators[name], confidence, number, self.letter)
            for number, (name, confidence) in enumerate(confidences, self.before + 1)
        )

    @property
    def run(self) -> str:
        """The label of its run."""
        return self.cell.run

    @property
    def chance(self) -> float:
        """What a blind guess would be right with; NaN where answers are free."""
        return float(self.cell.units.chance.mean()) if self.kind != "open" else float("nan")

    @property
    def is_ranking(self) -> bool:
        """Whether it ranks, and does not say."""
        return self.kind in ("ranking", "ranking of options")

    @property
    def name(self) -> str:
        """Its letter, and what it does."""
        return f"{self.letter} {DONE[self.kind].format(self.of)}"

    @property
    def title(self) -> str:
        """What it is, in a few words."""
        if self.kind == "ranking":
            return f"{self.run}: ranks all candidates"
        if self.kind == "ranking of options":
            return f"{self.run}: ranks the options of {self.of}"
        how = "chooses an option" if self.kind == "choice" else "answers freely"
        return f"{self.run}, {self.cell.variant}: {how}"


def numbered(ways: Iterable[Way]) -> tuple[Way, ...]:
    """The ways, with letters in their order, and numbers for the views of all of them."""
    lettered, before = [], 0
    for place, way in enumerate(ways):
        lettered.append(replace(way, letter=letter_of(place), before=before))
        before += len(way.cell.estimators)
    return tuple(lettered)


def letter_of(place: int) -> str:
    """A to Z, then A2, B2, ..

    >>> letter_of(0), letter_of(25), letter_of(26)
    ('A', 'Z', 'A2')
    """
    rounds, letter = divmod(place, 26)
    return chr(ord("A") + letter) + (str(rounds + 1) if rounds else "")
