"""The contestants of every task by name: where each lives, which package it needs, which batch sizes are tried."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.job import Job, Loaded

OURS = "calprobe"


@dataclass(frozen=True)
class Contestant:
    """How a contestant is found."""

    loader: str  # MODULE:NAME of what makes a `Loaded` of a job
    package: str  # what has to be importable
    distribution: str  # its version is recorded
    batch_sizes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # worth trying, by the job's `where`

    def missing(self) -> str | None:
        """Why it cannot take part, or None."""
        if importlib.util.find_spec(self.package) is None:
            return f"skipped: {self.package} is not installed (pip install -r bench/requirements.txt)"
        return None

    def version(self) -> str:
        """Of its package."""
        return importlib.metadata.version(self.distribution)

    def load(self, job: Job) -> Loaded:
        """The contestant with the job's model."""
        loaded: Loaded = _named(self.loader)(job)
        return loaded


_STATEMENTS = {"causal cpu": (8, 16, 32, 64), "causal cuda": (64, 256, 1024)}
# A masked statement is a row for each of its dozen tokens. lm-pub-quiz's batches are of rows, minicons' of statements.
_MASKED_ROWS = {"masked cpu": (16, 32, 64), "masked cuda": (64, 256, 1024)}
_MASKED_STATEMENTS = {"masked cpu": (1, 2, 4), "masked cuda": (4, 16, 64)}
_OWN: Mapping[str, tuple[int, ...]] = {"causal": (), "masked": ()}  # its own default is what is measured

# What answers are held against has no name among those that are timed.
TRUTHS = {"statements": "float32", "questions": "one by one"}
CONTESTANTS: Mapping[str, Mapping[str, Contestant]] = {
    "statements": {
        OURS: Contestant("peers.calprobe:load_ready", "calprobe", "calprobe", _OWN),
        "lm-pub-quiz": Contestant(
            "peers.lm_pub_quiz:load", "lm_pub_quiz", "lm-pub-quiz", {**_STATEMENTS, **_MASKED_ROWS}
        ),
        "lm-eval": Contestant("peers.lm_eval:load", "lm_eval", "lm_eval", _STATEMENTS),
        "minicons": Contestant("peers.minicons:load", "minicons", "minicons", {**_STATEMENTS, **_MASKED_STATEMENTS}),
        "float32": Contestant("peers.calprobe:load_float32", "calprobe", "calprobe"),
    },
    "questions": {
        OURS: Contestant("askers.contestants:Calprobe", "calprobe", "calprobe"),
        "pipeline": Contestant("askers.contestants:Pipeline", "transformers", "transformers", {"cpu": (4, 8, 16, 32)}),
        "lm-eval": Contestant("askers.contestants:LmEval", "lm_eval", "lm_eval", {"cpu": (1, 4, 8, 16, 32)}),
        "one by one": Contestant("askers.contestants:OneByOne", "transformers", "transformers"),
    },
    "samples": {
        OURS: Contestant("askers.sampling:CalprobeSampler", "calprobe", "calprobe"),
        "generate": Contestant(
            "askers.sampling:GenerateSampler", "transformers", "transformers", {"cpu": (1, 2, 4, 8)}
        ),
        "llama.cpp server": Contestant("askers.sampling:ServerSampler", "xllamacpp", "xllamacpp"),
    },
}
# MODULE:NAME of what a task measures once the figures of the contest are taken.
AFTERWARDS = {"statements": "peers.afterwards:facts", "samples": "askers.sampling:greedy_texts"}


def names_of(task: str, kind: str = "") -> tuple[str, ...]:
    """Those that are timed, calprobe first; of statements those that score models of that kind."""
    return tuple(
        name
        for name, contestant in CONTESTANTS[task].items()
        if name != TRUTHS.get(task) and (not kind or any(where.startswith(kind) for where in contestant.batch_sizes))
    )


def afterwards(loaded: Loaded, job: Job) -> dict[str, Any]:
    """More facts of a contestant, once the timing ended."""
    if job.task not in AFTERWARDS:
        return {}
    facts: dict[str, Any] = _named(AFTERWARDS[job.task])(loaded, job)
    return facts


def _named(text: str) -> Any:
    module, _, name = text.partition(":")
    return getattr(importlib.import_module(module), name)


def weights_folder(name: str) -> str:
    """The folder, as save_pretrained writes it, of a model's alias, GGUF file or folder."""
    from calprobe.models.gguf import dequantised
    from calprobe.models.source import resolve

    source = resolve(name)
    return str(dequantised(Path(source.location)).folder) if source.form == "gguf" else source.location
