"""What two runs have in common: the same instances under the same templates, or what keeps them from being compared.

And which of these instances both answer alike: their scores differ by no more than the error that scores have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Ints
from calprobe.cells.run_facts import content_of
from calprobe.cells.scored import ScoredRun
from calprobe.errors import UsageError
from calprobe.measures.number_text import ranges
from calprobe.messages import counted
from calprobe.runs import Manifest, ScoreTable, SourceRecord

K = TypeVar("K")
Key = tuple[str, int, int, int]  # an instance: relation, line number, place of the answer, number of candidates
# Scores are sums of float32 log-probabilities. The same weights on another path, batch size or device gave scores that
# differed by 1e-4 nats at most, and long texts by a few units of the score's own last places.
ABSOLUTE = 1e-4  # nats
RELATIVE = 4e-6  # of the score: 32 times the spacing of float32 numbers


@dataclass(frozen=True)
class Comparable:
    """A run with its instances and templates by what they are."""

    run: ScoredRun

    @property
    def label(self) -> str:
        """The run as typed."""
        return self.run.label

    @property
    def manifest(self) -> Manifest:
        """What the run's folder says of it."""
        return self.run.manifest

    @cached_property
    def places(self) -> dict[Key, int]:
        """Each instance's place in the table."""
        table = self.run.table
        columns = (table.relation, table.instance, table.answer_idx, self.run.widths)
        keys = zip(*(column.tolist() for column in columns), strict=True)
        return {key: place for place, key in enumerate(keys)}

    @cached_property
    def rows(self) -> dict[tuple[int, str, str | None], int]:
        """Each template's row in the table, by number, kind and marker."""
        return {(t.number, t.kind, t.marker): row for row, t in enumerate(self.run.table.templates)}


@dataclass(frozen=True, slots=True)
class Part:
    """Some templates and instances of a run."""

    rows: Ints  # [templates of the part]
    places: Ints  # [instances of the part]

    def of(self, run: ScoredRun) -> ScoredRun:
        """The part of the run."""
        return run.restricted(self.rows, self.places)


@dataclass(frozen=True, slots=True)
class Shared:
    """The parts of two runs that can be compared, their rows and places in one order."""

    first: Part
    second: Part
    differences: tuple[str, ...]  # what the runs differ in beyond these parts, a clause each

    @property
    def empty(self) -> bool:
        """Whether no template or no instance is in both."""
        return not (len(self.first.rows) and len(self.first.places))


def shared_part(first: Comparable, second: Comparable) -> Shared:
    """What both runs have: instances of one relation, line number, answer and number of candidates; templates of one
    number, kind and marker, whatever their wording. `differences` tells what this passes over."""
    rows = [key for key in first.rows if key in second.rows]
    places = [key for key in first.places if key in second.places]
    return Shared(
        Part(_taken(first.rows, rows), _taken(first.places, places)),
        Part(_taken(second.rows, rows), _taken(second.places, places)),
        tuple(_differences(first, second)),
    )


def comparable_part(first: Comparable, second: Comparable, intersect: bool) -> Shared:
    """`shared_part` of runs that are alike or, with `intersect`, have anything in common; UsageError otherwise."""
    shared = shared_part(first, second)
    labels = f"{first.label} and {second.label}"
    if shared.differences and not intersect:
        advice = "score both alike, or compare what they have in common with --intersect"
        raise UsageError(f"{labels} differ in {'; '.join(shared.differences)}: {advice}")
    if shared.differences and shared.empty:
        unit = "template" if not len(shared.first.rows) else "instance"
        raise UsageError(f"{labels} have no {unit} in common ({'; '.join(shared.differences)}): leave one of them out")
    return shared


def _taken(places: Mapping[K, int], keys: Sequence[K]) -> Ints:
    return np.array([places[key] for key in keys], dtype=np.int64)


def _differences(first: Comparable, second: Comparable) -> Iterator[str]:
    """A clause for each thing that makes the runs' numbers numbers of different things."""
    probes = first.manifest.probe, second.manifest.probe
    if content_of(probes[0]) != content_of(probes[1]):
        yield f"probe: {_shown(probes[0])} against {_shown(probes[1])}"
    yield from _of_relations(first, second)
    yield from _of_instances(first, second)
    yield from _of_templates(first, second)
    yield from _of_wordings(first, second)


def _shown(source: SourceRecord) -> str:
    return f"{source.name} ({source.fingerprint[:8] if source.fingerprint else 'an import, content not known'})"


def _of_relations(first: Comparable, second: Comparable) -> Iterator[str]:
    first_relations, second_relations = first.run.relations, second.run.relations
    if first_relations != second_relations:
        lacking = [
            f"{run.label} lacks {_few(sorted(lacks))}{' (partial run: resume it)' if run.run.facts.partial else ''}"
            for run, lacks in (
                (first, second_relations - first_relations),
                (second, first_relations - second_relations),
            )
            if lacks
        ]
        yield f"relations: {', '.join(lacking)}"


def _of_instances(first: Comparable, second: Comparable) -> Iterator[str]:
    shared = first.run.relations & second.run.relations
    differing = {key[0] for key in first.places.keys() ^ second.places.keys()} & shared
    if not differing:
        return
    relation, more = min(differing), len(differing) - 1
    counts = [int((run.run.instances.group == relation).sum()) for run in (first, second)]
    same_number = "as many, with other lines, answers or numbers of candidates"
    text = same_number if counts[0] == counts[1] else f"{counts[0]} against {counts[1]}"
    yield f"instances of {relation}: {text}" + (f", and of {counted(more, 'other relation')}" if more else "")


def _of_templates(first: Comparable, second: Comparable) -> Iterator[str]:
    if first.rows.keys() == second.rows.keys():
        return
    first_numbers, second_numbers = ({number for number, _, _ in run.rows} for run in (first, second))
    if first_numbers != second_numbers:
        yield f"templates: {ranges(first_numbers)} against {ranges(second_numbers)}"
    else:
        number, kind, marker = min(first.rows.keys() - second.rows.keys())
        template = next(t for t in second.run.table.templates if t.number == number)
        yield f"template {number}: {marker or kind} against {template.marker or template.kind}"


def _of_wordings(first: Comparable, second: Comparable) -> Iterator[str]:
    """A clause if templates of one number have other words, or if that cannot be known."""
    sets = first.manifest.template_set, second.manifest.template_set
    first_texts, second_texts = _texts(first), _texts(second)
    shared = first.run.relations & second.run.relations
    keys = first_texts.keys() & second_texts.keys()
    differing = {relation for relation, _ in filter(lambda key: first_texts[key] != second_texts[key], keys)} & shared
    named = f"{sets[0].name} against {sets[1].name}"
    if differing:
        yield f"template set: {named}, other words in {len(differing)} of {counted(len(shared), 'relation')}"
    elif shared - {relation for relation, _ in keys} and content_of(sets[0]) != content_of(sets[1]):
        yield f"template set: {named}; the wordings are not known"


def _texts(run: Comparable) -> dict[tuple[str, int], str]:
    """The wordings that the manifest knows, by relation and template number."""
    return {
        (relation.name, template.number): text
        for relation in run.manifest.relations
        for template, text in zip(run.manifest.templates, relation.texts, strict=False)
    }


def _few(names: list[str]) -> str:
    return ", ".join(names if len(names) <= 4 else [*names[:3], f"{len(names) - 3} others"])


def tied_instances(first: ScoreTable, second: ScoreTable) -> npt.NDArray[np.bool_]:
    """Whether every candidate of an instance has the same score in both tables, under every template, [instances].

    Scores a and b are the same if `|a - b| <= 1e-4 + 4e-6 max(|a|, |b|)` nats, or if both are missing (NaN).

    Args:
        first: some templates and instances of a run.
        second: the same templates and instances of another run, in the same order.
    """
    if not first.n_instances:
        return np.zeros(0, np.bool_)
    a, b = first.scores, second.scores
    near = np.abs(a - b) <= ABSOLUTE + RELATIVE * np.maximum(np.abs(a), np.abs(b))
    same = near | (np.isnan(a) & np.isnan(b))
    tied: npt.NDArray[np.bool_] = np.logical_and.reduceat(same.all(axis=0), first.offsets[:-1])
    return tied
