"""`calprobe.report`: runs of scores, or runs of replies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, overload

from calprobe.cells.asked import Asked
from calprobe.cells.opening import AskedLike, AskedRuns, Runs, are_asked, asked_runs, of_replies, of_scores, open_runs
from calprobe.errors import UsageError
from calprobe.measures.asked_options import DEFAULT_ASKED, AskedOptions
from calprobe.measures.options import DEFAULT_OPTIONS, ReportOptions
from calprobe.runs import AskedRun
from calprobe.studies.asked.asked_report import AskedReport
from calprobe.studies.asked.frames import confidences_frame, readings_frame
from calprobe.studies.asked.report_asked import report_asked
from calprobe.studies.asked.shown_replies import replies_frame
from calprobe.studies.scored.report_runs import report as report_scores
from calprobe.studies.scored.results import Report

if TYPE_CHECKING:
    import pandas as pd


@overload
def report(runs: AskedRuns, options: AskedOptions) -> AskedReport: ...
@overload
def report(runs: AskedRun | Sequence[AskedRun] | Mapping[str, AskedRun]) -> AskedReport: ...
@overload
def report(runs: Runs, options: ReportOptions = ...) -> Report: ...
def report(runs: Runs | AskedRuns, options: ReportOptions | AskedOptions | None = None) -> Report | AskedReport:
    """Accuracy and calibration of runs with 95 % intervals: every estimator that a run allows, every metric.

    Of runs of scores see `calprobe.studies.scored.report_runs.report`. Of runs of replies: accuracy under each reader
    of answers, each estimator with its coverage, normalisation shift, signed overconfidence, spread, repairs,
    disclosure.

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
    opened = open_runs(runs)
    if not are_asked(opened):
        if isinstance(options, AskedOptions):
            raise UsageError("AskedOptions are of runs of replies, and these are of scores; give ReportOptions")
        return report_scores(of_scores(opened), DEFAULT_OPTIONS if options is None else options)
    if isinstance(options, ReportOptions):
        raise UsageError("ReportOptions are of runs of scores, and these are of replies; give AskedOptions")
    return report_asked(asked_runs(of_replies(opened)), options or DEFAULT_ASKED)


def readings(run: AskedLike, options: AskedOptions = DEFAULT_ASKED) -> pd.DataFrame:
    """What every reader found in each reply of a run, a row each: the columns of `calprobe export --what readings`.

    Raises as `report`.

    Example:
        >>> calprobe.readings("runs/smollm2-135m-mmlu").groupby("rule").size()  # doctest: +SKIP
    """
    return readings_frame(_asked(run), options)


def replies(run: AskedLike, options: AskedOptions = DEFAULT_ASKED) -> pd.DataFrame:
    """Every reply of a run, a row each, as `calprobe show` has it: question, options, right answer, prompt, reply with
    the span that was read, verdict, label probabilities, and a column `confidence_NAME` for each estimator.

    A failed request has a row with its `error`, whose `correct` is null. Raises as `report`.

    Example:
        >>> calprobe.replies("runs/smollm2-135m-mmlu").query("~correct")[["text", "reply"]]  # doctest: +SKIP
    """
    return replies_frame(_asked(run), options)


def asked_confidences(run: AskedLike, options: AskedOptions = DEFAULT_ASKED) -> pd.DataFrame:
    """The confidence of each answer of a run by each estimator: the columns of `calprobe export --what confidences`.

    Raises as `report`.

    Example:
        >>> calprobe.asked_confidences("runs/smollm2-135m-mmlu").query("estimator == 'label'")  # doctest: +SKIP
    """
    return confidences_frame(_asked(run), options)


def _asked(run: AskedLike) -> Asked:
    (asked,) = asked_runs(run)
    return asked
