"""Relations and templates of several runs of scores, put together as those of one run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from calprobe.errors import UsageError
from calprobe.probes.fingerprints import fingerprint_of_wordings
from calprobe.runs.manifest_records import RelationRecord, TemplateRecord
from calprobe.runs.records import Piece


class Share(NamedTuple):
    """Templates, and relations with the wordings of these templates."""

    templates: tuple[TemplateRecord, ...]
    relations: tuple[RelationRecord, ...]

    def wordings(self) -> dict[Piece, str]:
        """The wording of each piece, without those that are not known."""
        return {
            Piece(relation.name, template.number): text
            for relation in self.relations
            for template, text in zip(self.templates, relation.texts, strict=False)
        }

    def pieces(self) -> set[Piece]:
        """Its pieces."""
        return {Piece(relation.name, template.number) for relation in self.relations for template in self.templates}


def joined(shares: Sequence[Share]) -> Share:
    """The relations of all shares under the templates of all; orders are those of the first share, then of the next.

    A relation has its largest number of instances. Raises UsageError for a relation and a template that no share has
    together.
    """
    templates = {template.number: template for share in reversed(shares) for template in share.templates}
    numbers = sorted(templates)
    relations: dict[str, list[RelationRecord]] = {}
    for share in shares:
        for relation in share.relations:
            relations.setdefault(relation.name, []).append(relation)
    pieces = set().union(*(share.pieces() for share in shares))
    if lacking := [
        Piece(name, number) for name in relations for number in numbers if Piece(name, number) not in pieces
    ]:
        name, number = lacking[0]
        remainder = f" (and {len(lacking) - 1} more)" if len(lacking) > 1 else ""
        raise UsageError(
            f"a run has each relation under each template, and {name} under template {number} is in none of these"
            f"{remainder}; score that first, or leave a run out"
        )
    texts: dict[Piece, str] = {}
    for share in reversed(shares):
        texts |= share.wordings()
    return Share(
        tuple(templates[number] for number in numbers),
        tuple(_joined(records, numbers, texts) for records in relations.values()),
    )


def _joined(records: Sequence[RelationRecord], numbers: Sequence[int], texts: dict[Piece, str]) -> RelationRecord:
    largest = max(records, key=lambda record: record.n_instances)
    pieces = [Piece(largest.name, number) for number in numbers]
    has_texts = all(piece in texts for piece in pieces)
    return replace(largest, texts=tuple(texts[piece] for piece in pieces) if has_texts else ())


def fingerprint(share: Share) -> str | None:
    """The fingerprint of the share's wordings; None if one is not known."""
    wordings, texts = share.wordings(), {relation.name: dict[int, str]() for relation in share.relations}
    for (relation, number), text in wordings.items():
        texts[relation][number] = text
    return fingerprint_of_wordings(texts) if len(wordings) == len(share.pieces()) else None


def other_wording(one: Share, other: Share) -> Piece | None:
    """The first piece that both have in different wordings, as far as these are known."""
    wordings = other.wordings()
    return next((piece for piece, text in one.wordings().items() if wordings.get(piece, text) != text), None)
