"""What a user chooses about question sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from calprobe.errors import UsageError

AskedAs = Literal["choice", "open"]
DrawRule = Literal["nested", "sample", "relation"]  # docs/how-to/questions.md
MOST_OPTIONS = 26  # as many as there are letters


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
    shots_from: str | None = None  # a question file for the examples
    groups: tuple[str, ...] = ()  # subjects or relations; empty: all
    draw_rule: DrawRule | None = None  # None: nested, or the rule of the study
    forms: str | None = None  # a file of question forms for the relations of a probe

    def __post_init__(self) -> None:
        if self.draw is not None and self.limit is not None:
            raise UsageError("--draw and --limit contradict each other: give one of them")
        for name, value, least in (("draw", self.draw, 1), ("limit", self.limit, 1), ("shots", self.shots, 0)):
            if value is not None and value < least:
                raise UsageError(f"--{name} {value} is too small; give {least} or more")
        if not 2 <= self.n_options <= MOST_OPTIONS:
            raise UsageError(f"--options {self.n_options} is out of range; give 2 to {MOST_OPTIONS}")
