"""Fingerprints of what is asked: of facts, of the wordings of templates, and of any JSON value."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from calprobe.probes.types import Instance, Relation


def sha256_of_json(content: Any) -> str:
    """SHA-256 (hex) of a JSON value; the order of keys does not matter.

    >>> sha256_of_json([])[:8]
    '4f53cda1'
    """
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def fingerprint(relations: Iterable[Relation]) -> str:
    """SHA-256 (hex) over names, answer spaces, subjects and answers; the order of the relations does not matter."""
    content = {
        relation.name: [relation.candidates, [_fact_content(fact) for fact in relation.instances]]
        for relation in relations
    }
    return sha256_of_json(content)


def _fact_content(fact: Instance) -> list[Any]:
    own = [] if fact.candidates is None else [fact.candidates]
    return [fact.subject, fact.answer_idx, *own]


def fingerprint_of_wordings(texts: Mapping[str, Mapping[int, str]]) -> str:
    """SHA-256 (hex) over the wordings by relation and template number; the order of either does not matter.

    >>> fingerprint_of_wordings({"P36": {0: "[X]: [Y]", 1: "[Y]: [X]"}})[:8]
    'cd1ca92b'
    """
    content = {relation: sorted(map(list, numbered.items())) for relation, numbered in texts.items()}
    return sha256_of_json(content)
