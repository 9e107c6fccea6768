"""What a run was asked: numbers of runs compare where all were asked the same."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from calprobe.runs import Manifest, ScoreTable, SourceRecord


def questions_of(manifest: Manifest, table: ScoreTable) -> str:
    """A fingerprint of the probe and of each instance's relation, line number, answer and number of candidates.

    `table` has the run's complete relations, in whatever order. What the templates are is not in it.
    """
    columns = (table.relation, table.instance, table.answer_idx, np.diff(table.offsets))
    asked = sorted(zip(*(column.tolist() for column in columns), strict=True))
    return hashlib.sha256(repr((content_of(manifest.probe), asked)).encode("utf-8", "backslashreplace")).hexdigest()


def content_of(source: SourceRecord) -> str:
    """What stands for the content of a probe or template set: the fingerprint or, in an import, the name."""
    return source.fingerprint or f"import {source.name}"
