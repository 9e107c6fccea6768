"""What one child process is asked to do, and what it answers: plain data that goes through JSON files."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from calprobe.statements import fill
from calprobe.words import ModelKind


@dataclass(frozen=True)
class Piece:
    """One relation under one template: every subject with every candidate."""

    relation: str
    template: str  # with [X] and [Y]
    subjects: tuple[str, ...]
    candidates: tuple[str, ...]

    @property
    def n_statements(self) -> int:
        """Subjects times candidates."""
        return len(self.subjects) * len(self.candidates)

    def texts(self) -> list[str]:
        """Its statements, subject-major, candidate-minor: the order of all scores here."""
        return [
            fill(self.template, subject, candidate).text for subject in self.subjects for candidate in self.candidates
        ]


@dataclass(frozen=True)
class ModelSpec:
    """The one model that all contestants load: real weights out of a folder, or random ones of a known shape."""

    name: str
    kind: ModelKind
    folder: str | None  # weights and tokenizer as save_pretrained wrote them; None: a shape's
    shape: str | None  # a name of models.SHAPES, weights from a seed
    tokenizer: str  # folder of the tokenizer
    dtype: str  # float32, bfloat16
    device: str  # cpu, cuda


@dataclass(frozen=True)
class Job:
    """One contestant on one slice."""

    scorer: str
    model: ModelSpec
    pieces: tuple[Piece, ...]
    batch_sizes: tuple[int, ...]  # tried on a sample, the fastest is timed; empty: the scorer's own choice
    sample_statements: int
    threads: int
    then: str = ""  # after the timing: "analyse" (the machine's roof, where the time went) or "scale" (scaling.py)

    def write(self, path: Path) -> None:
        """As JSON."""
        path.write_text(json.dumps(asdict(self)), "utf-8")

    @classmethod
    def read(cls, path: Path) -> Job:
        """What `write` wrote."""
        content = json.loads(path.read_text("utf-8"))
        pieces = tuple(
            Piece(p["relation"], p["template"], tuple(p["subjects"]), tuple(p["candidates"])) for p in content["pieces"]
        )
        known = {"pieces": pieces, "model": ModelSpec(**content["model"]), "batch_sizes": tuple(content["batch_sizes"])}
        return cls(**(content | known))


@dataclass(frozen=True)
class Outcome:
    """What a contestant did, or why it did not: `sums` and `seconds` are empty exactly when `fault` says why."""

    scorer: str
    version: str | None = None
    fault: str | None = None
    sums: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))  # [statements] log-probability
    batch_size: int | None = None
    trials: dict[str, float] = field(default_factory=dict)  # statements/s of each batch size on the sample
    seconds: tuple[float, ...] = ()  # of each repeat
    load_s: float | None = None
    peak_mib: float | None = None  # largest resident set of the process until the timing ended
    gpu_peak_mib: float | None = None
    facts: dict[str, Any] = field(default_factory=dict)  # what only one scorer knows: tokens, nodes, roof, profile

    def write(self, folder: Path) -> None:
        """Scores beside the rest, in a folder."""
        np.save(folder / "sums.npy", self.sums)
        content = {name: value for name, value in self.__dict__.items() if name != "sums"}
        (folder / "outcome.json").write_text(json.dumps(content), "utf-8")

    @classmethod
    def read(cls, folder: Path) -> Outcome:
        """What `write` wrote."""
        content = json.loads((folder / "outcome.json").read_text("utf-8"))
        content["seconds"] = tuple(content["seconds"])
        return cls(**content, sums=np.load(folder / "sums.npy"))
