"""Halves of a cell: what is fixed on one is checked on the other, and what depends on each other stays together."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from calprobe.cells.cell import Cell, Units
from calprobe.errors import UsageError
from calprobe.measures.chosen import known_estimators
from calprobe.metrics import Within


def check_promised(cell: Cell, estimator: str) -> None:
    """Raise UsageError for an estimator that a cell lacks, or that was fitted to the answers themselves."""
    known_estimators(cell.run, [estimator], cell.estimators)
    if cell.estimators[estimator].fitted:
        raise UsageError(f"{estimator} is fitted to the answers themselves, so no promise holds for it; name another")


def with_answers(cell: Cell, estimator: str) -> Cell:
    """The units that an estimator speaks of: of the most frequent answer, one of the samples of a question."""
    asked = cell.confidences[estimator].asked
    return cell if asked.all() else cell.at(np.flatnonzero(asked))


def cluster_names(units: Units, where: npt.NDArray[np.bool_]) -> npt.NDArray[Any] | None:
    """The labels of the clusters of some units; None where units are independent, since each cluster has but one."""
    clusters = units.clusters_of(where)
    labels = np.asarray(clusters.labels) if isinstance(clusters, Within) else clusters
    return None if labels is None or len(np.unique(labels)) == len(labels) else labels


def half_of(units: Units, seed: int) -> npt.NDArray[np.bool_]:
    """A half of the clusters, drawn by the seed: [units]."""
    labels = cluster_names(units, np.ones(len(units), np.bool_))
    of = np.arange(len(units)) if labels is None else np.unique(labels, return_inverse=True)[1].reshape(-1)
    number = int(of.max(initial=-1)) + 1
    half: npt.NDArray[np.bool_] = (np.random.default_rng([seed, 2]).permutation(number) < math.ceil(number / 2))[of]
    return half
