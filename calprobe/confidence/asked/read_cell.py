"""What estimators of replies compute from: a cell with its answers, and all that several of them need, made once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from calprobe.confidence.asked.claims import Claim, claim_probabilities
from calprobe.confidence.asked.label_masses import LabelMasses, answer_masses, final_masses, first_masses
from calprobe.confidence.asked.readings import Answers, greedy_is_right
from calprobe.confidence.asked.reply_table import ReplyTable
from calprobe.confidence.asked.sampled import Meanings, SampledQuestion, sampled_questions
from calprobe.confidence.asked.way_to_read import WayToRead
from calprobe.confidence.types import Confidence


@dataclass(frozen=True)
class Read:
    """A cell with its answers under the reader that confidences go by; what several estimators need is made once."""

    table: ReplyTable
    answers: Answers
    way: WayToRead
    meanings: Meanings | None = None  # of the run's answers, where models were asked
    drawn: tuple[SampledQuestion, ...] | None = None  # the samples, where these are some of another cell's

    def at(self, places: Sequence[int]) -> Read:
        """The rows at these places alone, in that order."""
        return replace(self, table=self.table.at(places), answers=self.answers.at(places), drawn=None)

    @cached_property
    def samples(self) -> tuple[SampledQuestion, ...]:
        """The samples of each question, in the order of the cell."""
        return sampled_questions(self.table, self.answers, self.meanings) if self.drawn is None else self.drawn

    @cached_property
    def greedy_is_right(self) -> tuple[bool | None, ...]:
        """Whether each row's greedy answer is right, [rows]; None where it has none."""
        return tuple(greedy_is_right(row, self.answers.reader) for row in self.table.rows)

    def once(self, compute: Callable[[Read], Confidence]) -> Confidence:
        """What several readings of one estimator share."""
        if compute not in self._computed:
            self._computed[compute] = compute(self)
        return self._computed[compute]

    @cached_property
    def _computed(self) -> dict[Callable[[Read], Confidence], Confidence]:
        return {}

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """Claim-conditioned probability of each row's answer, [rows]."""
        return claim_probabilities(self.table, self.meanings, self.way)

    @cached_property
    def first(self) -> LabelMasses:
        """At the first position."""
        return first_masses(self.table, self.way.window)

    @cached_property
    def at_answer(self) -> LabelMasses:
        """Where the letter that was read was generated."""
        return answer_masses(self.table, self.answers, self.way.window)

    @cached_property
    def final(self) -> LabelMasses:
        """Behind the final cue."""
        return final_masses(self.table, self.way.window)
