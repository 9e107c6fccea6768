"""Slices that a tree finds: groups of units that are too sure or not sure enough, by all that is known of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from calprobe.arrays import Floats, Mask
from calprobe.cells.cell import Cell
from calprobe.confidence import Confidence
from calprobe.measures.covariates import Covariate, Group, as_numbers, natural_order
from calprobe.metrics.gap_tree import Feature, gap_tree


def feature(name: str, values: Sequence[Any], *, numeric: bool) -> Feature:
    """What is known of units, [units]; None is none."""
    if numeric:
        return Feature(name, as_numbers(values))
    return Feature(name, np.array(["" if value is None else str(value) for value in values], np.str_))


def gap_of(confidence: Confidence) -> Floats:
    """Confidence minus correctness, [units]; NaN without a confidence, and of 0 that stands for no answer."""
    known = confidence.read & ~confidence.failed
    gap: Floats = np.where(known, confidence.confidence - confidence.correct, np.nan)
    return gap


def first_probability(cell: Cell, estimators: Iterable[str]) -> str | None:
    """The estimator whose gaps the tree is grown for: the first one that is a probability and says anything."""
    return next(
        (
            name
            for name in estimators
            if cell.estimators[name].scale == "probability" and cell.confidences[name].read.any()
        ),
        None,
    )


def tree_names(gap: Floats, features: Iterable[Feature], half: Mask) -> list[str]:
    """The slice of each unit; features that are the same of all are left out."""
    different = [known for known in features if len(np.unique(known.values)) > 1]
    return [str(name) for name in gap_tree(gap, different, half)]


def named_groups(names: Sequence[str]) -> tuple[Group, ...]:
    """The units of each name, names in natural order."""
    of = np.array(names, np.str_)
    return tuple(Group(name, of == name) for name in sorted(set(names), key=natural_order))


def with_columns(
    features: Sequence[Feature], columns: Iterable[Covariate], values: Mapping[str, Sequence[float | str | None]]
) -> tuple[Feature, ...]:
    """Those of a run, and the columns of a file with their values by name, [units]."""
    return (*features, *(feature(column.name, values[column.name], numeric=column.numeric) for column in columns))
