"""A small probe folder in BEAR's format, to be changed and written by tests."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROW = {"sub_id": "Q1", "sub_label": "Rome", "sub_aliases": [], "obj_id": "Q38", "obj_label": "Italy", "answer_idx": 0}
OTHER = {
    "sub_id": "Q2",
    "sub_label": "Oslo",
    "sub_aliases": [],
    "obj_id": "Q20",
    "obj_label": "Norway",
    "answer_idx": 1,
}
ENTRY = {
    "templates": ["[X] lies in [Y].", "[Y] is where [X] lies."],
    "answer_space_labels": ["Italy", "Norway"],
    "answer_space_ids": ["Q38", "Q20"],
}


def write(folder: Path, metadata: Mapping[str, Any], rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> Path:
    """A probe folder with these contents; the metadata in BEAR's layout, one string a line."""
    folder.mkdir(exist_ok=True)
    (folder / "metadata_relations.json").write_text(json.dumps(metadata, indent=4), encoding="utf-8")
    for name, lines in rows.items():
        text = "".join(json.dumps(row) + "\n" for row in lines)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return folder


def without(content: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    """The content without some keys."""
    return {key: value for key, value in content.items() if key not in keys}
