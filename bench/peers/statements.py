"""What is scored: relations of a probe under one template each, and the model that every contestant loads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from harness.job import Job

from calprobe.errors import UsageError
from calprobe.probes import Probe
from calprobe.scoring import ScoreOptions
from calprobe.scoring.probe_selection import Selection, select
from calprobe.statements import fill
from calprobe.words import ModelKind

_MIXED = 20  # relations


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
class ScoreJob(Job):
    """One contestant on the statements of some pieces."""

    model: ModelSpec
    pieces: tuple[Piece, ...]
    sample_statements: int
    then: str = ""  # after the timing: "analyse" (the machine's roof, where the time went) or "scale"

    task: ClassVar[str] = "statements"

    @property
    def items(self) -> tuple[Piece, ...]:
        """See `Job`."""
        return self.pieces

    def sample(self) -> tuple[Piece, ...]:
        """About `sample_statements`: complete instances, evenly spread; if one is too many, its first candidates."""
        units = [(piece, subject) for piece in self.pieces for subject in piece.subjects]
        n_units = round(len(units) * self.sample_statements / self.count(self.pieces))
        n_units = max(1, min(len(units), n_units))
        at_most = self.sample_statements if n_units == 1 else None  # candidates
        by_piece: dict[Piece, list[str]] = {}
        for piece, subject in (units[place * len(units) // n_units] for place in range(n_units)):
            by_piece.setdefault(piece, []).append(subject)
        return tuple(
            replace(piece, subjects=tuple(subjects), candidates=piece.candidates[:at_most])
            for piece, subjects in by_piece.items()
        )

    def count(self, items: Sequence[Piece]) -> int:
        """Statements."""
        return sum(piece.n_statements for piece in items)


def slice_of(probe: Probe, what: str) -> tuple[Piece, ...]:
    """The pieces that `NAME[:INSTANCES[:CANDIDATES]]` stands for: a relation, `mixed` (20 over the probe) or `all`.

    Raises UsageError for a relation that the probe has not.

    Example: `P36:10` is 10 instances of P36 with all their candidates, `P36:10:6` the same with the first 6.
    """
    name, *sizes = what.split(":")
    if len(sizes) > 2 or not all(size.isdecimal() and int(size) for size in sizes):
        raise UsageError(f"--slices {what}: a slice is NAME, NAME:INSTANCES or NAME:INSTANCES:CANDIDATES")
    first, candidates = (*map(int, sizes), None, None)[:2]
    names = [relation.name for relation in probe.relations]
    if name == "mixed":
        step = max(1, len(names) // _MIXED)
        relations: tuple[str, ...] | None = tuple(names[::step][:_MIXED])
    else:
        relations = None if name == "all" else (name,)
    pieces = _pieces(select(probe, ScoreOptions("0", "native", relations, first=first)))
    return tuple(replace(piece, candidates=piece.candidates[:candidates]) for piece in pieces)


def scaling_pieces(probe: Probe, relation: str) -> tuple[Piece, ...]:
    """One complete relation under the twelve templates of calprobe's set."""
    return _pieces(select(probe, ScoreOptions("all", "calprobe", (relation,))))


def _pieces(selection: Selection) -> tuple[Piece, ...]:
    return tuple(
        Piece(
            relation.name,
            selection.text(relation.name, number),
            tuple(instance.subject for instance in relation.instances),
            relation.candidates,
        )
        for relation in selection.relations
        for number in selection.numbers
    )
