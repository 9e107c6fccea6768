"""Public functions that take runs of scores and runs of replies alike: what the runs are decides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, overload

from calprobe.cells.asked import Asked
from calprobe.cells.opening import (
    AnyRuns,
    AskedLike,
    AskedRuns,
    RunLike,
    Runs,
    are_asked,
    asked_runs,
    of_replies,
    of_scores,
    open_runs,
)
from calprobe.confidence import confidences as score_confidences
from calprobe.curves import KINDS
from calprobe.curves.curve import DEFAULT_CURVE_OPTIONS, CurveOptions, Curves
from calprobe.errors import UsageError
from calprobe.measures.chosen import known_names
from calprobe.measures.compare_results import Comparison
from calprobe.measures.compare_runs import compare as compare_scores
from calprobe.measures.options import DEFAULT_COMPARISON, DEFAULT_OPTIONS, CompareOptions, ReportOptions, check_rules
from calprobe.runs import AskedRun, Run, ScoreTable
from calprobe.studies.asked.asked_curves import asked_calibration, asked_rejection, asked_set_sizes, asked_utility
from calprobe.studies.asked.asked_report import AskedReport
from calprobe.studies.asked.compare_asked import compare_asked
from calprobe.studies.asked.compared import AskedComparison
from calprobe.studies.asked.frames import confidences_frame, readings_frame
from calprobe.studies.asked.report_asked import report_asked
from calprobe.studies.asked.shown_replies import replies_frame
from calprobe.studies.four_ways.compare_ways import compare_ways
from calprobe.studies.four_ways.joint import FourWays
from calprobe.studies.four_ways.way_options import FourWaysOptions
from calprobe.studies.scored.answer_frame import answers as score_answers
from calprobe.studies.scored.contents import curves_of_scores
from calprobe.studies.scored.report_runs import report as report_scores
from calprobe.studies.scored.results import Report
from calprobe.words import Compat, Reduction, Ties

if TYPE_CHECKING:
    import pandas as pd


ASKED_CURVES: Mapping[str, Callable[[Sequence[Asked], ReportOptions, Sequence[str] | None], Curves]] = {
    "calibration": asked_calibration,
    "accuracy-rejection": asked_rejection,
    "utility": asked_utility,
    "set-sizes": asked_set_sizes,
}


@overload
def report(
    runs: AskedRun | Sequence[AskedRun] | Mapping[str, AskedRun], options: ReportOptions = ...
) -> AskedReport: ...
@overload
def report(runs: Run | Sequence[Run] | Mapping[str, Run], options: ReportOptions = ...) -> Report: ...
@overload
def report(runs: Runs | AskedRuns, options: ReportOptions = ...) -> Any: ...
def report(runs: Runs | AskedRuns, options: ReportOptions = DEFAULT_OPTIONS) -> Report | AskedReport:
    """Accuracy and calibration of runs with 95 % intervals: every estimator that a run allows, every metric.

    Of runs of scores see `calprobe.studies.scored.report_runs.report`. Of runs of replies: accuracy under each reader
    of answers, each estimator with its coverage, normalisation shift, signed overconfidence, spread, repairs,
    disclosure.

    Args:
        runs: run folders, open or by path; one or several, of one kind.
        options: how scores or replies are read, and what is computed.
    Raises:
        UsageError: no run, one named twice, runs of both kinds, or rules of a paper on the other kind. ValueError:
            options of another type. DataMissingError: no run at a path. CalprobeError: a run is damaged.

    Example:
        >>> calprobe.report("runs/smollm2-135m-mini").runs[0].accuracy.value  # doctest: +SKIP
        >>> calprobe.report("runs/smollm2-135m-mmlu").to_json()  # doctest: +SKIP
    """
    _check_type(options, ReportOptions)
    opened = open_runs(runs)
    check_rules(options.compat, "asked" if are_asked(opened) else "scored")
    if not are_asked(opened):
        return report_scores(of_scores(opened), options)
    return report_asked(asked_runs(of_replies(opened)), options)


def compare(
    runs: Runs | AskedRuns, options: CompareOptions | FourWaysOptions | None = None
) -> Comparison | AskedComparison | FourWays:
    """Runs in pairs, with paired differences, intervals and corrected p-values.

    Of runs of scores see `calprobe.analysis.compare`, which this is for them; of runs of replies, accuracy and
    confidences set by set and variant by variant; of both kinds together, the same facts in several ways
    (`calprobe.compare_ways`).

    Args:
        runs: run folders, open or by path; of one run its estimators or variants are compared.
        options: FourWaysOptions of both kinds together, else CompareOptions; None: the defaults.
    Raises:
        UsageError: as these functions, and for options of another comparison, or rules of a paper on the other kind.

    Example:
        >>> calprobe.compare(["runs/gpt2-bear", "runs/opt-125m-bear"]).pairs[0].first  # doctest: +SKIP
    """
    _check_type(options or DEFAULT_COMPARISON, CompareOptions, FourWaysOptions)
    opened = open_runs(runs)
    kinds = {isinstance(run, AskedRun) for run in opened.values()}
    if isinstance(options, FourWaysOptions if len(kinds) == 1 else CompareOptions):
        raise UsageError("FourWaysOptions are of runs of both kinds together, CompareOptions of runs of one kind")
    if len(kinds) > 1:
        return compare_ways(
            of_scores(opened), of_replies(opened), cast("FourWaysOptions", options or FourWaysOptions())
        )
    of_one_kind = cast("CompareOptions", options or DEFAULT_COMPARISON)
    check_rules(of_one_kind.scores.compat, "asked" if kinds == {True} else "scored")
    if kinds == {True}:
        return compare_asked(asked_runs(of_replies(opened)), of_one_kind)
    return compare_scores(of_scores(opened), of_one_kind)


def curve(runs: AnyRuns, kind: str, options: CurveOptions | None = None) -> Curves:
    """One kind of curve of runs: what `calprobe curve` writes. `frame()` has its points.

    `calprobe.curves.plot` draws it.

    Args:
        runs: run folders, open or by path; one or several, of one kind.
        kind: of runs of scores a key of `calprobe.curves.KINDS`; of runs of replies calibration, accuracy-rejection,
            utility or set-sizes.
        options: how runs are read, and the estimators; None: the defaults.
    Raises:
        UsageError: no such kind for these runs, and as `report`.

    Example:
        >>> calprobe.curve("runs/smollm2-135m-mini", "calibration").frame().head()  # doctest: +SKIP
    """
    chosen = options or DEFAULT_CURVE_OPTIONS
    _check_type(chosen, CurveOptions)
    opened = open_runs(runs)
    check_rules(chosen.scores.compat, "asked" if are_asked(opened) else "scored")
    if are_asked(opened):
        known_names("kind", [kind], ASKED_CURVES)
        return ASKED_CURVES[kind](asked_runs(of_replies(opened)), chosen.scores, chosen.estimators)
    known_names("kind", [kind], KINDS)
    return curves_of_scores(KINDS[kind], of_scores(opened), chosen)


def confidences(
    run: Run | ScoreTable | AskedRun | str | Path,
    reduction: Reduction = "sum",
    compat: Compat | None = None,
    ties: Ties = "draw",
    *,
    options: ReportOptions = DEFAULT_OPTIONS,
) -> pd.DataFrame:
    """The confidence of each instance, or of each answer, by each estimator: a row each.

    Of scores see `calprobe.confidence.confidences`, which this is for them; of replies the columns of `calprobe export
    --what confidences`.

    Args:
        run: a run folder, open or by path, or a table of scores.
        reduction: of token scores to a statement's.
        compat: how scores are read.
        ties: which of the candidates that share the largest score is predicted.
        options: how replies are read.
    Raises:
        As these functions. UsageError: options of replies for scores, or what is of scores for replies.

    Example:
        >>> calprobe.confidences("runs/smollm2-135m-mmlu").query("estimator == 'label'")  # doctest: +SKIP
    """
    (opened,) = [run] if isinstance(run, ScoreTable) else open_runs(run).values()
    if isinstance(opened, AskedRun):
        _refuse_rest("replies", reduction=(reduction, "sum"), compat=(compat, None), ties=(ties, "draw"))
        return asked_confidences(opened, options)
    _refuse_rest("scores", options=(options, DEFAULT_OPTIONS))
    return score_confidences(opened, reduction, compat, ties)


def answers(
    run: RunLike | AskedLike,
    estimator: str | None = None,
    *,
    template: int | None = None,
    reduction: Reduction = "sum",
    compat: Compat | None = None,
    probe: str | Path | None = None,
    options: ReportOptions = DEFAULT_OPTIONS,
) -> pd.DataFrame:
    """What a model answered, in words, with its confidences: a row an instance of a probe, or a reply.

    Of scores see `calprobe.studies.scored.answer_frame.answers`, which this is for them: the answer, the right one, the
    statement. Of replies it is `calprobe.replies`.

    Args:
        run: a run folder, open or by path.
        estimator: of scores, the one that gives the answers; None: base, else the first that the run has.
        template: of scores, the answers of this template.
        reduction: of token scores to a statement's.
        compat: how scores are read.
        probe: where the probe is, if neither the run has its labels nor calprobe finds it.
        options: how replies are read.
    Raises:
        As these functions. UsageError: options of replies for scores, or what is of scores for replies.

    Example:
        >>> calprobe.answers("runs/smollm2-135m-mmlu").query("~correct")[["text", "reply"]]  # doctest: +SKIP
    """
    (opened,) = open_runs(run).values()
    if isinstance(opened, AskedRun):
        _refuse_rest("replies", estimator=(estimator, None), template=(template, None), reduction=(reduction, "sum"))
        _refuse_rest("replies", compat=(compat, None), probe=(probe, None))
        return replies(opened, options)
    _refuse_rest("scores", options=(options, DEFAULT_OPTIONS))
    how = {"template": template, "reduction": reduction, "compat": compat, "probe": probe}
    return score_answers(opened, estimator, **how)  # type: ignore[arg-type]  # as they came


def readings(run: AskedLike, options: ReportOptions = DEFAULT_OPTIONS) -> pd.DataFrame:
    """What every reader found in each reply of a run, a row each: the columns of `calprobe export --what readings`.

    Raises as `report`.

    Example:
        >>> calprobe.readings("runs/smollm2-135m-mmlu").groupby("rule").size()  # doctest: +SKIP
    """
    return readings_frame(_asked(run, options), options)


def replies(run: AskedLike, options: ReportOptions = DEFAULT_OPTIONS) -> pd.DataFrame:
    """Every reply of a run, a row each, as `calprobe show` has it: question, options, right answer, prompt, reply with
    the span that was read, verdict, label probabilities, and a column `confidence_NAME` for each estimator.

    A failed request has a row with its `error`, whose `correct` is null. Raises as `report`.

    Example:
        >>> calprobe.replies("runs/smollm2-135m-mmlu").query("~correct")[["text", "reply"]]  # doctest: +SKIP
    """
    return replies_frame(_asked(run, options), options)


def asked_confidences(run: AskedLike, options: ReportOptions = DEFAULT_OPTIONS) -> pd.DataFrame:
    """The confidence of each answer of a run by each estimator: the columns of `calprobe export --what confidences`.

    Raises as `report`.

    Example:
        >>> calprobe.asked_confidences("runs/smollm2-135m-mmlu").query("estimator == 'label'")  # doctest: +SKIP
    """
    return confidences_frame(_asked(run, options), options)


def _check_type(options: object, *types: type) -> None:
    if not isinstance(options, types):
        names = " or ".join(kind.__name__ for kind in types)
        raise ValueError(f"options must be {names}, got {type(options).__name__}")


def _refuse_rest(kind: str, **given: tuple[object, object]) -> None:
    """Raise UsageError for an argument, given with its default, that a run of this kind does not read."""
    instead = {
        "options": "give reduction, compat and the like themselves, or ",
        "compat": "give options=ReportOptions(compat=..), or ",
    }
    for name, (value, usual) in given.items():
        if value != usual:
            raise UsageError(f"{name} decides nothing of a run of {kind}; {instead.get(name, '')}leave it out")


def _asked(run: AskedLike, options: ReportOptions) -> Asked:
    check_rules(options.compat, "asked")
    (asked,) = asked_runs(run)
    return asked
