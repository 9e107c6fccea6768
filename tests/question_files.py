"""Question files for tests."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

CHOICE = {"id": "c1", "question": "Which is red?", "options": ["blood", "grass", "sky"], "answer": "A"}
NUMBER = {"id": "n1", "question": "How far is it?", "answer": 12.5, "unit": "km"}
OPEN = {"id": "o1", "question": "Who wrote Hamlet?", "answer": ["William Shakespeare", "Shakespeare"]}
EVERY_KIND = (CHOICE, NUMBER, OPEN)


def write_questions(path: Path, records: Iterable[dict[str, Any]]) -> Path:
    """A question file with these lines."""
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")
    return path
