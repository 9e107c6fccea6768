"""The scores of a run under one reduction, in the form that confidences are computed from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calprobe.runs.manifest import TemplateRecord


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """Candidate scores of every instance under every template, flat over ragged answer spaces.

    Instance `i` owns the columns `offsets[i]:offsets[i + 1]` of `scores`. Instances are sorted by relation (as plain
    strings), then by line number; templates by number.
    """

    scores: npt.NDArray[np.float64]  # [templates, candidates], candidates summed over the instances; nats
    offsets: npt.NDArray[np.int64]  # [instances + 1]
    answer_idx: npt.NDArray[np.int64]  # [instances], place of the right candidate within the instance's own
    relation: npt.NDArray[np.str_]  # [instances]
    instance: npt.NDArray[np.int64]  # [instances], line number in the relation's file, from 0
    templates: tuple[TemplateRecord, ...]

    @property
    def n_instances(self) -> int:
        """Number of instances; 0 for a run without a relation that has all of its templates scored."""
        return len(self.instance)
