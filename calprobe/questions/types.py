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
    paraphrases: tuple[str, ...] = ()  # other wordings of `text`, of the same answer
    of: str = ""  # the id of the question that this claim judges an option of; empty: it is a question itself

    @property
    def wordings(self) -> tuple[str, ...]:
        """The question in all wordings, by number of paraphrase: `text` is 0."""
        return (self.text, *self.paraphrases)

    @property
    def root(self) -> str:
        """The id of the question that it belongs to: its own, or that of which it judges an option."""
        return self.of or self.id

    @property
    def gold(self) -> str:
        """The right answer as text: label, number, or the best accepted text."""
        if self.answer is not None:
            return self.labels[self.answer]
        return self.accepted[0] if self.accepted else f"{self.number:.15g}"

    @property
    def is_known(self) -> bool:
        """Whether anything is known of it: not of replies that were imported as right or wrong, without questions."""
        return self.accepted != ("",)

    @property
    def shown_options(self) -> dict[str, str]:
        """The options by label; empty where their texts are not known, as of replies imported with labels alone."""
        return dict(zip(self.labels, self.options, strict=True)) if self.options else {}

    @property
    def chance(self) -> float:
        """The probability that a blind guess is right: 1/K of K options; 0 where answers are free."""
        return 1 / len(self.options) if self.options else 0.0


@dataclass(frozen=True, slots=True)
class SetSource:
    """Where a question set comes from, and which of its questions were taken."""

    fingerprint: str  # SHA-256 (hex) of the questions as read, all fields
    path: str | None = None  # of a user's file, ~ for the home folder; None: a set that calprobe knows by name
    repository: str | None = None  # data set on the hub, owner/name
    revision: str | None = None  # its commit
    config: str | None = None  # which of its configurations
    files: Mapping[str, str] = field(default_factory=dict)  # name of each file that was read -> its SHA-256 (hex)
    probe: str | None = None  # facts as questions: the probe's fingerprint, as in the manifest of a scored run
    split: str | None = None  # test, validation, ..
    shots_split: str | None = None  # where the examples come from
    available: int = 0  # questions of the split and its chosen groups that can be asked
    groups: tuple[str, ...] = ()  # that the questions were chosen from; empty: all
    in_split: int | None = None  # questions of the split in any group; None: as many as are available, or not known
    left_out: int = 0  # rows of the split that cannot be asked, most often since they have no right answer
    columns: Mapping[str, str] = field(default_factory=dict)  # field of a question -> column that a user has named
    rule: str = "all"  # which were taken: all, first, nested, sample, relation; see `calprobe.questions.drawing`
    seed: int | None = None  # of a draw, and of the order of options where a set leaves it open
    places: str | None = None  # SHA-256 (hex) of the drawn places, a JSON list, in their order; None: not drawn
    licence: str | None = None
    quotable: bool = True  # whether reports may show texts of it


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Questions under one name, in the order of their source or of a draw."""

    name: str
    questions: tuple[Question, ...]
    source: SetSource
    shots: tuple[Question, ...] = ()  # questions of another split, for examples in prompts; never among `questions`
    notes: tuple[str, ...] = ()  # what the reader noticed, one sentence each: questions left out, keys not read

    @property
    def n_roots(self) -> int:
        """The questions that there are, with one for all claims about its options."""
        return len({question.root for question in self.questions})

    def __repr__(self) -> str:
        return f"<QuestionSet {self.name}: {counted(len(self.questions), 'question')}>"
