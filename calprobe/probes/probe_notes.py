"""What is odd about a probe's files without being wrong, one sentence each, for `calprobe probes`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from calprobe.messages import counted
from calprobe.probes.datasets import bear_relations
from calprobe.probes.types import Relation, sentence_case

KNOWN_KEYS = frozenset(("templates", "answer_space_labels", "answer_space_ids"))
LISTED = 20  # names in a note before it is cut short


def notes_of(relations: Sequence[Relation], metadata: Mapping[str, Any]) -> tuple[str, ...]:
    """The notes of a probe: relations without file, answer spaces read off rows, odd labels and templates.

    Args:
        relations: as read.
        metadata: the content of metadata_relations.json, an object for each of the relations.
    """
    return (*_metadata_notes(relations, metadata), *_label_notes(relations), *_template_notes(relations))


def listed(names: Iterable[str]) -> str:
    """Names with commas; many are cut short, with their number.

    >>> listed(["P30", "P36"])
    'P30, P36'
    """
    every = list(names)
    more = f" and {len(every) - LISTED} more" if len(every) > LISTED else ""
    return ", ".join(every[:LISTED]) + more


def _metadata_notes(relations: Sequence[Relation], metadata: Mapping[str, Any]) -> Iterator[str]:
    names = [relation.name for relation in relations]
    if absent := [name for name in metadata if name not in names]:
        yield f"In the metadata, but without a file, so not in the probe: {listed(absent)}."
    bear = bear_relations()
    if bear.issubset(names) and (beyond := [name for name in names if name not in bear]):
        yield f"Relations beyond BEAR's {len(bear)}, without calprobe templates: {listed(beyond)}."
    if derived := [name for name in names if "answer_space_labels" not in metadata[name]]:
        yield f"Answer space taken from the rows, by first appearance, in {counted(len(derived), 'relation')}."
    if unknown := sorted({key for name in names for key in metadata[name] if key not in KNOWN_KEYS}):
        yield f"Keys of the metadata that are not read: {listed(unknown)}."
    without = [relation.name for relation in relations if not relation.domains]
    if 0 < len(without) < len(relations):
        yield f"Without a domain: {listed(without)}."


def _label_notes(relations: Sequence[Relation]) -> Iterator[str]:
    if single := [relation.name for relation in relations if len(relation.candidates) == 1]:
        yield f"Only one candidate, so every answer is right: {listed(single)}."
    labels = {
        relation.name: [*(fact.subject for fact in relation.instances), *relation.candidates] for relation in relations
    }
    spaced = {name: sum(label != label.strip() for label in texts) for name, texts in labels.items()}
    if total := sum(spaced.values()):
        names = listed(f"{name} ({count})" for name, count in spaced.items() if count)
        yield f"White space at an end of {counted(total, 'label')}, kept in the statements: {names}."
    if empty := [f"{r.name} line {fact.index + 1}" for r in relations for fact in r.instances if not fact.subject]:
        yield f"Subjects without a label: {listed(empty)}."
    yield from _case_notes(relations)
    for relation in relations:
        counts = Counter(fact.subject for fact in relation.instances)
        if repeated := [subject for subject, count in counts.items() if count > 1]:
            yield f"{relation.name} has subjects in more than one row: {listed(repeated)}."


def _case_notes(relations: Sequence[Relation]) -> Iterator[str]:
    candidates = [(r.name, label) for r in relations for label in r.candidates if sentence_case(label) != label]
    subjects = [fact.subject for r in relations for fact in r.instances if sentence_case(fact.subject) != fact.subject]
    if candidates or subjects:
        numbers = f"{counted(len(candidates), 'candidate')} and {counted(len(subjects), 'subject')}"
        words = dict.fromkeys(label.split()[0] for _, label in candidates)
        mixed = [word for word in words if word.lower() != word]  # such as iPhone: IPhone is another spelling
        such = f", among them {listed(mixed)}" if mixed else ""
        yield f"The first letter of a statement is upper-cased. With a small letter begin {numbers}{such}."
    for relation, label in candidates:
        if (upper := sentence_case(label)) in next(r for r in relations if r.name == relation).candidates:
            yield f"{relation}: candidates {label} and {upper} are one statement where a template begins with [Y]."


def _template_notes(relations: Sequence[Relation]) -> Iterator[str]:
    if without := [relation.name for relation in relations if not relation.templates]:
        yield f"Without templates of its own: {listed(without)}."
    for relation in relations:
        for number, text in enumerate(relation.templates):
            first = relation.templates.index(text)
            if first < number:
                yield f"{relation.name} repeats template {first} as template {number}."
            if not text.endswith("."):
                yield f"{relation.name}'s template {number} does not end with a full stop."
