"""Grades the answers of a run: by rule, by a judge model, or as a file says; asks models what answers mean."""

from __future__ import annotations

from calprobe.grading.grade import grade
from calprobe.grading.grade_options import GradeOptions
from calprobe.grading.judged_meanings import judge_meanings

__all__ = ["GradeOptions", "grade", "judge_meanings"]
