"""The facts of a probe as questions, so that scored and asked runs of a model can be joined.

A fact's question has the id RELATION/INSTANCE, which are the columns of a scored run's exports. Its options are drawn
from the answer space: the right one, and others that are not answers of the same subject and do not read the same. The
draw depends on seed and fact alone, so a fact has the same options in every set of that seed.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from calprobe.errors import UsageError
from calprobe.messages import counted
from calprobe.probes import Instance, Probe, Relation
from calprobe.probes.relation_sample import sampled_instances
from calprobe.questions.forms import Forms, filled, forms_for
from calprobe.questions.gold import letters
from calprobe.questions.options import QuestionOptions
from calprobe.questions.pools import Pool
from calprobe.questions.types import Question


def fact_id(relation: str, instance: int) -> str:
    """The id of a fact's question, from the columns `relation` and `instance` of a scored run's exports.

    >>> fact_id("P36", 7)
    'P36/7'
    """
    return f"{relation}/{instance}"


def fact_of(name: str) -> tuple[str, int] | None:
    """The fact that a question's id names; None for another id, such as one with a zero in front of its number.

    >>> fact_of("P36/7"), fact_of("P36/07"), fact_of("q7")
    (('P36', 7), None, None)
    """
    relation, slash, number = name.rpartition("/")
    is_number = number.isascii() and number.isdigit() and (number == "0" or number[0] != "0")
    return (relation, int(number)) if relation and slash and is_number else None


def fact_pool(probe: Probe, options: QuestionOptions) -> Pool:
    """The facts of a probe as questions, in the probe's order.

    Relations without question forms, subjects without a label and facts without a wrong option are left out, and notes
    say how many.

    Raises:
        UsageError: the probe has completions instead of facts, or no relation has question forms.
    """
    if any(relation.scored == "completion" for relation in probe.relations):
        problem = f"{probe.name} has texts to be completed, not facts"
        raise UsageError(f"{problem}: it cannot be asked as questions; score it with `calprobe score`")
    forms = forms_for(probe, options.forms)
    asked_relations = [
        _AskedRelation(relation, forms, options) for relation in probe.relations if relation.name in forms
    ]
    facts = [
        (asked_relation, instance)
        for asked_relation in asked_relations
        for instance in asked_relation.relation.instances
        if asked_relation.can_ask(instance)
    ]

    def question(place: int) -> Question:
        relation, instance = facts[place]
        return relation.question(instance)

    def of_each(count: int, seed: int) -> list[int]:
        sampled = {
            (asked_relation.relation.name, instance.index)
            for asked_relation in asked_relations
            for instance in sampled_instances(asked_relation.relation, count, seed).instances
        }
        return [
            place
            for place, (asked_relation, instance) in enumerate(facts)
            if (asked_relation.relation.name, instance.index) in sampled
        ]

    notes = tuple(_notes(probe, forms, asked_relations, options))
    return Pool([asked_relation.relation.name for asked_relation, _ in facts], question, notes, of_each=of_each)


@dataclass(frozen=True)
class _AskedRelation:
    relation: Relation
    forms: Forms
    options: QuestionOptions

    @property
    def is_choice(self) -> bool:
        return self.options.as_ != "open"

    @cached_property
    def _answers(self) -> dict[str, list[str]]:
        """Subject as it reads -> its answers, of all of its instances."""
        answers = defaultdict(list)
        for instance in self.relation.instances:
            answers[reads_as(instance.subject)].append(self._right(instance))
        return answers

    @cached_property
    def _readings(self) -> frozenset[str]:
        """The relation's candidates as they read."""
        return frozenset(map(reads_as, self.relation.candidates))

    def can_ask(self, instance: Instance) -> bool:
        """Whether the subject has a label and, of a choice, there is a wrong option."""
        if not instance.subject.strip():
            return False
        return not self.is_choice or self.n_options(instance) > 1

    def n_options(self, instance: Instance) -> int:
        """How many options the fact's question has."""
        candidates = instance.candidates
        readings = self._readings if candidates is None else frozenset(map(reads_as, candidates))
        return min(self.options.n_options, 1 + len(readings - set(map(reads_as, self._accepted(instance)))))

    def question(self, instance: Instance) -> Question:
        """The fact's question, in all wordings."""
        text, *paraphrases = (filled(form, instance.subject) for form in self.forms[self.relation.name])
        name, group = fact_id(self.relation.name, instance.index), self.relation.name
        if not self.is_choice:
            accepted = self._accepted(instance)
            return Question(name, text, "open", accepted=accepted, group=group, paraphrases=tuple(paraphrases))
        chosen, right = self._drawn(instance, name)
        labels = letters(len(chosen))
        return Question(name, text, "choice", chosen, labels, answer=right, group=group, paraphrases=tuple(paraphrases))

    def _right(self, instance: Instance) -> str:
        return self.relation.candidates_of(instance)[instance.answer_idx]

    def _accepted(self, instance: Instance) -> tuple[str, ...]:
        """The fact's answer, then the other answers that the relation has for the same subject."""
        answers = self._answers[reads_as(instance.subject)]
        return tuple(dict.fromkeys((self._right(instance), *answers)))

    def _drawn(self, instance: Instance, name: str) -> tuple[tuple[str, ...], int]:
        """The options in their order, and the place of the right one."""
        source = random.Random(f"{self.options.seed}/{name}/{instance.subject}")
        candidates = self.relation.candidates_of(instance)
        n_wrong = self.n_options(instance) - 1
        readings = set(map(reads_as, self._accepted(instance)))
        wrong: list[str] = []
        while len(wrong) < n_wrong:  # ends: n_options counts what is there to be found
            candidate = candidates[source.randrange(len(candidates))]
            if reads_as(candidate) not in readings:
                readings.add(reads_as(candidate))
                wrong.append(candidate)
        place = source.randrange(n_wrong + 1)
        return (*wrong[:place], self._right(instance), *wrong[place:]), place


def reads_as(text: str) -> str:
    """The text as a reader tells it from others: without regard to case and white space.

    >>> reads_as(" New  York") == reads_as("new york")
    True
    """
    return " ".join(text.casefold().split())


def _notes(
    probe: Probe, forms: Forms, asked_relations: Sequence[_AskedRelation], options: QuestionOptions
) -> Iterator[str]:
    if without := [relation.name for relation in probe.relations if relation.name not in forms]:
        yield f"Left out because there are no question forms: {counted(len(without), 'relation')} ({_listed(without)})."
    count = sum(
        not asked_relation.can_ask(instance)
        for asked_relation in asked_relations
        for instance in asked_relation.relation.instances
    )
    if count:
        yield f"Left out because the subject has no label or there is no wrong option: {counted(count, 'fact')}."
    fewer = [
        asked_relation.relation.name
        for asked_relation in asked_relations
        if asked_relation.is_choice
        and any(asked_relation.n_options(i) < options.n_options for i in asked_relation.relation.instances)
    ]
    if fewer:
        yield f"Fewer than {options.n_options} options for some facts, for lack of candidates: {_listed(fewer)}."


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
