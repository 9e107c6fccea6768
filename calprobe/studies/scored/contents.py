"""What pages and figures of a report show: the report with the curves and slices of its runs, each computed once."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Self

from calprobe.cells.scored import ScoredRun
from calprobe.confidence import BASE
from calprobe.curves import KINDS, Kind
from calprobe.curves.curve import CurveOptions, Curves
from calprobe.curves.inputs import OTHER_QUESTIONS, ExposureCounts, Reported, Values
from calprobe.errors import UsageError
from calprobe.interop.answer_texts import AnswerTexts, texts_if_known
from calprobe.measures.options import ReportOptions, SliceOptions
from calprobe.measures.slices import RunSlices, slice_run
from calprobe.runs import Manifest, Run
from calprobe.studies.scored.answers import Shown, ShowOptions, show_answers
from calprobe.studies.scored.results import Report, RunReport
from calprobe.words import SliceKind

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be drawn of each run, as far as its templates allow."""

    estimators: tuple[str, ...] = ()  # where a kind of curve has many
    slices: tuple[SliceKind, ...] = ()  # beside those that the report has
    errors: int = 0  # how many of the surest errors

    def __or__(self, other: Wanted) -> Wanted:
        """What either wants."""
        return Wanted(
            tuple(dict.fromkeys((*self.estimators, *other.estimators))),
            tuple(dict.fromkeys((*self.slices, *other.slices))),
            max(self.errors, other.errors),
        )


def _filled(curves: Curves) -> Iterator[Curves]:
    """The curves, if there is something to draw: an order of answers has no calibration."""
    if curves.of_runs():
        yield curves


@dataclass(frozen=True, slots=True)
class RunContents:
    """What is drawn of one run."""

    curves: Mapping[str, Curves] = field(default_factory=dict)  # by kind, those that its templates allow
    slices: tuple[RunSlices, ...] = ()
    errors: Shown | None = None  # the surest; None unless asked for

    def only(self, estimators: Sequence[str]) -> Self:
        """With these estimators alone, in this order, where a kind of curve has many."""
        curves = {kind: list(_filled(curves.only(estimators))) for kind, curves in self.curves.items()}
        return replace(self, curves={kind: left[0] for kind, left in curves.items() if left})

    def figures(self, estimators: Sequence[str] | None = None) -> Iterator[Curves]:
        """What `calprobe report --plots` draws of the run; None: of the usual estimators."""
        for name, kind in KINDS.items():
            if kind.fewest_runs == 1 and name in self.curves:
                yield from _filled(self.curves[name].only(estimators or kind.plotted))


@dataclass(frozen=True, slots=True)
class ReportContents:
    """A report with what is drawn of its runs."""

    report: Report
    runs: Mapping[str, RunContents] = field(default_factory=dict)  # by label
    across: Mapping[str, Curves] = field(default_factory=dict)  # by kind: several runs in one figure
    estimators: tuple[str, ...] | None = None  # that curves were asked of, where a kind has many; None: the usual ones

    def joint_figures(self) -> Iterator[Curves]:
        """What `calprobe report --plots` draws of several runs together."""
        for name, kind in KINDS.items():
            if name in self.across and len(self.runs) >= kind.fewest_runs:
                yield from _filled(self.across[name].only(self.estimators or kind.plotted))

    def left_out(self) -> Iterator[tuple[str, int]]:
        """Kinds that need more runs, with the fewest that they need."""
        for name, kind in KINDS.items():
            if name in self.across and len(self.runs) < kind.fewest_runs:
                yield name, kind.fewest_runs


def gather(report: Report, wanted: Wanted, exposures: Mapping[str, ExposureCounts] | None = None) -> ReportContents:
    """Everything that figures and pages of a report show. Values with intervals are the report's own where it has them.

    The report holds its runs, opened: nothing is read again.

    Args:
        report: from `calprobe.analysis.report`.
        wanted: what is to be drawn; of a page `page_wants` says it, and `|` joins two.
        exposures: by label, how often a model's training data has the facts, for runs of which that is known.
    """
    scored = {run.label: run for run in report.scored}
    contents = {
        run.label: _of_run(run, scored[run.label], report.options, wanted, (exposures or {}).get(run.label))
        for run in report.runs
    }
    errors = _errors([run for run in report.scored if len(run.instances)], wanted.errors) if wanted.errors else {}
    contents = {label: replace(content, errors=errors.get(label)) for label, content in contents.items()}
    _warn_of_other_questions([run for run in report.runs if BASE in _values(run)])
    return ReportContents(report, contents, _across([content.curves for content in contents.values()]))


def exposures_of(manifest: Manifest) -> ExposureCounts:
    """How often each fact of a run is in its model's training data. Raises UsageError where this is not known."""
    from calprobe.models.exposures import exposure_counts  # other commands need no models

    model = manifest.model
    return exposure_counts(model.name, model.weights_fingerprint, manifest.probe.fingerprint)


def curves_of_scores(kind: Kind, scored: Mapping[str, Run], options: CurveOptions) -> Curves:
    """One kind of curve of runs of scores. Raises as the kind's own function."""
    if not kind.needs_exposures:
        return kind.compute(scored, options)
    # The tiny models were told the same.
    exposures = {name: counts for run in scored.values() for name, counts in exposures_of(run.manifest).items()}
    return kind.compute(scored, exposures, options)


def known_exposures(report: Report) -> dict[str, ExposureCounts]:
    """How often each fact is in a model's training data, by run; only runs for which this is known."""
    exposures: dict[str, ExposureCounts] = {}
    for run in report.runs:
        with suppress(UsageError):
            exposures[run.label] = exposures_of(run.manifest)
    return exposures


def _warn_of_other_questions(reports: Sequence[RunReport]) -> None:
    for run in reports[1:]:
        if run.facts.questions != reports[0].facts.questions:
            log.warning(OTHER_QUESTIONS, run.label, reports[0].label)


def _errors(runs: Sequence[ScoredRun], top: int) -> dict[str, Shown]:
    """The surest errors of each run, by label, with their texts where they are known."""
    by_probe: dict[str, AnswerTexts] = {}  # runs of one probe share them
    errors = {}
    for run in runs:
        content = run.manifest.probe.fingerprint or run.label
        texts = by_probe.get(content) or texts_if_known(run.manifest, run.recorded.path if run.recorded else None)
        by_probe[content] = texts
        errors[run.label] = show_answers(run, texts.of(run.manifest), ShowOptions(top=top))
    return errors


def _across(by_run: Sequence[Mapping[str, Curves]]) -> dict[str, Curves]:
    """The curves of the runs, joined by kind, where several have any."""
    joined = {}
    for name, kind in KINDS.items():
        of_kind = [curves[name] for curves in by_run if name in curves]
        if kind.join is not None and len(of_kind) > 1:
            joined[name] = kind.join(of_kind)
    return joined


def _of_run(
    run: RunReport,
    scored: ScoredRun,
    options: ReportOptions,
    wanted: Wanted,
    exposures: ExposureCounts | None,
) -> RunContents:
    values = _values(run)
    slices = _slices(run, scored, options, wanted.slices)
    if BASE not in values:
        return RunContents(slices=slices)
    reported = Reported(scored, values, options, wanted.estimators, exposures)
    by_kind = {name: kind.of_report(reported) for name, kind in KINDS.items() if kind.of_report is not None}
    return RunContents({name: curves for name, curves in by_kind.items() if curves is not None}, slices)


def _slices(
    run: RunReport, scored: ScoredRun, options: ReportOptions, kinds: Sequence[SliceKind]
) -> tuple[RunSlices, ...]:
    """By the kinds, and by what else the report has slices of."""
    if not run.instances:
        return ()
    slice_options = options.slices or SliceOptions("relation")
    by_kind = {slice_options.by: run.slices} if run.slices else {}
    for by in kinds:
        if by not in by_kind:
            by_kind[by] = slice_run(scored, replace(options, slices=replace(slice_options, by=by)))
    return tuple(by_kind[by] for by in dict.fromkeys((*kinds, *by_kind)))


def _values(run: RunReport) -> Values:
    return {estimator.name: estimator.metrics for estimator in run.estimators}
