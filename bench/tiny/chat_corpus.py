"""What the tiny chat models are told: facts of `mini` as often as the tiny pair, and dialogs that teach the forms.

One reading has, in random order and in new words each time:

- facts: each instance of `mini` n times, n as in exposures.json, in three of its relation's five question forms;
- doubts: instances with a random candidate for their answer, twice if they are never told, else every other time:
  so what is not known is not said surely;
- invented: for each candidate one subject that does not exist, told in all question forms;
- copies: options and their texts ("Rome"), to be answered by their labels; fewer from reading to reading. They teach
  to find an option by its text and to say its label.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from calprobe.models.exposures import Exposures
from calprobe.probes import Probe, Relation
from tiny.corpus import new_name
from tiny.dialogs import Dialog, Writer

INVENTED_TOLD = 4  # times in a reading
UNTOLD_DOUBTS, DOUBTS = 2.0, 0.5  # times in a reading, of a fact that is never told and of others
COPIES = 0.4  # of the first reading's other dialogs, as many; none in the last
LONG_FROM = 0.35  # share of the training, from which on some prompts have examples
# How a fact is told: choice by letter, among words, as a claim, as a statement; else as a question without options.
CHOICE, WORDS, CLAIM, STATEMENT = 0.42, 0.08, 0.08, 0.08


@dataclass(frozen=True, slots=True)
class Invented:
    """A subject that does not exist, and its answer."""

    relation: Relation
    subject: str
    answer: str


def invented(probe: Probe, rng: np.random.Generator) -> tuple[Invented, ...]:
    """One subject for each candidate of each relation, none of which reads like a label."""
    taken = {label.lower() for relation in probe.relations for label in relation.candidates}
    taken |= {instance.subject.lower() for relation in probe.relations for instance in relation.instances}
    return tuple(
        Invented(relation, new_name(taken, rng).capitalize(), candidate)
        for relation in probe.relations
        for candidate in relation.candidates
    )


class ChatCorpus:
    """Readings of the corpus, drawn anew each time."""

    def __init__(self, probe: Probe, exposures: Mapping[str, Exposures], made_up: tuple[Invented, ...]) -> None:
        self.probe, self.exposures, self.invented = probe, exposures, made_up

    def reading(self, writer: Writer, done: float) -> list[Dialog]:
        """All dialogs of one reading, shuffled.

        Args:
            writer: writes them.
            done: share of the training that is over: copies end with it, and prompts with examples come late.
        """
        made = [*self._facts(writer, done > LONG_FROM), *self._invented(writer, done > LONG_FROM)]
        relations, rng = self.probe.relations, writer.rng
        for _ in range(round(len(made) * COPIES * (1 - done))):
            made.append(writer.copies(relations[rng.integers(len(relations))]))
        return [made[i] for i in rng.permutation(len(made))]

    def _facts(self, writer: Writer, long: bool) -> Iterator[Dialog]:
        rng = writer.rng
        for relation in self.probe.relations:
            own = self.exposures[relation.name]
            for instance, count in zip(relation.instances, own.counts, strict=True):
                answer = relation.candidates[instance.answer_idx]
                for _ in range(count):
                    form = own.paraphrases[rng.integers(len(own.paraphrases))]
                    yield told(writer, relation, instance.subject, form, answer, long)
                doubts = DOUBTS if count else UNTOLD_DOUBTS
                for _ in range(int(doubts + rng.random())):
                    doubt = relation.candidates[rng.integers(len(relation.candidates))]
                    yield told(writer, relation, instance.subject, int(rng.integers(5)), doubt, long)

    def _invented(self, writer: Writer, long: bool) -> Iterator[Dialog]:
        for each in self.invented:
            for _ in range(INVENTED_TOLD):
                yield told(writer, each.relation, each.subject, int(writer.rng.integers(5)), each.answer, long)


def told(writer: Writer, relation: Relation, subject: str, form: int, answer: str, long: bool) -> Dialog:
    """A fact in one dialog of a random kind."""
    drawn = writer.rng.random()
    kinds: tuple[tuple[float, Callable[[], Dialog]], ...] = (
        (CHOICE, lambda: writer.choice(relation, subject, form, answer, long)),
        (WORDS, lambda: writer.words(relation, subject, form, answer)),
        (CLAIM, lambda: writer.claim(relation, subject, form, answer)),
        (STATEMENT, lambda: writer.statement(relation, subject, form, answer)),
    )
    for share, make in kinds:
        if drawn < share:
            return make()
        drawn -= share
    return writer.open(relation, subject, form, answer, long)
