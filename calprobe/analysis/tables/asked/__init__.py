"""The tables of asked runs: answers by reader, confidences, what normalising and another form of answer do."""

from __future__ import annotations

from calprobe.analysis.tables.asked.report import asked_tables, heading

__all__ = ["asked_tables", "heading"]
