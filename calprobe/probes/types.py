"""The words of the domain as types: a probe has relations, a relation has instances and one answer space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Cardinality = Literal["1:1", "N:1"]


@dataclass(frozen=True, slots=True)
class Instance:
    """One fact: a subject and the place of its answer in the relation's answer space."""

    index: int  # line number in the relation's file, from 0; names the instance in every export
    subject: str
    answer_idx: int
    subject_id: str | None = None  # Wikidata's Q-number where the file gives one


@dataclass(frozen=True, slots=True)
class Relation:
    """Facts that share their templates and their answer space."""

    name: str  # the file's stem: P30
    candidates: tuple[str, ...]  # the answer space, in order
    instances: tuple[Instance, ...]  # in the file's order
    templates: tuple[str, ...] = ()  # the probe's own ("native") templates, each with [X] and [Y]
    domains: tuple[str, ...] = ()  # of relation_info.json; empty where the probe has none

    @property
    def cardinality(self) -> Cardinality:
        """`1:1` if no two instances share an answer, else `N:1`."""
        answers = [instance.answer_idx for instance in self.instances]
        return "1:1" if len(set(answers)) == len(answers) else "N:1"

    @property
    def n_statements(self) -> int:
        """Statements of one template: instances times candidates."""
        return len(self.instances) * len(self.candidates)


@dataclass(frozen=True, slots=True)
class Probe:
    """A set of relations, with what a reader noted about its files."""

    name: str  # bear, bear-big, mini, or the folder's name
    relations: tuple[Relation, ...]
    fingerprint: str  # SHA-256 (hex) over relations, subjects, answers and answer spaces; not over templates
    notes: tuple[str, ...] = ()  # oddities of the files that do not stop the reading, one sentence each
    own_templates: str | None = None  # calprobe.templates' file for it, without .json; None: the probe's own are scored

    def relation(self, name: str) -> Relation:
        """The relation of that name; KeyError if the probe has none."""
        for relation in self.relations:
            if relation.name == name:
                return relation
        raise KeyError(name)

    @property
    def n_instances(self) -> int:
        """Instances over all relations."""
        return sum(len(relation.instances) for relation in self.relations)
