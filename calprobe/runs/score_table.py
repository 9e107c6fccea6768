"""The scores of a run under one reduction, in the form that confidences are computed from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from calprobe.messages import counted
from calprobe.runs.manifest_records import TemplateRecord

if TYPE_CHECKING:
    import pandas as pd


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
    own_candidates: frozenset[str] = frozenset()  # relations whose instances have candidates of their own

    @property
    def n_instances(self) -> int:
        """Number of instances; 0 for a run without a relation that has all of its templates scored."""
        return len(self.instance)

    def shared_sets(self) -> npt.NDArray[np.int64]:
        """A number for each relation whose instances share candidates, -1 for candidates of their own: [instances].

        Answer spaces of different sizes are not shared.
        """
        names, indices = np.unique(self.relation, return_inverse=True)
        widths = np.diff(self.offsets)
        numbers = np.arange(len(names))
        for number, name in enumerate(names.tolist()):
            if name in self.own_candidates or len(np.unique(widths[indices == number])) > 1:
                numbers[number] = -1
        return numbers[indices.reshape(-1)].astype(np.int64)

    @property
    def shares_candidates(self) -> bool:
        """Whether there are two instances that share candidates."""
        shared = self.shared_sets()
        return bool((np.unique(shared[shared >= 0], return_counts=True)[1] > 1).any())

    def frame(self) -> pd.DataFrame:
        """A row for each candidate under each template, sorted by relation, template, instance and candidate.

        Columns: relation (str), template, instance, candidate (place in the answer space), is_answer (bool), score
        (nats).
        """
        import pandas as pd

        widths = np.diff(self.offsets)
        candidate = np.arange(self.scores.shape[1]) - np.repeat(self.offsets[:-1], widths)
        numbers = np.array([template.number for template in self.templates], np.int64)
        n_templates = len(numbers)
        frame = pd.DataFrame(
            {
                "relation": np.tile(np.repeat(self.relation, widths), n_templates).astype(object),
                "template": np.repeat(numbers, len(candidate)),
                "instance": np.tile(np.repeat(self.instance, widths), n_templates),
                "candidate": np.tile(candidate, n_templates),
                "is_answer": np.tile(candidate == np.repeat(self.answer_idx, widths), n_templates),
                "score": self.scores.ravel(),
            }
        )
        return frame.sort_values(["relation", "template"], kind="stable", ignore_index=True)

    def __repr__(self) -> str:
        relations = counted(len(set(self.relation.tolist())), "relation")
        templates = counted(len(self.templates), "template")
        return f"<ScoreTable: {counted(self.n_instances, 'instance')} in {relations}, {templates}>"
