"""From questions and replies to a report: every number of asked runs is computed below this, none where it is drawn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from calprobe.cells.asked import Asked, AskedCell, ReadSet, format_changes, read_sets, usual_variants
from calprobe.cells.cell_readers import check_used
from calprobe.cells.regrading import ALL_GRADERS, check_graders, graders_of
from calprobe.errors import UsageError
from calprobe.measures.covariates import TREE, Covariate, SliceTree
from calprobe.measures.options import DEFAULT_OPTIONS, ReportOptions, SliceOptions, metrics_of
from calprobe.studies.asked.across import across_runs, shift_summaries
from calprobe.studies.asked.asked_report import AskedReport
from calprobe.studies.asked.asked_slices import Values, cell_slices, covariate_values, set_groups, tree_values
from calprobe.studies.asked.cell_report import report_cell
from calprobe.studies.asked.disclosing import disclosure
from calprobe.studies.asked.results import AskedRunReport, SetReport
from calprobe.studies.asked.run_studies import STUDIES
from calprobe.studies.asked.set_report import OpenedSet, report_set


def report_asked(runs: Iterable[Asked], options: ReportOptions = DEFAULT_OPTIONS) -> AskedReport:
    """Accuracy by reader, estimators with their coverage, shift, overconfidence, spread and repairs of asked runs.

    Raises UsageError for a reader that reads none of the replies, for graders that there are not, for plans or
    calibrated uncertainties that no cell has, and for a run called `across` beside others.
    """
    check_graders(options.graders)
    read = [(run, list(read_sets(run, options))) for run in runs]
    _check_graded([cell for _, sets in read for of_set in sets for cell in of_set.cells.values()], options)
    reports = tuple(_report_read(run, sets, options) for run, sets in read)
    check_used(options.readers, [name for run in reports for cell in run.reports() for name in cell.accuracy])
    _check_made(reports, options)
    across = across_runs(reports, options)
    if across is not None and any(run.label == "across" for run in reports):
        raise UsageError("a run cannot be called 'across', which is a key of the report; give it another name")
    return AskedReport(reports, metrics_of(options), options, across)


def _check_made(runs: Sequence[AskedRunReport], options: ReportOptions) -> None:
    """Raise UsageError for what was asked for, and none of the cells has."""
    cells = [cell for run in runs for cell in run.reports()]
    if options.budget and not any(cell.budgets for cell in cells):
        numbers = ",".join(map(str, options.budget))
        raise UsageError(
            f"--budget {numbers}: most questions have fewer answers; give a smaller number, or ask for more --samples "
            "or --wordings"
        )
    if options.calibrate and not any(name.endswith(f".{options.calibrate}") for c in cells for name in c.estimators):
        raise UsageError(
            f"--calibrate {options.calibrate}: no uncertainty of several answers that could be read to one question; "
            "leave it out, ask for --samples, or look at the answers with `calprobe export --what readings`"
        )


def _check_graded(cells: Iterable[AskedCell], options: ReportOptions) -> None:
    """Raise UsageError for a grader of none of the cells, before anything is computed."""
    graders = dict.fromkeys(name for cell in cells for name in graders_of(cell)) if options.graders else {}
    for name in options.graders:
        if name not in graders and name != ALL_GRADERS:
            there_are = f"there are {', '.join(graders) or 'none'}, and {ALL_GRADERS}"
            raise UsageError(f"--graders {name}: no answers of these runs have such grades; {there_are}")


def report_asked_run(asked: Asked, options: ReportOptions) -> AskedRunReport:
    """The numbers of one run."""
    return _report_read(asked, list(read_sets(asked, options)), options)


def _report_read(asked: Asked, read: Sequence[ReadSet], options: ReportOptions) -> AskedRunReport:
    values = None if options.slices is None else _slice_values(asked, read, _sliced_by(options.slices), options)
    sets = {of_set.name: _set(of_set, asked, options, values) for of_set in read}
    cells = [cell for of_set in sets.values() for cell in of_set.cells.values()]
    opened = tuple(cell for of_set in read for cell in of_set.cells.values())
    return AskedRunReport(
        label=asked.label,
        model=asked.model,
        size=asked.size,
        questions=sum(of_set.questions for of_set in read),
        extent=asked.extent,
        sets=sets,
        shifts=shift_summaries(cells, options),
        disclosure=disclosure(asked, sets, options),
        cells=opened,
        studies={
            key: numbers
            for key, study in STUDIES.items()
            if (numbers := study.numbers(asked, opened, options)) is not None
        },
    )


def _sliced_by(slices: SliceOptions) -> Covariate | SliceTree:
    """What questions are sliced by. Raises UsageError for what facts of a probe alone have."""
    if isinstance(slices.by, str):
        choices = "for runs of replies there are --by group, --by kind, --by tree and --by FILE:COLUMN"
        raise UsageError(f"--by {slices.by} is of runs of scores; {choices}")
    return slices.by


def _slice_values(asked: Asked, read: Sequence[ReadSet], by: Covariate | SliceTree, options: ReportOptions) -> Values:
    if isinstance(by, SliceTree):
        return tree_values(asked, by, read, options.resampling.seed)
    return covariate_values(asked, by)


def _set(read: ReadSet, run: Asked, options: ReportOptions, values: Values | None) -> SetReport:
    reports = {variant: report_cell(cell, options) for variant, cell in read.cells.items()}
    if options.slices is not None and values is not None:
        by = _sliced_by(options.slices)
        groups = set_groups(read, TREE if isinstance(by, SliceTree) else by, values)
        slices = {variant: cell_slices(cell, groups, options) for variant, cell in read.cells.items()}
        reports = {variant: replace(report, slices=slices[variant]) for variant, report in reports.items()}
    opened = OpenedSet(read, reports, format_changes(run, read.cells), usual_variants(run, read.cells))
    return report_set(opened, options)
