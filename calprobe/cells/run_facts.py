"""What was scored, in a few facts: the records of the folder beside its scores, its size, and its questions."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from calprobe.messages import shown
from calprobe.runs import Manifest, ModelRecord, Progress, ScoreTable, SourceRecord
from calprobe.runs.run import TemplateCost


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a run's folder says beside its scores."""

    manifest: Manifest
    cut_contexts: Mapping[str, int]  # by relation, without zeros
    progress: Progress
    path: Path | None = None  # of the folder; None: in memory
    costs: Mapping[int, TemplateCost] = field(default_factory=dict)  # by template; none: not known


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What was scored: the instances of a run's complete relations."""

    label: str  # the run as typed, or the name that it was given
    recorded: Recorded | None  # None: a table of scores
    relations: int  # with all of the run's templates scored; the others are left out
    instances: int
    candidates: tuple[int, int]  # smallest and largest answer space; (0, 0) without instances
    chance_accuracy: float  # mean 1/K over the instances; NaN without any
    questions: str  # equal for runs that were asked the same, see `questions_of`

    @property
    def manifest(self) -> Manifest:
        """The run's. Raises ValueError for a table of scores, which has none."""
        return of_folder(self.label, self.recorded).manifest

    @property
    def model(self) -> str:
        """The model's name without folders, see `model_name`. Raises as `manifest`."""
        return model_name(self.manifest.model)

    @property
    def cut_contexts(self) -> Mapping[str, int]:
        """By relation: instances with a context that was too long and lost its beginning. Raises as `manifest`."""
        return of_folder(self.label, self.recorded).cut_contexts

    @property
    def progress(self) -> Progress:
        """What the run has cost. Raises as `manifest`."""
        return of_folder(self.label, self.recorded).progress

    def cost_of(self, templates: Iterable[int]) -> TemplateCost | None:
        """What was scored under these templates; None where an import does not know it, and for a table of scores."""
        costs = {} if self.recorded is None else self.recorded.costs
        cost = TemplateCost(0, 0)
        for number in templates:
            if number not in costs:
                return None
            cost += costs[number]
        return cost

    @property
    def partial(self) -> bool:
        """Whether relations are left out because scores are missing."""
        return self.recorded is not None and self.relations < len(self.manifest.relations)

    @property
    def limited(self) -> bool:
        """Whether the run is of a part of its probe by request, as far as is known."""
        return self.recorded is not None and bool(self.manifest.limits())

    @property
    def paraphrases(self) -> int:
        """Number of paraphrase templates in the run."""
        return sum(template.kind == "paraphrase" for template in self.manifest.templates)

    @property
    def of_bear(self) -> bool:
        """Whether the probe is BEAR."""
        return self.manifest.probe.name.lower() == "bear"

    @property
    def has_bear_score(self) -> bool:
        """Whether the mean accuracy over the paraphrases is a BEAR score: of BEAR, in its authors' wordings."""
        return self.of_bear and self.manifest.template_set.name == "native"

    def to_json(self) -> dict[str, Any]:
        """The keys of the run's JSON that do not depend on the reduction; fewer for a table of scores."""
        if self.recorded is None:
            return {"instances": self.instances, "partial": self.partial}
        return {
            "model": shown(self.manifest.model.name),
            "kind": self.manifest.model.kind,
            "probe": self.manifest.probe.name,
            "instances": self.instances,
            "partial": self.partial,
            "limited": self._limited_json(),
            "same_tokens": self.manifest.n_same_tokens,
            "candidates": list(self.candidates),  # K, which p is normalised over: smallest and largest
            "cost": _cost_json(self.progress),
        }

    def _limited_json(self) -> dict[str, Any] | None:
        """What part of the probe the run is of; None if all of it, as far as is known."""
        manifest = self.manifest
        if not (manifest.instances_are_limited or manifest.relations_are_limited):
            return None
        limit = manifest.limit if manifest.instances_are_limited else None
        return {
            "instances": limit,  # of each relation at most; None: all
            "drawn": None if limit is None else "first" if manifest.sample_seed is None else "sample",
            "seed": None if limit is None else manifest.sample_seed,
            "relations": len(manifest.relations),
            "probe_relations": manifest.n_probe_relations,
        }


def of_folder(label: str, recorded: Recorded | None) -> Recorded:
    """What the folder says. Raises ValueError for a table of scores, which has no folder."""
    if recorded is None:
        raise ValueError(f"{label}: a table of scores has no manifest")
    return recorded


def questions_of(manifest: Manifest, table: ScoreTable) -> str:
    """A fingerprint of the probe and of each instance's relation, line number, answer and number of candidates.

    `table` has the run's complete relations, in whatever order. What the templates are is not in it.
    """
    columns = (table.relation, table.instance, table.answer_idx, np.diff(table.offsets))
    rows = sorted(zip(*(column.tolist() for column in columns), strict=True))
    return hashlib.sha256(repr((content_of(manifest.probe), rows)).encode("utf-8", "backslashreplace")).hexdigest()


def content_of(source: SourceRecord) -> str:
    """What stands for the content of a probe or template set: the fingerprint or, in an import, the name."""
    return source.fingerprint or f"import {source.name}"


def model_name(model: ModelRecord) -> str:
    """An alias or hub id as it was typed; for a folder or a file the last part of its path.

    >>> model_name(ModelRecord("/home/ada/models/gemma.gguf"))
    'gemma.gguf'
    >>> model_name(ModelRecord("openai/gpt2"))
    'openai/gpt2'
    """
    # A hub id has one slash at most.
    is_path = (
        model.name.startswith(("/", ".", "~"))
        or model.name.count("/") > 1
        or "\\" in model.name
        or model.name.lower().endswith(".gguf")
    )
    return PurePath(model.name.replace("\\", "/")).name or model.name if is_path else model.name


def _cost_json(spent: Progress) -> dict[str, Any]:
    """What scoring has cost: statements, scored tokens, seconds. None for what an import does not know."""
    if not spent.counted:
        return dict.fromkeys(("statements", "tokens", "seconds"))
    return {"statements": spent.statements, "tokens": spent.tokens, "seconds": round(spent.wall_s or spent.score_s, 3)}
