"""What pages and figures of a report show: the report with the curves and slices of its runs, each computed once."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self, TypeVar

from calprobe.analysis.curves.accuracy_ace import correlated
from calprobe.analysis.curves.accuracy_rejection import rejection_of
from calprobe.analysis.curves.calibration import calibration_lines
from calprobe.analysis.curves.exposure import Told, exposure_lines
from calprobe.analysis.curves.markers import marker_points
from calprobe.analysis.curves.results import (
    AccuracyAce,
    AccuracyAcePoint,
    CalibrationLine,
    CurveOptions,
    ExposureLine,
    Line,
    MarkerPoint,
    RankCorrelation,
    RejectionLine,
    VoteLine,
)
from calprobe.analysis.curves.scored import OTHER_QUESTIONS, Values
from calprobe.analysis.options import ReportOptions, SliceOptions
from calprobe.analysis.results import Report, RunReport
from calprobe.analysis.scored_run import ScoredRun
from calprobe.analysis.slices import RunSlices, slice_run
from calprobe.confidence import BASE, Headline, headline
from calprobe.words import SliceKind

log = logging.getLogger(__name__)

AnyLine = TypeVar("AnyLine", bound=Line)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be drawn of each run, as far as its templates allow."""

    estimators: tuple[str, ...] = ()  # in calibration and rejection
    slices: tuple[SliceKind, ...] = ()  # beside those that the report has

    def __or__(self, other: Wanted) -> Wanted:
        """What either wants."""
        return Wanted(
            tuple(dict.fromkeys((*self.estimators, *other.estimators))),
            tuple(dict.fromkeys((*self.slices, *other.slices))),
        )


@dataclass(frozen=True, slots=True)
class RunContents:
    """What is drawn of one run; a kind that its templates do not allow is empty."""

    calibration: tuple[CalibrationLine, ...] = ()
    rejection: tuple[RejectionLine, ...] = ()
    votes: tuple[VoteLine, ...] = ()
    markers: tuple[MarkerPoint, ...] = ()
    exposure: tuple[ExposureLine, ...] = ()
    slices: tuple[RunSlices, ...] = ()

    def only(self, estimators: Sequence[str]) -> Self:
        """With the calibration and rejection of these estimators alone, in this order."""
        return replace(
            self, calibration=_named(self.calibration, estimators), rejection=_named(self.rejection, estimators)
        )


@dataclass(frozen=True, slots=True)
class ReportContents:
    """A report with what is drawn of its runs."""

    report: Report
    runs: Mapping[str, RunContents] = field(default_factory=dict)  # by label
    accuracy_ace: tuple[AccuracyAcePoint, ...] = ()  # of several runs
    correlations: tuple[RankCorrelation, ...] = ()


def gather(report: Report, wanted: Wanted, told: Mapping[str, Told] | None = None) -> ReportContents:
    """Everything that figures and pages of a report show. Values with intervals are the report's own where it has them.

    The report holds its runs, opened: nothing is read again.

    Args:
        report: from `calprobe.analysis.report`.
        wanted: what is to be drawn; of a page `calprobe.analysis.html.page_wants` says it, and `|` joins two.
        told: by label, how often a model was told its facts, for runs of which that is known.
    """
    scored = {run.label: run for run in report.scored}
    found = {
        run.label: _of_run(run, scored[run.label], report.options, wanted, (told or {}).get(run.label))
        for run in report.runs
    }
    across = _across(report)
    return ReportContents(report, found, across.points, across.correlations)


def _across(report: Report) -> AccuracyAce:
    """A point for each run and estimator of the paper's, if there are several runs."""
    several = [run for run in report.runs if BASE in _values(run)]
    for run in several[1:]:
        if run.facts.questions != several[0].facts.questions:
            log.warning(OTHER_QUESTIONS, run.label, several[0].label)
    points = [point for run in several for point in _accuracy_ace(run)]
    return correlated(points) if len(several) > 1 else AccuracyAce((), ())


def _accuracy_ace(run: RunReport) -> list[AccuracyAcePoint]:
    found = {estimator.name: estimator for estimator in run.estimators}
    accuracy, model = found[BASE].metrics["accuracy"], run.manifest.model.name
    return [
        AccuracyAcePoint(run.label, model, name, found[name].templates, accuracy, found[name].metrics["ace"])
        for name in headline(Headline.PAPER)
        if name in found
    ]


def _of_run(
    run: RunReport, scored: ScoredRun, options: ReportOptions, wanted: Wanted, told: Told | None
) -> RunContents:
    values = _values(run)
    found = RunContents(slices=_slices(run, scored, options, wanted.slices))
    if BASE not in values:
        return found
    chosen = [scored.estimators[name] for name in wanted.estimators if name in values]
    rejected = rejection_of(scored, chosen, options.resampling)
    marked = any(scored.estimators[name].marker is not None for name in values)
    return replace(
        found,
        calibration=tuple(calibration_lines(scored, chosen, values, options.ace_bins)),
        rejection=rejected.lines,
        votes=rejected.votes,
        markers=tuple(marker_points(scored, values, options)) if marked else (),
        exposure=tuple(exposure_lines(scored, told, CurveOptions(options))) if told else (),
    )


def _slices(
    run: RunReport, scored: ScoredRun, options: ReportOptions, kinds: Sequence[SliceKind]
) -> tuple[RunSlices, ...]:
    """By the kinds, and by what else the report was asked for, whose slices are at hand."""
    if not run.instances:
        return ()
    own = {run.slices.by: run.slices} if run.slices else {}
    asked = options.slices or SliceOptions("relation")
    for by in kinds:
        if by not in own:
            own[by] = slice_run(scored, replace(options, slices=replace(asked, by=by)))
    return tuple(own[by] for by in dict.fromkeys((*kinds, *own)))


def _values(run: RunReport) -> Values:
    return {estimator.name: estimator.metrics for estimator in run.estimators}


def _named(lines: Sequence[AnyLine], estimators: Sequence[str]) -> tuple[AnyLine, ...]:
    by_name = {line.estimator: line for line in lines}
    return tuple(by_name[name] for name in estimators if name in by_name)
