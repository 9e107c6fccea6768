"""Runs from their paths, each opened once, and what analysis reads of them: scored runs and runs of replies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from calprobe.cells.asked import Asked
from calprobe.cells.asked_folder import asked_of
from calprobe.cells.reading_options import ScoreReading
from calprobe.cells.scored import ScoredRun, scored_run
from calprobe.errors import UsageError
from calprobe.runs import AskedRun, Run, open_scores
from calprobe.runs import open_run as open_run

AnyRun = Run | AskedRun
_ONE_RUN = (Run, AskedRun, str, Path)
RunLike = Run | str | Path
AskedLike = AskedRun | str | Path
Runs = RunLike | Sequence[RunLike] | Mapping[str, RunLike]  # a mapping gives names to its runs
AskedRuns = AskedLike | Sequence[AskedLike] | Mapping[str, AskedLike]
AnyRuns = Runs | AskedRuns | Mapping[str, AnyRun]


def named_runs(runs: AnyRuns) -> dict[str, AnyRun | str | Path]:
    """Each run by its label: the key of a mapping, else the path as it was given.

    Raises UsageError for none, one named twice, or what is no run.
    """
    if isinstance(runs, Mapping):
        labels, sources = list(runs), list(runs.values())
    else:
        sources = list(runs) if isinstance(runs, Iterable) and not isinstance(runs, _ONE_RUN) else [runs]
        labels = [str(run.path if isinstance(run, AnyRun) else run) for run in sources]
    for source in sources:
        if not isinstance(source, _ONE_RUN):
            raise UsageError(f"{source!r:.60} is no run: give folders of runs, or runs that are open")
    if not labels:
        raise UsageError("name one run or more, each once")
    if twice := next((label for label in labels if labels.count(label) > 1), None):
        raise UsageError(f"{twice} is named twice: name one run or more, each once")
    return dict(zip(labels, sources, strict=True))


def open_runs(runs: AnyRuns) -> dict[str, AnyRun]:
    """The runs by label, of either kind. Raises as `named_runs` and `open_run`."""
    return {label: run if isinstance(run, AnyRun) else open_run(run) for label, run in named_runs(runs).items()}


def are_asked(runs: Mapping[str, AnyRun]) -> bool:
    """Whether these are runs of replies. Raises UsageError where some are and some are not."""
    first = {isinstance(run, AskedRun): label for label, run in reversed(list(runs.items()))}
    if len(first) > 1:
        raise UsageError(f"{first[True]} is a run of replies, {first[False]} one of scores; report each kind by itself")
    return True in first


def of_scores(runs: Mapping[str, AnyRun]) -> dict[str, Run]:
    """Those of the runs that are of scores."""
    return {label: run for label, run in runs.items() if isinstance(run, Run)}


def of_replies(runs: Mapping[str, AnyRun]) -> dict[str, AskedRun]:
    """Those of the runs that are of replies."""
    return {label: run for label, run in runs.items() if isinstance(run, AskedRun)}


def open_each_scored(runs: AnyRuns) -> dict[str, Run]:
    """The runs of scores by label. Raises as `named_runs`, and as `open_scores`."""
    opened: dict[str, Run] = {}
    for label, run in named_runs(runs).items():
        if isinstance(run, AskedRun):
            raise UsageError(f"{label}: a run of replies, not of scores; report it by itself")
        # Shards are let go with the run that they were read of.
        opened[label] = run.unread() if isinstance(run, Run) else open_scores(run)
    return opened


def open_scored_runs(runs: Runs, options: ScoreReading) -> Iterator[ScoredRun]:
    """The runs over their complete relations, by turns: each is read when it is taken, and its shards are let go.

    Raises as `open_each_scored`, at once; UsageError, CalprobeError as `Run.table`, when a run is read.
    """
    opened = open_each_scored(runs)
    return (scored_run(label, opened.pop(label), options) for label in list(opened))


def asked_runs(runs: AskedRuns) -> list[Asked]:
    """The runs of replies, in their order. Raises as `open_runs`, and UsageError for a run of scores."""
    return [asked_of(label, _of_replies(label, run)) for label, run in open_runs(runs).items()]


def _of_replies(label: str, run: AnyRun) -> AskedRun:
    if not isinstance(run, AskedRun):
        raise UsageError(f"{label}: a run of scores, not of replies; report it by itself")
    return run
