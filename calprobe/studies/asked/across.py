"""What several cells or runs show together: normalisation shifts, averages of recovered shares, size against spread."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from calprobe.measures.model_families import family_of
from calprobe.measures.options import ReportOptions
from calprobe.metrics import Estimate, bootstrap_mean, recovered_share, spearman, spearman_p_value
from calprobe.metrics.intervals import UNDEFINED
from calprobe.studies.asked.cell_results import CellReport
from calprobe.studies.asked.results import (
    AcrossRuns,
    AskedRunReport,
    Recovered,
    Repair,
    ShiftSummary,
    SizeAndSpread,
    SizePoint,
)

ALL = "all"
SHIFTS = (0.05, 0.20)  # the study's two sizes of a shift that matters


def shift_summaries(cells: Sequence[CellReport], options: ReportOptions) -> tuple[ShiftSummary, ...]:
    """Of the cells of each variant, then of all of them; none without label probabilities."""
    shifted = [cell for cell in cells if cell.shift is not None and not math.isnan(cell.shift.value)]
    variants = list(dict.fromkeys(cell.variant for cell in shifted))
    groups = {name: [cell for cell in shifted if cell.variant == name] for name in variants}
    if shifted:
        groups[ALL] = shifted
    return tuple(
        _summary(name, [cell.shift.value for cell in group if cell.shift], options) for name, group in groups.items()
    )


def _summary(name: str, shifts: Sequence[float], options: ReportOptions) -> ShiftSummary:
    values = np.array(shifts)
    by_cells = options.by_paper and len(values) > 1
    return ShiftSummary(
        of=name,
        cells=len(values),
        mean=bootstrap_mean(values, options.resampling) if by_cells else Estimate(float(values.mean())),
        median=float(np.median(values)),
        largest=float(values.max()),
        above_005=float((values > SHIFTS[0]).mean()),
        above_020=float((values > SHIFTS[1]).mean()),
    )


def across_runs(runs: Sequence[AskedRunReport], options: ReportOptions) -> AcrossRuns | None:
    """What only several runs show; None of one run."""
    if len(runs) < 2:
        return None
    return AcrossRuns(
        shifts=shift_summaries([cell for run in runs for cell in run.reports()], options),
        recovered=tuple(_recovered(runs)),
        sizes=tuple(sizes_and_spreads(runs)),
        hidden=tuple(dict.fromkeys(name for run in runs for report in run.sets.values() for name in report.hidden)),
    )


def _recovered(runs: Sequence[AskedRunReport]) -> Iterator[Recovered]:
    """Both averages, by set and reader, over the cells of all runs."""
    by_reader: dict[tuple[str, str], list[Repair]] = {}
    for run in runs:
        for name, report in run.sets.items():
            for repair in report.repairs:
                by_reader.setdefault((name, repair.reader), []).append(repair)
    for (name, reader), repairs in by_reader.items():
        yield Recovered(name, reader, len(repairs), *averages(repairs))


def averages(repairs: Sequence[Repair]) -> tuple[float, float]:
    """The recovered share of the mean accuracies, and the mean of the shares."""
    columns = np.array([(repair.first, repair.repaired, repair.reference) for repair in repairs]).T
    return float(recovered_share(*columns.mean(axis=1))), float(recovered_share(*columns).mean())


def sizes_and_spreads(runs: Sequence[AskedRunReport]) -> Iterator[SizeAndSpread]:
    """For each set and reader with a spread in two runs of known size or more: points and rank correlations."""
    by_reader: dict[tuple[str, str], list[tuple[AskedRunReport, Estimate]]] = {}
    for run in runs:
        for name, report in run.sets.items():
            for reader, spread in report.spread.items():
                if not math.isnan(spread.value.value):
                    by_reader.setdefault((name, reader), []).append((run, spread.value))
    for (name, reader), spreads in by_reader.items():
        points = [SizePoint(run.label, run.model, run.size, spread) for run, spread in spreads if run.size is not None]
        if len(points) > 1:
            unknown = tuple(run.label for run, _ in spreads if run.size is None)
            yield size_and_spread(name, reader, points, unknown)


def size_and_spread(name: str, reader: str, points: Sequence[SizePoint], unknown: tuple[str, ...]) -> SizeAndSpread:
    """Spearman's correlation of parameters and spread, and how much it depends on each family of models."""
    points = sorted(points, key=lambda point: point.size.parameters)
    sizes = [point.size.parameters for point in points]
    reduced = [point.size.others for point in points]
    rho = _rho(sizes, points)
    return SizeAndSpread(
        set=name,
        reader=reader,
        points=tuple(points),
        unknown=unknown,
        rho=rho,
        p_value=spearman_p_value(rho.value, len(points)),
        rho_others=UNDEFINED if None in reduced else _rho([number for number in reduced if number is not None], points),
        without_a_family=_without_a_family(points),
    )


def _rho(sizes: Sequence[int], points: Sequence[SizePoint]) -> Estimate:
    return spearman([float(size) for size in sizes], [point.spread.value for point in points])


def _without_a_family(points: Sequence[SizePoint]) -> tuple[float, float]:
    """The least and the largest correlation with one family left out; models of one family differ in size alone."""
    families = dict.fromkeys(family_of(point.model) for point in points)
    subsets = [[point for point in points if family_of(point.model) != family] for family in families]
    correlations = [_rho([point.size.parameters for point in subset], subset).value for subset in subsets]
    finite = [value for value in correlations if not math.isnan(value)]
    return (min(finite), max(finite)) if finite and len(families) > 1 else (float("nan"), float("nan"))
