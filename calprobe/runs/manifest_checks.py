"""What the types of a manifest cannot say: numbers within bounds, names once. Manifests come from strangers too."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from calprobe.probes.relation_rows import label_fault
from calprobe.runs.manifest import Manifest
from calprobe.runs.manifest_records import RelationRecord

LARGEST = 2**31 - 1  # instances and candidates are int32
MOST_STATEMENTS = 2**31 - 1  # of a piece: a shard is one table
LARGEST_TEMPLATE = 999_999  # exports hold a place for each number up to it
LONGEST_NAME = 1000  # every instance of a table of scores carries it
MOST_PIECES = 1_000_000  # BEAR with twelve templates has 720


def manifest_faults(manifest: Manifest) -> Iterator[str]:
    """What no run of scores can have, with the key at fault; an empty run has no fault."""
    names = [relation.name for relation in manifest.relations]
    numbers = [template.number for template in manifest.templates]
    if (name := _twice(names)) is not None:
        yield f"relations: {name!r} is there twice"
    if (number := _twice(numbers)) is not None:
        yield f"templates: number {number} is there twice"
    if any(not 0 <= number <= LARGEST_TEMPLATE for number in numbers):
        yield f"templates: numbers must be 0 to {LARGEST_TEMPLATE}"
    if len(names) * len(numbers) > MOST_PIECES:
        yield f"relations times templates are {len(names) * len(numbers):,} pieces, more than {MOST_PIECES:,}"
    for place, relation in enumerate(manifest.relations):
        yield from (f"relations[{place}].{fault}" for fault in _relation_faults(relation))
    if manifest.limit is not None and manifest.limit < 1:
        yield f"limit: must be 1 or more, got {manifest.limit}"
    if manifest.sample_seed is not None and (manifest.limit is None or manifest.sample_seed < 0):
        yield f"sample_seed: must be 0 or more, and that of a limit, got {manifest.sample_seed}"
    if manifest.n_probe_relations is not None and not len(names) <= manifest.n_probe_relations <= LARGEST:
        yield f"n_probe_relations: must be {len(names)} to {LARGEST}, got {manifest.n_probe_relations!r:.60}"
    if manifest.shard is not None and not _is_share(manifest.shard):
        yield f"shard: expected I/N with I from 1 to N, got {manifest.shard!r:.60}"


def _relation_faults(relation: RelationRecord) -> Iterator[str]:
    if fault := label_fault(relation.name):
        yield f"name: {relation.name!r:.60} {fault}"
    if len(relation.name) > LONGEST_NAME or "\0" in relation.name:
        yield f"name: {relation.name!r:.60} has a NUL or more than {LONGEST_NAME} characters"
    for key, least in (("n_instances", 0), ("n_candidates", 1)):
        if not least <= (count := getattr(relation, key)) <= LARGEST:
            yield f"{key}: must be {least} to {LARGEST}, got {count!r:.60}"
    if relation.n_in_probe is not None and not relation.n_instances <= relation.n_in_probe <= LARGEST:
        yield f"n_in_probe: must be {relation.n_instances!r:.60} to {LARGEST}, got {relation.n_in_probe!r:.60}"
    if relation.n_same_tokens is not None and not 0 <= relation.n_same_tokens <= LARGEST:
        yield f"n_same_tokens: must be 0 to {LARGEST}, got {relation.n_same_tokens!r:.60}"
    n_statements = relation.n_instances * relation.n_candidates
    if n_statements > MOST_STATEMENTS:
        yield f"n_instances times n_candidates are {n_statements:,} statements, more than {MOST_STATEMENTS:,}"


def _is_share(shard: str) -> bool:
    match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", shard)
    return match is not None and 1 <= int(match[1]) <= int(match[2])


def _twice(values: Sequence[object]) -> object:
    seen = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None
