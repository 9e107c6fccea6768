"""The wordings of templates by relation and number."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping


def fingerprint_of_wordings(texts: Mapping[str, Mapping[int, str]]) -> str:
    """SHA-256 (hex) over the wordings by relation and template number; the order of either does not matter.

    >>> fingerprint_of_wordings({"P36": {0: "[X]: [Y]", 1: "[Y]: [X]"}})[:8]
    'cd1ca92b'
    """
    content = {relation: sorted(map(list, numbered.items())) for relation, numbered in texts.items()}
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
