"""What tables say of estimators: their groups, the templates that they read, failures and fitted temperatures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from calprobe.analysis.number_text import ranges
from calprobe.analysis.results import EstimatorReport

GROUPS = {
    "intrinsic": "probabilities under one wording",
    "consistency": "agreement between paraphrases",
    "grounding": "statements that say how sure they are",
}


def group_title(group: str, estimators: Sequence[EstimatorReport]) -> str:
    """A group with what it reads: intrinsic (probabilities under one wording): template 0."""
    meaning = f" ({GROUPS[group]})" if group in GROUPS else ""
    return f"{group}{meaning}: {templates_read(estimators)}"


def templates_read(estimators: Sequence[EstimatorReport]) -> str:
    """The templates that the estimators of a group use: once for those with the same templates."""
    readers: dict[tuple[int, ...], list[str]] = {}
    for estimator in estimators:
        readers.setdefault(estimator.templates, []).append(estimator.name)
    if len(readers) == 1:
        return templates_named(estimators[0].templates)
    singles = [number for templates in readers for number in templates]
    if len(singles) == len(readers) == len(estimators) and all(a < b for a, b in pairwise(singles)):
        return f"{templates_named(singles)}, one each"
    return " or ".join(templates_named(templates) for templates in readers)


def templates_named(numbers: Sequence[int]) -> str:
    """template 0, or templates 0-4."""
    return f"template{'s' if len(numbers) > 1 else ''} {ranges(numbers)}"


def estimator_notes(estimator: EstimatorReport) -> Iterable[str]:
    """What stands below an estimator's name: 59 failed; T 1.55-1.71, its temperatures."""
    if estimator.failed:
        yield f"{estimator.failed:,} failed"
    if estimator.fitted:
        low, high = (
            f"{end:.0f}" if end >= 100 else f"{end:.3g}" for end in (min(estimator.fitted), max(estimator.fitted))
        )
        yield f"T {low}" if low == high else f"T {low}-{high}"
