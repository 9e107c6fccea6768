"""A part of a relation's instances: a random sample that is spread over the answers, or the first ones."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from math import sqrt

from calprobe.probes.fingerprints import fingerprint
from calprobe.probes.types import Instance, Relation

_GOLDEN_RATIO = (1 + sqrt(5)) / 2


def first_instances(relation: Relation, count: int) -> Relation:
    """The relation with its first `count` instances, or all if it has no more."""
    return replace(relation, instances=relation.instances[:count])


def sampled_instances(relation: Relation, count: int, seed: int = 0) -> Relation:
    """The relation with a random sample of `count` instances, in the file's order; all if it has no more.

    The instances stand on a circle: those of one answer side by side, the answers and the instances of an answer in
    random order. From a random place on, places are taken in the order of `frac(k * golden ratio)`, k = 0, 1, ..,
    which leaves gaps of nearly equal size (Kronecker sequence). So

    - every instance is in the sample with the same probability, count / instances, for every `count`;
    - each answer has nearly its share of the sample;
    - a sample is part of every larger one of the same seed.

    The sample depends on the relation's facts, `count` and `seed` only: the random order is that of SHA-256, on which
    all machines and versions agree.

    >>> from calprobe.probes import load_probe
    >>> relation = load_probe("mini").relation("continent")
    >>> [instance.index for instance in sampled_instances(relation, 4).instances]
    [11, 15, 22, 53]
    """
    if count >= len(relation.instances):
        return relation
    content = f"{seed}/{fingerprint([relation])}"
    circle = sorted(relation.instances, key=lambda instance: _place(content, relation, instance))
    start = int.from_bytes(_random(content, "start")) % len(circle)
    order = sorted(range(len(circle)), key=lambda place: place * _GOLDEN_RATIO % 1)
    chosen = {circle[(start + place) % len(circle)].index for place in order[:count]}
    return replace(relation, instances=tuple(i for i in relation.instances if i.index in chosen))


def _place(content: str, relation: Relation, instance: Instance) -> tuple[bytes, bytes]:
    """What an instance stands by on the circle: its answer, then itself."""
    answer = relation.candidates_of(instance)[instance.answer_idx]
    return _random(content, f"answer/{answer}"), _random(content, f"instance/{instance.index}")


def _random(content: str, name: str) -> bytes:
    return hashlib.sha256(f"{content}/{name}".encode("utf-8", "surrogatepass")).digest()
