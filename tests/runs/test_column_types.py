"""The types of columns, which follow from the type hints of records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from calprobe.runs.arrow import type_of
from calprobe.runs.grades import StoredGrade
from calprobe.runs.reply_json import StoredLabelScores


@dataclass
class Made:
    word: Literal["a", "b"]
    numbers: tuple[tuple[int, ...], ...] | None
    share: float | None
    is_open: bool
    scores: tuple[float | None, ...]


def test_each_hint_has_its_type() -> None:
    assert type_of(Made) == pa.struct(
        [
            ("word", pa.string()),
            ("numbers", pa.list_(pa.list_(pa.int32()))),
            ("share", pa.float64()),
            ("is_open", pa.bool_()),
            ("scores", pa.list_(pa.float64())),
        ]
    )


def test_stored_records_have_the_types_of_earlier_files() -> None:
    grades = {field.name: field.type for field in type_of(StoredGrade)}
    assert [grades[name] for name in ("key", "sample", "score", "imported")] == [
        *(pa.string(), pa.int32(), pa.float64(), pa.bool_())
    ]
    scores = {field.name: field.type for field in type_of(StoredLabelScores)}
    assert [scores[name] for name in ("labels", "forms", "positions", "logprobs", "ranks")] == [
        *(pa.list_(pa.string()), pa.list_(pa.list_(pa.int32())), pa.list_(pa.int32())),
        *(pa.list_(pa.list_(pa.float64())), pa.list_(pa.list_(pa.int32()))),
    ]
