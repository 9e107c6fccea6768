"""Size against spread: do larger models depend less on how they are asked?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from calprobe.measures.model_families import family_of
from calprobe.metrics import Estimate, spearman, spearman_p_value
from calprobe.studies.asked.results import AskedRunReport, SizeAndSpread, SizePoint

UNDEFINED = Estimate(float("nan"))


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
