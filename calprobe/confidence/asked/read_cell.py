"""What estimators of replies take: a cell with its answers, the way to read it, and what several of them need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from calprobe.answers.reading import Reading
from calprobe.answers.token_claims import Context, ccp_pairs
from calprobe.confidence.asked.label_masses import LabelMasses, answer_masses, final_masses, first_masses
from calprobe.confidence.asked.readings import Answers, greedy_is_right
from calprobe.confidence.asked.reply_table import ANSWER, ReplyTable, Row
from calprobe.confidence.asked.sampled import EMPTY, Meanings, SampledQuestion, sampled_questions
from calprobe.confidence.samples import ClaimProbability, ccp
from calprobe.confidence.types import NOT_ASKED, NOT_JUDGED, OK, REQUEST, Confidence
from calprobe.runs.replies import Reply

NO_ALTERNATIVES = "no alternatives of its tokens"
Claim = tuple[ClaimProbability | None, str]  # and why it is not known


@dataclass(frozen=True, slots=True)
class WayToRead:
    """How confidences are taken from replies."""

    read_stated: Callable[[Reply, str], Reading]  # a reply and the name of the stated prompt that it replies to
    # With the reader's letter in place of an estimator's own argmax, as the audit's paper has it.
    compat: bool = False
    window: int | None = None  # only labels among so many most probable tokens are seen; None: all that are known
    claims: Context = "sentence"  # what alternatives of tokens are judged in
    alternatives: int | None = None  # of each token, the generated one among them; None: all that are stored


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
        """Claim-conditioned probability of each row's answer, [rows], from judged alternatives of its tokens."""
        return tuple(_claim(self.table.set, row, self.meanings, self.way) for row in self.table.rows)

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


def _claim(set_name: str, row: Row, meanings: Meanings | None, way: WayToRead) -> Claim:
    """In the context and with as many alternatives as the way to read has."""
    reply = row.replies.get(ANSWER)
    if reply is None:
        return None, REQUEST if ANSWER in row.failed else NOT_ASKED
    if reply.alternatives is None:
        return None, NO_ALTERNATIVES
    if not len(reply.alternatives):
        return None, EMPTY
    tokens = reply.alternatives.tokens(way.alternatives)
    pairs = ccp_pairs(tokens, way.claims)
    probabilities = None if meanings is None else meanings.claimed(set_name, row.question.id, pairs, way.claims)
    if probabilities is None:
        return None, NOT_JUDGED
    return ccp(tokens, lambda claims: probabilities, way.claims), OK
