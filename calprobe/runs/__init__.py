"""The run folder: what was asked, what was found, and the scores, safe against a kill at any moment."""

from __future__ import annotations

from calprobe.runs.folder import RunFolder
from calprobe.runs.manifest import Manifest
from calprobe.runs.manifest_records import (
    ModelRecord,
    RelationRecord,
    Settings,
    SourceRecord,
    StartToken,
    TemplateRecord,
)
from calprobe.runs.pieces import NO_ROLE, PieceScores, PieceTokens
from calprobe.runs.progress import Progress
from calprobe.runs.run import Run, open_run
from calprobe.runs.score_table import ScoreTable

__all__ = [
    "NO_ROLE",
    "Manifest",
    "ModelRecord",
    "PieceScores",
    "PieceTokens",
    "Progress",
    "RelationRecord",
    "Run",
    "RunFolder",
    "ScoreTable",
    "Settings",
    "SourceRecord",
    "StartToken",
    "TemplateRecord",
    "open_run",
]
