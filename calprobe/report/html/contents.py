"""What a page shows: the report, and the curves and slices of its runs, each computed by the stage that owns it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from calprobe.confidence import Distributions, available_estimators
from calprobe.confidence.types import paraphrase_rows
from calprobe.report.compute import right_shares
from calprobe.report.curves.accuracy_ace import accuracy_ace
from calprobe.report.curves.accuracy_rejection import accuracy_rejection
from calprobe.report.curves.calibration import calibration
from calprobe.report.curves.exposure import Told, exposure
from calprobe.report.curves.markers import markers
from calprobe.report.curves.results import (
    AccuracyAce,
    AccuracyAcePoint,
    CalibrationLine,
    CurveOptions,
    ExposureLine,
    MarkerPoint,
    RankCorrelation,
    RejectionLine,
    VoteLine,
)
from calprobe.report.results import Report, ReportOptions, RunReport, SliceKind, SliceOptions
from calprobe.report.slices import ESTIMATORS, Estimated, RunSlices, slice_run
from calprobe.runs import open_run

SLICES: tuple[SliceKind, ...] = ("domain", "relation")
FEW_SLICES: tuple[SliceKind, ...] = ("domain",)
ESTIMATORS_DRAWN = ("base", "margin", "average_vote_2", "average_min", "consistency_vote_2", "consistency_min")
FEW_DRAWN = ("base", "average_min")
MANY_RUNS = 4  # of more each shows less, so that 16 runs stay a page that one can send


@dataclass(frozen=True, slots=True)
class RunContents:
    """What is drawn of one run; a kind that its templates do not allow is empty."""

    calibration: tuple[CalibrationLine, ...] = ()
    rejection: tuple[RejectionLine, ...] = ()
    votes: tuple[VoteLine, ...] = ()
    markers: tuple[MarkerPoint, ...] = ()
    exposure: tuple[ExposureLine, ...] = ()
    slices: tuple[RunSlices, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportContents:
    """A report with what is drawn of its runs."""

    report: Report
    runs: Mapping[str, RunContents] = field(default_factory=dict)  # by label
    accuracy_ace: tuple[AccuracyAcePoint, ...] = ()  # of several runs
    correlations: tuple[RankCorrelation, ...] = ()

    @property
    def many(self) -> bool:
        """Whether each run shows the main numbers only."""
        return len(self.report.runs) > MANY_RUNS


def gather(report: Report, told: Mapping[str, Told] | None = None) -> ReportContents:
    """Everything that the page of a report shows.

    Args:
        report: of runs that are still where their labels say.
        told: by label, how often a model was told its facts, for runs of which that is known.
    Raises:
        DataMissingError, CalprobeError: as `calprobe.report.report`.
    """
    asked = ReportContents(report)
    several = [run.label for run in report.runs if run.accuracy is not None and run.instances]
    across = AccuracyAce((), ())
    if len(several) > 1:
        across = accuracy_ace(several, CurveOptions(_without_resamples(report.options)))
    found = {run.label: _of_run(run, asked, (told or {}).get(run.label)) for run in report.runs}
    points = tuple(_with_intervals(point, report) for point in across.points)
    return ReportContents(report, found, points, across.correlations)


def _with_intervals(point: AccuracyAcePoint, report: Report) -> AccuracyAcePoint:
    """The point with the report's own estimates, whose intervals are at hand."""
    (run,) = (run for run in report.runs if run.label == point.run)
    found = {estimator.name: estimator.metrics for estimator in run.estimators}
    return replace(point, accuracy=found["base"]["accuracy"], ace=found[point.estimator]["ace"])


def _without_resamples(options: ReportOptions) -> ReportOptions:
    return replace(options, resampling=replace(options.resampling, n_resamples=0))


def _of_run(run: RunReport, asked: ReportContents, told: Told | None) -> RunContents:
    if not run.instances:
        return RunContents()
    options, names = asked.report.options, {estimator.name for estimator in run.estimators}
    drawn = FEW_DRAWN if asked.many else ESTIMATORS_DRAWN
    chosen = CurveOptions(options, tuple(name for name in drawn if name in names))
    lines = points = rejected = known = None
    if chosen.estimators:
        # Its bins and their Wilson intervals are drawn; the intervals of the errors are in the report already.
        lines = calibration(run.label, replace(chosen, scores=_without_resamples(options)))
        rejected = accuracy_rejection(run.label, chosen)
        known = exposure(run.label, told, CurveOptions(options)) if told else None
    if "base" in names and any(name.startswith("marker_") for name in names):
        points = markers(run.label, CurveOptions(options))
    return RunContents(
        calibration=lines.lines if lines else (),
        rejection=rejected.lines if rejected else (),
        votes=rejected.votes if rejected else (),
        markers=points.points if points else (),
        exposure=known.lines if known else (),
        slices=_slices(run, options, FEW_SLICES if asked.many else SLICES),
    )


def _slices(run: RunReport, options: ReportOptions, kinds: Sequence[SliceKind]) -> tuple[RunSlices, ...]:
    """By the kinds, and by what else the report was asked for, whose slices are at hand."""
    table = open_run(run.label).table(options.reduction, options.compat)
    distributions = Distributions.from_table(table)
    asked = options.slices or SliceOptions("relation")
    confidences = {
        estimator.name: estimator(distributions)
        for estimator in available_estimators(table.templates)
        if estimator.name in (asked.estimators or ESTIMATORS)
    }
    estimated = Estimated(table, confidences, right_shares(distributions, paraphrase_rows(table.templates)))
    own = {run.slices.by: run.slices} if run.slices else {}
    for by in kinds:
        if by not in own:
            own[by] = slice_run(run.label, run.manifest, estimated, replace(options, slices=replace(asked, by=by)))
    return tuple(own[by] for by in dict.fromkeys((*kinds, *own)))
