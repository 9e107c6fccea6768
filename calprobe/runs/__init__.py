"""The run folder: what was asked, and the scores or replies, safe against a kill at any moment."""

from __future__ import annotations

from calprobe.runs.alternatives import Alternatives
from calprobe.runs.asked_manifest import AskManifest
from calprobe.runs.asked_run import AskedRun
from calprobe.runs.folder import RunFolder
from calprobe.runs.grades import StoredGrade, StoredGrades
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
from calprobe.runs.replies import LabelScores, Reply
from calprobe.runs.reply_records import AskedPiece, PieceReplies
from calprobe.runs.run import Run, open_asked, open_run, open_scores
from calprobe.runs.run_progress import Progress
from calprobe.runs.score_table import ScoreTable

__all__ = [
    "NO_ROLE",
    "Alternatives",
    "AskManifest",
    "AskedPiece",
    "AskedRun",
    "LabelScores",
    "Manifest",
    "ModelRecord",
    "PieceReplies",
    "PieceScores",
    "PieceTokens",
    "Progress",
    "RelationRecord",
    "Reply",
    "Run",
    "RunFolder",
    "ScoreTable",
    "Settings",
    "SourceRecord",
    "StartToken",
    "StoredGrade",
    "StoredGrades",
    "TemplateRecord",
    "open_asked",
    "open_run",
    "open_scores",
]
