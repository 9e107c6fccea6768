"""A question and a set of questions, whatever file or probe they come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from calprobe.messages import counted

QuestionKind = Literal["choice", "number", "open"]


@dataclass(frozen=True, slots=True)
class Question:
    """One question with its right answer. Exactly one of `answer`, `number` and `accepted` is given, as `kind` says."""

    id: str  # unique in its set
    text: str
    kind: QuestionKind
    options: tuple[str, ...] = ()  # choice: two or more
    labels: tuple[str, ...] = ()  # choice: what each option is called, A, B, .. or the file's own
    answer: int | None = None  # choice: place of the right option
    number: float | None = None  # number: the right value
    unit: str | None = None  # number: its unit; None: a bare number
    accepted: tuple[str, ...] = ()  # open: texts that count as right, best first
    context: str = ""  # read before the question
    group: str = ""  # what it belongs to: a subject, a relation

    @property
    def gold(self) -> str:
        """The right answer as text: label, number, or the best accepted text."""
        if self.answer is not None:
            return self.labels[self.answer]
        return self.accepted[0] if self.accepted else f"{self.number:g}"

    @property
    def chance(self) -> float:
        """The probability that a blind guess is right: 1/K of K options; 0 where answers are free."""
        return 1 / len(self.options) if self.options else 0.0


@dataclass(frozen=True, slots=True)
class SetSource:
    """Where a question set comes from."""

    fingerprint: str  # SHA-256 (hex) of the questions as read, all fields
    path: str | None = None  # of a user's file, ~ for the home folder; None: a set that calprobe knows by name
    revision: str | None = None  # commit of a data set on the hub
    files: Mapping[str, str] = field(default_factory=dict)  # name of each file that was read -> its SHA-256 (hex)
    split: str | None = None  # test, validation, ..
    licence: str | None = None
    quotable: bool = True  # whether reports may show texts of it


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Questions under one name, in the order of their source or of a draw."""

    name: str
    questions: tuple[Question, ...]
    source: SetSource
    shots: tuple[Question, ...] = ()  # questions of another split, for examples in prompts; never among `questions`

    def __repr__(self) -> str:
        return f"<QuestionSet {self.name}: {counted(len(self.questions), 'question')}>"
