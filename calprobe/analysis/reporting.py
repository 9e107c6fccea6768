"""`calprobe.report`: runs of scores, or runs of replies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, overload

from calprobe.analysis.asked.frames import confidences_frame, readings_frame
from calprobe.analysis.asked.options import DEFAULT_ASKED, AskedOptions
from calprobe.analysis.asked.report import AskedReport
from calprobe.analysis.asked.report_asked import report_asked
from calprobe.analysis.options import DEFAULT_OPTIONS, ReportOptions
from calprobe.analysis.report_runs import report as report_scores
from calprobe.analysis.results import Report
from calprobe.cells.asked import Asked
from calprobe.cells.asked_folder import are_asked, asked_runs
from calprobe.cells.scored import Runs
from calprobe.errors import UsageError
from calprobe.runs import AskedRun, Run

if TYPE_CHECKING:
    import pandas as pd

AskedLike = AskedRun | str | Path
AskedRuns = AskedLike | Sequence[AskedLike] | Mapping[str, AskedLike]  # a mapping gives names to its runs


@overload
def report(runs: AskedRuns, options: AskedOptions) -> AskedReport: ...
@overload
def report(runs: AskedRun | Sequence[AskedRun] | Mapping[str, AskedRun]) -> AskedReport: ...
@overload
def report(runs: Runs, options: ReportOptions = ...) -> Report: ...
def report(runs: Runs | AskedRuns, options: ReportOptions | AskedOptions | None = None) -> Report | AskedReport:
    """Accuracy and calibration of runs with 95 % intervals: every estimator that a run allows, every metric.

    Of runs of scores see `calprobe.analysis.report_runs.report`. Of runs of replies: accuracy under each reader of
    answers, each estimator with its coverage, normalisation shift, signed overconfidence, spread, repairs, disclosure.

    Args:
        runs: run folders, open or by path; one or several, of one kind.
        options: ReportOptions of scores, AskedOptions of replies; None: the defaults of the runs' kind.
    Raises:
        UsageError: no run, one named twice, runs of both kinds, or options of the other kind. DataMissingError: no run
            at a path. CalprobeError: a run is damaged.

    Example:
        >>> calprobe.report("runs/smollm2-135m-mini").runs[0].accuracy.value  # doctest: +SKIP
        >>> calprobe.report("runs/smollm2-135m-mmlu", calprobe.AskedOptions()).to_json()  # doctest: +SKIP
    """
    several = _several(runs)
    if not are_asked([run for run in several.values() if not isinstance(run, Run)]):
        if isinstance(options, AskedOptions):
            raise UsageError("AskedOptions are of runs of replies, and these are of scores; give ReportOptions")
        return report_scores(runs, DEFAULT_OPTIONS if options is None else options)  # type: ignore[arg-type]  # see above
    if isinstance(options, ReportOptions):
        raise UsageError("ReportOptions are of runs of scores, and these are of replies; give AskedOptions")
    if scored := next((name for name, run in several.items() if isinstance(run, Run)), None):
        raise UsageError(f"{scored} is a run of scores, others are of replies; report each kind by itself")
    replies = {name: run for name, run in several.items() if not isinstance(run, Run)}
    return report_asked(asked_runs(replies), options or DEFAULT_ASKED)


def _several(runs: Runs | AskedRuns) -> dict[str, Run | AskedRun | str | Path]:
    """The runs by name, or by their paths as typed. Raises UsageError for one named twice."""
    if isinstance(runs, Mapping):
        return dict(runs)
    each = [runs] if isinstance(runs, Run | AskedRun | str | Path) else list(runs)
    labels = [str(run.path if isinstance(run, Run | AskedRun) else run) for run in each]
    if twice := next((label for label in labels if labels.count(label) > 1), None):
        raise UsageError(f"{twice} is named twice: name one run or more, each once")
    return dict(zip(labels, each, strict=True))


def readings(run: AskedLike, options: AskedOptions = DEFAULT_ASKED) -> pd.DataFrame:
    """What every reader found in each reply of a run, a row each: the columns of `calprobe export --what readings`.

    Raises as `report`.

    Example:
        >>> calprobe.readings("runs/smollm2-135m-mmlu").groupby("rule").size()  # doctest: +SKIP
    """
    return readings_frame(_only(run), options)


def asked_confidences(run: AskedLike, options: AskedOptions = DEFAULT_ASKED) -> pd.DataFrame:
    """The confidence of each answer of a run by each estimator: the columns of `calprobe export --what confidences`.

    Raises as `report`.

    Example:
        >>> calprobe.asked_confidences("runs/smollm2-135m-mmlu").query("estimator == 'label'")  # doctest: +SKIP
    """
    return confidences_frame(_only(run), options)


def _only(run: AskedLike) -> Asked:
    (found,) = asked_runs([run])
    return found
