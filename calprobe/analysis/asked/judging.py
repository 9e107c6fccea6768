"""How far a run's automatic grades can be trusted: their errors where answers were graded by hand too."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from calprobe.messages import counted
from calprobe.metrics import Estimate, Resampling
from calprobe.metrics.judged import JudgedAccuracy, judged_accuracy
from calprobe.runs.grades import StoredGrade

_FALLIBLE = ("judge", "rouge", "contains")  # rules that decide by resemblance


def grading_errors(grades: Iterable[StoredGrade], resampling: Resampling) -> JudgedAccuracy | None:
    """Accuracy corrected for the errors of rules and judge; None where no part, or all, was graded by hand.

    Resamples draw questions, each with all of its answers.
    """
    rows = sorted(grades, key=lambda row: row.key)
    by_hand = np.array([math.nan if row.imported is None else float(row.imported) for row in rows])
    if not rows or np.isnan(by_hand).all() or not np.isnan(by_hand).any():
        return None
    clusters = np.array([f"{row.set}\0{row.question}" for row in rows], np.str_)
    several = len(np.unique(clusters)) < len(rows)
    return judged_accuracy([row.automatic for row in rows], by_hand, resampling, clusters if several else None)


def errors_said(found: JudgedAccuracy | None, grades: Iterable[StoredGrade]) -> str:
    """A sentence for the disclosure; empty where nothing fallible decides any answer."""
    left = sum(row.imported is None and row.rule in _FALLIBLE for row in grades)
    if found is not None and not math.isnan(found.accuracy.value):
        return (
            f"on {found.right:,} right and {found.wrong:,} wrong answers by hand sensitivity "
            f"{_said(found.sensitivity)}, specificity {_said(found.specificity)}; accuracy corrected for them (Rogan "
            f"and Gladen) {_said(found.accuracy)}, before {found.judged.value:.3f}; tables are not corrected"
        )
    if not left:
        return ""
    return (
        f"{counted(left, 'answer')} by a rule or judge that may be wrong; its errors are in no interval: import grades "
        "by hand of a random part, right and wrong ones (calprobe grade RUN --grades FILE.jsonl)"
    )


def _said(own: Estimate) -> str:
    interval = "" if math.isnan(own.low) else f" [{own.low:.3f}, {own.high:.3f}]"
    return f"{own.value:.3f}{interval}"
