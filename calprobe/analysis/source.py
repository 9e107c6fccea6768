"""Where the numbers of a report come from: runs, by path or open, or a table of scores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from calprobe.analysis.results import ReportOptions
from calprobe.errors import UsageError
from calprobe.runs import Run, ScoreTable, open_run

RunLike = Run | str | Path


def open_runs(runs: RunLike | Sequence[RunLike]) -> dict[str, Run]:
    """Each run by its label: the path as it was given.

    Raises UsageError for none, or one named twice; DataMissingError if there is no run at a path, CalprobeError if one
    is damaged.
    """
    several = [runs] if isinstance(runs, Run | str | Path) else list(runs)
    labels = [_label(run) for run in several]
    if not labels:
        raise UsageError("name one run or more, each once")
    if twice := next((label for label in labels if labels.count(label) > 1), None):
        raise UsageError(f"{twice} is named twice: name one run or more, each once")
    return {label: _opened(run) for label, run in zip(labels, several, strict=True)}


def read_scores(source: RunLike | ScoreTable, options: ReportOptions) -> ScoreTable:
    """The scores that the options ask for; a table has its reduction already and stays as it is.

    Raises DataMissingError if there is no run at a path, CalprobeError as `Run.table`.
    """
    return source if isinstance(source, ScoreTable) else _opened(source).table(options.reduction, options.compat)


def _opened(run: RunLike) -> Run:
    return run if isinstance(run, Run) else open_run(run)


def _label(run: RunLike) -> str:
    return str(run.path if isinstance(run, Run) else run)
