"""Figures of answers: which confidences were said how often, and how many tokens answers and thoughts have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from calprobe.arrays import Floats
from calprobe.cells.asked import AskedCell
from calprobe.measures.run_names import NO_STATES, own_parts
from calprobe.metrics.distinct import value_shares
from calprobe.runs.stages import ANSWER, P_TRUE
from calprobe.show.kinds.grouped_boxes import GroupedBoxes
from calprobe.show.kinds.stacked_shares import Part, StackedShares
from calprobe.show.marks import Box
from calprobe.studies.asked.cell_results import CellReport
from calprobe.studies.asked.lengths import Lengths
from calprobe.studies.asked.results import AskedRunReport
from calprobe.studies.stated.figures import TENTHS, shares_of_tenths

ALL_SETS = "all sets"
COUNTED = {"tokens": "tokens of the answer", "thoughts": "tokens of the thought"}  # by the field of StageLengths


def value_panels(run: AskedRunReport) -> tuple[StackedShares, ...]:
    """A panel for each stated confidence and for P(True): a bar for each set, and one for all of several."""
    bars = {name: [cell for cell in run.cells if cell.table.set == name] for name in run.sets}
    return _value_panels(bars | ({ALL_SETS: list(run.cells)} if len(bars) > 1 else {}), "set")


def value_panels_of_runs(
    runs: Sequence[AskedRunReport], states: Mapping[str, str] = NO_STATES
) -> tuple[StackedShares, ...]:
    """The same with a bar for each run, all sets together; none of one run. `states`: as `states_of`."""
    if len(runs) < 2:
        return ()
    names = _names(runs, states)
    return _value_panels({names[run.label]: run.cells for run in runs if run.stated is None}, "run")


def _value_panels(bars: Mapping[str, Sequence[AskedCell]], of: str) -> tuple[StackedShares, ...]:
    estimators = dict.fromkeys(name for cells in bars.values() for cell in cells for name in cell.confidences)
    panels = []
    for estimator in estimators:
        # With a dot behind it, it is the same one as said of something else.
        if estimator == P_TRUE or (estimator.startswith("stated_") and "." not in estimator):
            confidences = {name: _confidences(cells, estimator) for name, cells in bars.items()}
            shares = {
                f"{name}{_read_of(bars[name], estimator)}": tuple(_parts(confidence, estimator))
                for name, confidence in confidences.items()
                if len(confidence)
            }
            if shares:
                panels.append(StackedShares(estimator, of, tuple(shares), tuple(shares.values())))
    return tuple(panels)


def _confidences(cells: Sequence[AskedCell], estimator: str) -> Floats:
    """Those that could be read, of all variants."""
    confidences = [cell.confidences[estimator] for cell in cells if estimator in cell.confidences]
    return (
        np.concatenate([confidence.confidence[confidence.read] for confidence in confidences])
        if confidences
        else np.empty(0)
    )


def _read_of(cells: Sequence[AskedCell], estimator: str) -> str:
    """Of how many replies these are, where some could not be read: a bar of three looks like one of all."""
    confidences = [cell.confidences[estimator] for cell in cells if estimator in cell.confidences]
    read = sum(int(confidence.read.sum()) for confidence in confidences)
    asked = sum(int(confidence.asked.sum()) for confidence in confidences)
    return "" if read == asked else f", {read:,} of {asked:,}"


def _parts(confidence: Floats, estimator: str) -> Iterator[Part]:
    """Single values of what is said in words, tenths of the scale of a probability, which never repeats."""
    if estimator == P_TRUE:
        for at, (name, share) in enumerate(zip(TENTHS, shares_of_tenths(confidence), strict=True)):
            if share:
                yield Part(name, share, (at + 0.5) / len(TENTHS))
        return
    shares = value_shares(confidence)
    for value, share in zip(shares.values, shares.shares, strict=True):
        yield Part(f"{value:.4g}", share, value)
    if shares.rare:
        yield Part(f"other ({shares.rare})", shares.others, None)


def length_panels(run: AskedRunReport) -> tuple[GroupedBoxes, ...]:
    """A panel for the tokens of answers and one for those of their thoughts: a group a set, a box a variant."""
    cells = {(report.name, cell.variant): cell for report in run.sets.values() for cell in report.cells.values()}
    return tuple(_length_panels("", "set", cells))


def length_panels_of_runs(
    runs: Sequence[AskedRunReport], states: Mapping[str, str] = NO_STATES
) -> tuple[GroupedBoxes, ...]:
    """The same of several runs, for each variant: a group a run, a box a set; none of one run."""
    if len(runs) < 2:
        return ()
    names = _names(runs, states)
    by_variant: dict[str, dict[tuple[str, str], CellReport]] = {}
    for run in runs:
        for report in run.sets.values():
            for cell in report.cells.values():
                by_variant.setdefault(cell.variant, {})[names[run.label], report.name] = cell
    return tuple(
        panel
        for variant, cells in by_variant.items()
        for panel in _length_panels(f"{variant}: " if len(by_variant) > 1 else "", "run", cells)
    )


def _length_panels(title: str, group: str, cells: Mapping[tuple[str, str], CellReport]) -> Iterator[GroupedBoxes]:
    """One for each quantity, unless each cell has one number of it; cells by group and series."""
    groups, series = (tuple(dict.fromkeys(key[at] for key in cells)) for at in (0, 1))
    for field, counted in COUNTED.items():
        boxes = {key: box for key, cell in cells.items() if (box := _box(cell, field)) is not None}
        if any(box.least < box.most for box in boxes.values()):
            rows = tuple(tuple(boxes.get((group_name, series_name)) for series_name in series) for group_name in groups)
            yield GroupedBoxes(f"{title}{counted}", "tokens", group, groups, series, rows)


def _box(cell: CellReport, field: str) -> Box | None:
    lengths: Lengths | None = next(
        (getattr(of_stage, field) for of_stage in cell.lengths if of_stage.stage == ANSWER), None
    )
    return (
        None
        if lengths is None
        else Box(lengths.least, lengths.quartile_1, lengths.median, lengths.quartile_3, lengths.most)
    )


def _names(runs: Sequence[AskedRunReport], states: Mapping[str, str]) -> dict[str, str]:
    names = own_parts([run.label for run in runs])
    return {label: name + states.get(label, "") for label, name in names.items()}
