"""What a report's intervals are drawn from: single instances, or whole relations."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calprobe.analysis.results import ReportOptions
from calprobe.metrics import Estimate, bootstrap_mean
from calprobe.runs import ScoreTable
from calprobe.types import Floats

Labels = npt.NDArray[np.str_]  # [instances]


def cluster_labels(table: ScoreTable, options: ReportOptions) -> Labels | None:
    """The label of each instance's cluster, [instances]; None where instances are drawn one by one."""
    return table.relation if options.cluster == "relation" else None


def mean_of(values: Floats, kept: npt.NDArray[np.bool_], options: ReportOptions, clusters: Labels | None) -> Estimate:
    """The mean of a quantity in [0, 1] over the instances kept, with its interval; all arrays are [instances]."""
    return bootstrap_mean(values[kept], options.resampling, None if clusters is None else clusters[kept])
