"""What a user chooses about question sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from calprobe.errors import UsageError
from calprobe.messages import check_word, did_you_mean

AskedAs = Literal["choice", "open"]
ShotsBy = Literal["any", "group"]
DrawRule = Literal["nested", "sample", "relation"]  # docs/how-to/questions.md
MOST_OPTIONS = 26  # as many as there are letters
# Fields of a question that a column may hold; subject is another word for group.
COLUMN_FIELDS = (
    *("question", "answer", "options", "labels", "id", "group", "subject", "context", "unit", "kind", "paraphrases"),
)


@dataclass(frozen=True, slots=True)
class QuestionOptions:
    """Which questions of each set are asked, and in which form.

    Raises UsageError for values that contradict each other or are out of range.

    >>> QuestionOptions(draw=200, seed=42).draw
    200
    """

    draw: int | None = None  # so many at random; with the rule `relation`, of each relation
    limit: int | None = None  # so many from the start
    seed: int = 0  # of the draw, of the examples, of drawn options and of their order
    split: str | None = None  # None: the set's own
    as_: AskedAs | None = None  # None: facts as choice, sets in their first form
    n_options: int = 4  # of facts as choice, the right one included
    shots: int = 0  # examples for prompts, from another split or from what is not asked
    shots_from: str | None = None  # a question set for the examples, named as others are
    shots_by: ShotsBy = "any"  # the same examples for all questions of a kind; group: of the question's own group
    groups: tuple[str, ...] = ()  # subjects or relations; empty: all
    draw_rule: DrawRule | None = None  # None: nested, or the rule of the study
    forms: str | None = None  # a file of question forms for the relations of a probe
    # Of files and data sets of the hub: field of a question -> the column that holds it, of options several with +
    # between them, a.b for the key b of an object; empty: the field is not read
    columns: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.draw is not None and self.limit is not None:
            raise UsageError("--draw and --limit contradict each other: give one of them")
        for name, value, least in (("draw", self.draw, 1), ("limit", self.limit, 1), ("shots", self.shots, 0)):
            if value is not None and value < least:
                raise UsageError(f"--{name} {value} is too small; give {least} or more")
        if not 2 <= self.n_options <= MOST_OPTIONS:
            raise UsageError(f"--options {self.n_options} is out of range; give 2 to {MOST_OPTIONS}")
        for name, word, words in (
            ("as", self.as_, AskedAs),
            ("shots-by", self.shots_by, ShotsBy),
            ("draw-rule", self.draw_rule, DrawRule),
        ):
            check_word(name, word, get_args(words))
        for name in self.columns:
            if name not in COLUMN_FIELDS:
                known = f"fields are {', '.join(COLUMN_FIELDS)}"
                raise UsageError(
                    f"--columns {name}=..: no field of a question{did_you_mean(name, COLUMN_FIELDS)}; {known}"
                )
        if {"group", "subject"} <= self.columns.keys():
            raise UsageError("--columns: group and subject are the same field; give one of them")
