"""The relations, instances and templates of a probe that a run scores, as its options select them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from calprobe.errors import UsageError
from calprobe.messages import did_you_mean, shown
from calprobe.probes import Instance, Probe, Relation
from calprobe.probes.relation_sample import first_instances, sampled_instances
from calprobe.runs import RelationRecord, SourceRecord, TemplateRecord
from calprobe.runs.records import Piece
from calprobe.scoring.options import ScoreOptions
from calprobe.statements import (
    Template,
    TemplateSet,
    default_template_set,
    load_template_set,
    same_by_upper_case,
    select_templates,
    statements_of,
)
from calprobe.words import ModelKind


@dataclass(frozen=True)
class Selection:
    """The part of a probe that a run scores, and the templates for it."""

    probe: Probe
    relations: tuple[Relation, ...]  # cut to --limit or --first, in the probe's order
    template_set: TemplateSet
    numbers: tuple[int, ...]  # template numbers, ascending

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The pieces, in the order of scoring."""
        return tuple(Piece(relation.name, number) for relation in self.relations for number in self.numbers)

    def relation(self, name: str) -> Relation:
        """The cut relation of that name; KeyError if the selection has none."""
        return self._relations[name]

    @cached_property
    def _relations(self) -> dict[str, Relation]:
        return {relation.name: relation for relation in self.relations}

    def text(self, relation: str, number: int) -> str:
        """The wording of one template number for one relation."""
        return self.template_set.template(relation, number).text

    def sample(self) -> list[tuple[Relation, Template]]:
        """A few statements that check a path: shared prefixes, several templates, the longest text.

        Two subjects with two candidates each from up to four relations spread over the run, and the longest text;
        each as a relation with only these, and its template.
        """
        step = max(1, len(self.relations) // 4)
        spread = [
            (
                _part(relation, relation.instances[:2], lambda candidates: candidates[:2]),
                self.template_set.template(relation.name, self.numbers[place % len(self.numbers)]),
            )
            for place, relation in enumerate(self.relations[::step][:4])
        ]
        return [*spread, self._longest()]

    def _longest(self) -> tuple[Relation, Template]:
        def longest_of(relation: Relation) -> tuple[Relation, Template]:
            templates = [self.template_set.template(relation.name, number) for number in self.numbers]
            instance = max(relation.instances, key=_length)
            part = _part(relation, (instance,), lambda candidates: (max(candidates, key=len),) if candidates else ())
            return part, max(templates, key=lambda template: len(template.text))

        def length(piece: tuple[Relation, Template]) -> int:
            return len(statements_of(piece[0], piece[1].text)[0].text)

        return max((longest_of(relation) for relation in self.relations if relation.instances), key=length)

    def template_records(self) -> tuple[TemplateRecord, ...]:
        """The manifest's records of the templates; number and kind agree over the relations."""
        first = self.relations[0].name
        templates = [self.template_set.template(first, number) for number in self.numbers]
        return tuple(TemplateRecord(t.number, t.kind, t.marker) for t in templates)

    def relation_records(self, same_tokens: Mapping[str, int] | None = None) -> tuple[RelationRecord, ...]:
        """The manifest's records of the relations. Cardinality is that of the complete relation, without the limit.

        `same_tokens` is the number of candidates, by relation, that the tokenizer cannot tell apart; None: not known.
        """
        return tuple(
            RelationRecord(
                name=relation.name,
                n_instances=len(relation.instances),
                n_candidates=relation.n_candidates,
                cardinality=self.probe.relation(relation.name).cardinality,
                domains=relation.domains,
                texts=tuple(self.text(relation.name, number) for number in self.numbers),
                scored=relation.scored,
                n_in_probe=len(self.probe.relation(relation.name).instances),
                n_same_tokens=None if same_tokens is None else same_tokens.get(relation.name, 0),
            )
            for relation in self.relations
        )

    def probe_source(self) -> SourceRecord:
        """Name, fingerprint and place of the probe."""
        path = self.probe.path
        return SourceRecord(self.probe.name, self.probe.fingerprint, path and shown(path))

    def template_source(self) -> SourceRecord:
        """Name and fingerprint of the templates that are scored."""
        names = [relation.name for relation in self.relations]
        return SourceRecord(shown(self.template_set.name), self.template_set.fingerprint(names, self.numbers))


def select(probe: Probe, options: ScoreOptions) -> Selection:
    """Pick relations, instances and templates.

    Raises UsageError for an unknown relation or template, and for a template set where completions are scored.
    """
    relations = _relations(probe, options.relations)
    if options.template_set not in (None, "native") and any(r.scored == "completion" for r in relations):
        what = f"--template-set {options.template_set}: probe {probe.name} has contexts and completions"
        raise UsageError(f"{what}, without templates; leave the option out")
    template_set = load_template_set(options.template_set or default_template_set(probe), probe)
    numbers = select_templates(template_set, options.templates, [relation.name for relation in relations])
    cut = (instances_of(relation, options.per_relation, options.sample_seed) for relation in relations)
    selection = Selection(probe, tuple(cut), template_set, numbers)
    _refuse_same_statements(selection)
    return selection


def _refuse_same_statements(selection: Selection) -> None:
    for name, number in selection.pieces:
        text = selection.text(name, number)
        if (same := same_by_upper_case(selection.relation(name), text)) is not None:
            what = f"{name}: {same[0]!r} and {same[1]!r} make one statement under template {number} ({text!r})"
            raise UsageError(
                f"{what}, because the first letter of a statement is upper-cased\n"
                "remove one of them, leave that template out (--templates), or write one that begins with another word"
            )


def instances_of(relation: Relation, limit: int | None, sample_seed: int | None) -> Relation:
    """The relation with a sample of `limit` instances, or with the first ones if there is no seed; None: with all."""
    if limit is None:
        return relation
    return first_instances(relation, limit) if sample_seed is None else sampled_instances(relation, limit, sample_seed)


def refuse_kind(selection: Selection, name: str, kind: ModelKind) -> None:
    """Raise UsageError if a model of that kind cannot score the selection: completions need a causal model."""
    if kind == "masked" and any(relation.scored == "completion" for relation in selection.relations):
        asked = f"probe {selection.probe.name} scores completions of contexts"
        raise UsageError(f"{name}: a masked language model, but {asked}; use a causal model or another --probe")


def _relations(probe: Probe, names: tuple[str, ...] | None) -> tuple[Relation, ...]:
    if names is None:
        return probe.relations
    if not names:
        raise UsageError("--relations has no names; leave it out for all relations")
    known = {relation.name for relation in probe.relations}
    if unknown := [name for name in names if name not in known]:
        few = ", ".join(sorted(known)[:8]) + (", .." if len(known) > 8 else "")
        meant = did_you_mean(unknown[0], known)
        raise UsageError(f"--relations: probe {probe.name} has no {', '.join(unknown)}; it has {few}{meant}")
    return tuple(relation for relation in probe.relations if relation.name in names)


def _part(
    relation: Relation, instances: tuple[Instance, ...], chosen: Callable[[tuple[str, ...]], tuple[str, ...]]
) -> Relation:
    """The relation with these instances and, of each answer space, the chosen candidates; answers may be missing."""
    cut = (i if i.candidates is None else replace(i, candidates=chosen(i.candidates)) for i in instances)
    return replace(relation, candidates=chosen(relation.candidates), instances=tuple(cut))


def _length(instance: Instance) -> int:
    """Characters of the instance's subject and its longest candidate."""
    return len(instance.subject) + max(map(len, instance.candidates or ()), default=0)
