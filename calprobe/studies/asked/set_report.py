"""One set of questions under all variants: spread, what a change of form costs, what repairs recover, means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats
from calprobe.cells.asked import AskedCell, ReadSet
from calprobe.cells.cell import Labels, shared_places
from calprobe.measures.options import FIRST_CHAR, FIRST_MARKER, LAST_MARKER, ReportOptions
from calprobe.metrics import Difference, bootstrap_of_means, mean_draws, spread, spread_by_chance
from calprobe.metrics.intervals import UNDEFINED
from calprobe.studies.asked.cell_report import NORMALISED, ece_of, mean_of
from calprobe.studies.asked.cell_results import CellReport
from calprobe.studies.asked.exact_matches import exact_matches
from calprobe.studies.asked.results import Drop, MeanOverVariants, Repair, SetReport, Spread


@dataclass(frozen=True, slots=True)
class OpenedSet:
    """A set's cells, opened and reported."""

    read: ReadSet
    reports: Mapping[str, CellReport]  # by variant
    format_changes: tuple[str, ...]
    others: tuple[str, ...]  # variants with the usual form of answer and order of options; the first is the baseline

    @property
    def cells(self) -> Mapping[str, AskedCell]:
        """By variant."""
        return self.read.cells


def report_set(opened: OpenedSet, options: ReportOptions) -> SetReport:
    """The numbers of one set."""
    return SetReport(
        name=opened.read.name,
        questions=opened.read.questions,
        answered=opened.read.answered,
        claims=opened.read.claims,
        cells=opened.reports,
        format_changes=opened.format_changes,
        usual=opened.others,
        spread={
            name: of_reader for name in opened.read.readers if (of_reader := _spread(opened, name, options)) is not None
        },
        drops=tuple(_drops(opened, options)),
        repairs=tuple(_repairs(opened, options)),
        means=tuple(_means(opened, options)),
        exact=exact_matches(
            opened.cells[name].answers[cell.reader] for name, cell in opened.reports.items() if cell.accuracy
        ),
        hidden=tuple(name for name in opened.read.readers if not options.shows(name)),
    )


@dataclass(frozen=True, slots=True)
class _Paired:
    """Correctness under several variants, of the rows that all of them have."""

    correct: Floats  # [variants, rows]
    places: tuple[list[int], ...]  # of these rows in each variant
    clusters: Labels | None


def _pair(opened: OpenedSet, pairs: Sequence[tuple[str, str]]) -> _Paired:
    """Correctness [variants, rows] of each (variant, reader), of rows that all of them have a reply of."""
    cells = [opened.cells[variant].units for variant, _ in pairs]
    by_variant = [opened.cells[variant].answers[reader] for variant, reader in pairs]
    shared = shared_places(cells)
    masks = [answers.asked[rows].tolist() for answers, rows in zip(by_variant, shared, strict=True)]
    kept = [at for at, row in enumerate(zip(*masks, strict=True)) if all(row)]
    places = [[rows[at] for at in kept] for rows in shared]
    correct = [answers.correct[rows] for answers, rows in zip(by_variant, places, strict=True)]
    clusters = cells[0].clusters if cells else None
    return _Paired(
        np.array(correct, np.float64).reshape(len(pairs), -1),
        tuple(places),
        None if clusters is None else clusters[places[0]],
    )


def _spread(opened: OpenedSet, reader: str, options: ReportOptions) -> Spread | None:
    """Under one reader; None with fewer than two variants that it reads."""
    variants = tuple(name for name in opened.others if reader in opened.cells[name].answers)
    if len(variants) < 2:
        return None
    paired = _pair(opened, [(name, reader) for name in variants])
    chance = opened.cells[variants[0]].units.chance[paired.places[0]]
    return Spread(
        value=spread(paired.correct, options.resampling, paired.clusters, percentile=options.by_paper),
        by_chance=spread_by_chance(paired.correct, options.resampling, paired.clusters),
        variants=variants,
        rows=paired.correct.shape[1],
        accuracy=float(paired.correct.mean()) if paired.correct.size else float("nan"),
        chance=float(chance.mean()) if len(chance) else float("nan"),
    )


def _drops(opened: OpenedSet, options: ReportOptions) -> Iterator[Drop]:
    for variant in opened.format_changes if opened.others else ():
        for reader in opened.read.readers:
            names = [name for name in opened.others if reader in opened.cells[name].answers]
            if reader not in opened.cells[variant].answers or not names:
                continue
            pair = _pair(opened, [(names[0], reader), (variant, reader)])
            together = _pair(opened, [(name, reader) for name in (*names, variant)])
            mean = float(together.correct[:-1].mean()) if together.correct.size else float("nan")
            changed = float(together.correct[-1].mean()) if together.correct.size else float("nan")
            yield Drop(
                variant,
                reader,
                names[0],
                _difference(pair.correct[0] - pair.correct[1], pair.clusters, options),
                (mean - changed) / mean if mean else float("nan"),
            )


def _difference(values: Floats, clusters: Labels | None, options: ReportOptions) -> Difference:
    if not len(values):
        return Difference(float("nan"))
    return mean_draws(values, options.resampling, clusters).difference()


def _repairs(opened: OpenedSet, options: ReportOptions) -> Iterator[Repair]:
    """What each other reader makes of the variants that change the form, beside first_char."""
    for variant in opened.format_changes if opened.others else ():
        answers = opened.cells[variant].answers
        references = [(name, FIRST_CHAR) for name in opened.others if FIRST_CHAR in opened.cells[name].answers]
        for reader in answers if FIRST_CHAR in answers and references else ():
            if reader != FIRST_CHAR:
                yield _repair(opened, (variant, reader), references, options)


def _repair(
    opened: OpenedSet, repaired_by: tuple[str, str], references: Sequence[tuple[str, str]], options: ReportOptions
) -> Repair:
    variant, reader = repaired_by
    paired = _pair(opened, [(variant, FIRST_CHAR), (variant, reader), *references])
    first, repaired, reference = paired.correct[0], paired.correct[1], paired.correct[2:].mean(axis=0)

    def share(means: Floats) -> Floats:
        gap = means[:, 2] - means[:, 0]
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(gap == 0, np.nan, (means[:, 1] - means[:, 0]) / gap)

    values = np.array([first, repaired, reference])
    unread = _unread(opened, variant)[paired.places[0]]
    has_rows = len(first) > 0
    return Repair(
        variant=variant,
        reader=reader,
        rows=len(first),
        first=float(first.mean()) if has_rows else float("nan"),
        repaired=float(repaired.mean()) if has_rows else float("nan"),
        reference=float(reference.mean()) if has_rows else float("nan"),
        recovered=bootstrap_of_means(values, share, options.resampling, paired.clusters) if has_rows else UNDEFINED,
        right_to_wrong=int(((first == 1) & (repaired == 0)).sum()),
        wrong_to_right=int(((first == 0) & (repaired == 1)).sum()),
        previously_right=int(first.sum()),
        against_baseline=_difference(repaired - paired.correct[2], paired.clusters, options),
        unread_by_other=int(unread.sum()),
        right_of_those=mean_of(repaired[unread].tolist()),
    )


def _unread(opened: OpenedSet, variant: str) -> npt.NDArray[np.bool_]:
    """The rows of which the markers give no answer."""
    answers = opened.cells[variant].answers
    marked = next(answers[name] for name in (LAST_MARKER, FIRST_MARKER, FIRST_CHAR) if name in answers)
    return ~marked.extracted


def _means(opened: OpenedSet, options: ReportOptions) -> Iterator[MeanOverVariants]:
    """For each stated confidence, over the variants of the usual form that are read well enough."""
    names = dict.fromkeys(name for report in opened.reports.values() for name in report.overconfidence)
    for name in names:
        variants = [variant for variant in opened.others if name in opened.reports[variant].overconfidence]
        coverage = {variant: opened.reports[variant].estimators[name].coverage.value for variant in variants}
        kept = tuple(variant for variant in variants if coverage[variant] >= options.threshold)
        cells = [(opened.cells[variant], opened.reports[variant]) for variant in kept]
        rows = [(report, *_eces(cell, name)) for cell, report in cells]
        yield MeanOverVariants(
            estimator=name,
            variants=kept,
            left_out=tuple(variant for variant in variants if variant not in kept),
            accuracy=mean_of([report.accuracy[report.reader].value.value for report, _, _ in rows]),
            ece_label=mean_of([label for _, label, _ in rows]),
            ece=mean_of([stated for _, _, stated in rows]),
            ece_gap=mean_of([stated - label for _, label, stated in rows]),
            over_accuracy=mean_of([report.overconfidence[name].accuracy.value for report, _, _ in rows]),
            over_label=mean_of(
                [
                    difference.value
                    for report, _, _ in rows
                    if (difference := report.overconfidence[name].label) is not None
                ]
            ),
        )


def _eces(cell: AskedCell, name: str) -> tuple[float, float]:
    """ECE of `label` and of the stated confidence, on the rows that have both."""
    stated, label = cell.confidences[name], cell.confidences.get(NORMALISED)
    if label is None:
        return float("nan"), ece_of(stated, stated.read)
    common = stated.read & label.read
    return ece_of(label, common), ece_of(stated, common)
