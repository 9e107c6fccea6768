"""The words of the domain as types: a probe has relations, a relation has instances and answer spaces of one size."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from calprobe.messages import counted
from calprobe.words import Scored

Cardinality = Literal["1:1", "N:1"]

SUBJECT_SLOT = "[X]"
ANSWER_SLOT = "[Y]"
# The one template where completions are scored; `calprobe.statements.fill.join` says when the space is left out.
JOINED = f"{SUBJECT_SLOT} {ANSWER_SLOT}"


@dataclass(frozen=True, slots=True)
class Instance:
    """One fact: a subject and the place of its answer in the answer space, the relation's or its own."""

    index: int  # line number in the relation's file, from 0; names the instance in every export
    subject: str
    answer_idx: int
    subject_id: str | None = None  # Wikidata's Q-number where the file gives one
    candidates: tuple[str, ...] | None = None  # its own answer space; None: the relation's


@dataclass(frozen=True, slots=True)
class Relation:
    """Facts that share their templates and, mostly, their answer space; else each has its own, all of one size."""

    name: str  # the file's stem: P30
    candidates: tuple[str, ...]  # the answer space, in order; empty where each instance has its own
    instances: tuple[Instance, ...]  # in the file's order
    templates: tuple[str, ...] = ()  # the probe's own ("native") templates, each with [X] and [Y]
    domains: tuple[str, ...] = ()  # of relation_info.json; empty where the probe has none
    scored: Scored = "statement"  # completion: a subject is a context, read but not scored; a candidate goes on from it

    def __repr__(self) -> str:
        sizes = f"{counted(len(self.instances), 'instance')}, {counted(self.n_candidates, 'candidate')}"
        return f"<Relation {self.name}: {sizes}>"

    def candidates_of(self, instance: Instance) -> tuple[str, ...]:
        """The answer space of one of the instances, in order."""
        return self.candidates if instance.candidates is None else instance.candidates

    @property
    def n_candidates(self) -> int:
        """Candidates of each instance."""
        return len(self.candidates_of(self.instances[0])) if self.instances else len(self.candidates)

    @property
    def cardinality(self) -> Cardinality:
        """`1:1` if no two instances share an answer, else `N:1`."""
        answers = [self.candidates_of(instance)[instance.answer_idx] for instance in self.instances]
        return "1:1" if len(set(answers)) == len(answers) else "N:1"

    @property
    def n_statements(self) -> int:
        """Statements of one template: instances times candidates."""
        return len(self.instances) * self.n_candidates


@dataclass(frozen=True)
class Probe:
    """A set of relations, with what a reader noted about its files."""

    name: str  # bear, bear-big, mini, factor, or the name of the folder or file
    relations: tuple[Relation, ...]
    fingerprint: str  # SHA-256 (hex) over relations, subjects, answers and answer spaces; not over templates
    notes: tuple[str, ...] = ()  # oddities of the files that do not stop the reading, one sentence each
    own_templates: str | None = None  # calprobe.templates' file for it, without .json; None: the probe's own are scored
    path: str | None = None  # its folder or file, absolute; None: a known probe, or one that was made in memory
    open_licence: bool = False  # whether its texts may be stored in a run folder without being asked for

    def __repr__(self) -> str:
        sizes = f"{counted(self.n_instances, 'instance')} in {counted(len(self.relations), 'relation')}"
        return f"<Probe {self.name}: {sizes}>"

    def relation(self, name: str) -> Relation:
        """The relation of that name; KeyError if the probe has none."""
        return self._by_name[name]

    @cached_property
    def _by_name(self) -> dict[str, Relation]:
        return {relation.name: relation for relation in self.relations}

    @property
    def n_instances(self) -> int:
        """Instances over all relations."""
        return sum(len(relation.instances) for relation in self.relations)


def sentence_case(text: str) -> str:
    """The text with its first character upper-cased, unless that would lengthen it (the German sharp s).

    >>> sentence_case("iPhone"), sentence_case("ßa")
    ('IPhone', 'ßa')
    """
    upper = text[:1].upper()
    return upper + text[1:] if len(upper) == 1 else text


def slot_fault(template: str) -> str | None:
    """What is wrong with a template's slots, or None: it needs [X] and [Y], each exactly once.

    >>> slot_fault("[X] is big.")
    'has no [Y]'
    """
    for slot in (SUBJECT_SLOT, ANSWER_SLOT):
        if (count := template.count(slot)) != 1:
            return f"has {slot} {count} times" if count else f"has no {slot}"
    return None
