"""Grades the answers of a run: by rule, by a judge model, or as a file says; asks models what answers mean."""

from __future__ import annotations

from calprobe.grading.grade import grade
from calprobe.grading.meanings import judge_meanings
from calprobe.grading.options import GradeOptions

__all__ = ["GradeOptions", "grade", "judge_meanings"]
