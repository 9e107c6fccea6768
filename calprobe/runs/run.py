"""The reading side of a run folder: its scores, checked, as arrays and tables."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from calprobe.errors import CalprobeError, DataMissingError
from calprobe.messages import counted, did_you_mean
from calprobe.runs.asked_manifest import AskManifest
from calprobe.runs.asked_run import AskedRun
from calprobe.runs.manifest import Manifest
from calprobe.runs.manifest_file import FILE_NAME, read_any_manifest, read_manifest
from calprobe.runs.pieces import REDUCTIONS, PieceScores, PieceTokens
from calprobe.runs.records import ShardError
from calprobe.runs.run_progress import Progress
from calprobe.runs.score_table import ScoreTable
from calprobe.runs.stored_run import StoredRun
from calprobe.words import Compat as Compat
from calprobe.words import Reduction as Reduction

_NAMED = 4  # runs in a folder that are named where the folder itself was given


@dataclass(frozen=True, slots=True)
class TemplateCost:
    """What was scored: a statement for each candidate, and their scored tokens."""

    statements: int
    tokens: int

    def __add__(self, other: TemplateCost) -> TemplateCost:
        return TemplateCost(self.statements + other.statements, self.tokens + other.tokens)


class Run(StoredRun[PieceScores]):
    """A run of scores read from its folder, or made in memory. Shards are read once; damaged ones count as missing."""

    manifest: Manifest

    def __init__(
        self,
        path: Path,
        manifest: Manifest,
        scored: Iterable[PieceScores] | None = None,
        progress: Progress | None = None,
    ) -> None:
        """`scored` and `progress` are of a run that was made in memory; None reads them from the folder."""
        super().__init__(path, manifest)
        self._progress = progress
        if scored is not None:
            self.pieces = tuple(sorted(scored, key=lambda p: p.piece))

    def __repr__(self) -> str:
        manifest = self.manifest
        instances = counted(sum(relation.n_instances for relation in manifest.relations), "instance")
        sizes = (
            f"{instances} in {counted(len(manifest.relations), 'relation')}, "
            f"{counted(len(manifest.templates), 'template')}"
        )
        return f"<Run {self.path}: {manifest.model.name} on {manifest.probe.name}, {sizes}>"

    @property
    def progress(self) -> Progress:
        """What the run has cost so far, over all processes and sessions, the batch budget, and a later path."""
        return super().progress if self._progress is None else self.manifest.total(self._progress)

    def unread(self) -> Run:
        """The run as it was opened, without shards that are read of this one later; itself where they are read."""
        return self if "pieces" in vars(self) else Run(self.path, self.manifest)

    @property
    def complete_relations(self) -> tuple[str, ...]:
        """Relations with all of the run's templates scored, sorted: those that `table` holds."""
        lacking = {relation for relation, _ in self.missing}
        return tuple(sorted(r.name for r in self.manifest.relations if r.name not in lacking))

    @cached_property
    def cut_contexts(self) -> dict[str, int]:
        """Instances with a context too long for the model, cut from the left, by relation; without zeros."""
        counts: dict[str, int] = {}
        for piece in self.pieces:
            if piece.cut_contexts:
                counts[piece.relation] = max(piece.cut_contexts, counts.get(piece.relation, 0))
        return counts

    @cached_property
    def template_costs(self) -> dict[int, TemplateCost]:
        """What was scored under each template, by number, over complete relations; empty where an import lacks it."""
        complete = set(self.complete_relations)
        costs: dict[int, TemplateCost] = {}
        for piece in self.pieces:
            if piece.n_tokens is None:
                return {}
            if piece.relation in complete:
                cost = TemplateCost(len(piece.n_tokens), int(piece.n_tokens.sum(dtype=np.int64)))
                costs[piece.template] = costs.get(piece.template, TemplateCost(0, 0)) + cost
        return costs

    def table(self, reduction: Reduction = "sum", compat: Compat | None = None) -> ScoreTable:
        """Scores of all complete relations under one reduction, templates ascending.

        `compat="kissling2026"` leaves out each statement's first scored token (docs/methods/estimators.md, "Reductions
        of token scores"). Raises ValueError for another reduction or compat, CalprobeError if the run does not know the
        column that it needs.
        """
        complete = set(self.complete_relations)
        records = sorted(self.manifest.templates, key=lambda record: record.number)
        by_template: dict[int, list[PieceScores]] = {record.number: [] for record in records}
        for piece in self.pieces:
            if piece.relation in complete:
                by_template[piece.template].append(piece)
        rows = by_template.values()
        scores = [_concatenate([self.scores(piece, reduction, compat) for piece in row]) for row in rows]
        first = next(iter(rows), [])
        widths = [self.manifest.relation(piece.relation).n_candidates for piece in first]
        counts = [self.manifest.relation(piece.relation).n_instances for piece in first]
        lengths = np.repeat(np.array(widths, np.int64), counts)
        return ScoreTable(
            scores=np.array(scores, np.float64).reshape(len(records), -1),
            offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            answer_idx=_concatenate([p.answer_idx[::k] for p, k in zip(first, widths, strict=True)]).astype(np.int64),
            relation=np.repeat(np.array([piece.relation for piece in first], dtype=np.str_), counts),
            instance=_concatenate([p.instance[::k] for p, k in zip(first, widths, strict=True)]).astype(np.int64),
            templates=tuple(records),
            own_candidates=frozenset(
                relation.name
                for relation in self.manifest.relations
                if relation.cardinality is None or relation.scored == "completion"
            ),
        )

    def reductions(self, compat: Compat | None = None) -> tuple[Reduction, ...]:
        """Those that `table` can give: all but what an import does not know.

        Raises ValueError for another compat.
        """
        _check_compat(compat)
        complete = set(self.complete_relations)
        pieces = [piece for piece in self.pieces if piece.relation in complete]
        names: tuple[Reduction, ...] = get_args(Reduction)
        return tuple(name for name in names if all(_column(piece, name, compat) is not None for piece in pieces))

    def read_tokens(self, piece: PieceScores) -> PieceTokens:
        """The tokens of one of `pieces`. Raises CalprobeError if the shard holds none or they are damaged."""
        if piece.tokens is not None:
            return piece.tokens
        shard = self.shard(piece.piece)
        try:
            return self.manifest.records().read_tokens(shard, piece.piece)
        except (ShardError, FileNotFoundError) as error:
            fix = f"resume the run, so that it is {self.manifest.remade}"
            raise CalprobeError(f"{shard.path}: {error}; {fix}") from error

    def scores(self, piece: PieceScores, reduction: Reduction, compat: Compat | None = None) -> npt.NDArray[np.float64]:
        """One piece's scores under a reduction, [statements]. Raises as `table`."""
        if reduction not in REDUCTIONS:
            raise ValueError(f"reduction must be one of {', '.join(REDUCTIONS)}, got {reduction!r}")
        _check_compat(compat)
        scores = _column(piece, reduction, compat)
        if scores is None:
            options = f"--reduction {reduction}" if compat is None else f"--reduction {reduction} --compat {compat}"
            names = ", ".join(name for name in REDUCTIONS if piece.column(name) is not None)
            raise CalprobeError(f"{self.path}: this import cannot compute {options}; it has {names} as published")
        return scores.astype(np.float64, copy=False)


def open_run(path: str | Path) -> Run | AskedRun:
    """Open a run for reading: of scores, or of replies; the shards are read when first needed.

    Raises DataMissingError if there is no run at `path`, CalprobeError if its manifest is damaged, of a newer format or
    of another task.

    Example:
        >>> run = calprobe.open_run("runs/gpt2-bear")  # doctest: +SKIP
        >>> run.manifest.task  # doctest: +SKIP
        'score'
    """
    run = open_any_run(path)
    if isinstance(run, Run | AskedRun):
        return run
    raise CalprobeError(f"{path}: a run of task {run.manifest.task}, not of scores or replies; name another run")


def open_scores(path: str | Path) -> Run:
    """Open a run of scores. Raises as `open_run`, and CalprobeError for a run of another task."""
    return Run(_place_of_run(path), read_manifest(Path(path)))


def open_asked(path: str | Path) -> AskedRun:
    """Open a run of replies. Raises as `open_run`, and CalprobeError for a run of another task."""
    run = open_any_run(path)
    if isinstance(run, AskedRun):
        return run
    raise CalprobeError(f"{path}: a run of task {run.manifest.task}, not of replies; name another run")


def read_table(source: Run | ScoreTable | str | Path, reduction: Reduction, compat: Compat | None) -> ScoreTable:
    """The scores of a run, open or by path, under one reduction; a table has its reduction already.

    Raises as `open_run` and `Run.table`.
    """
    if isinstance(source, ScoreTable):
        return source
    run = source if isinstance(source, Run) else open_scores(source)
    return run.table(reduction, compat)


def open_any_run(path: str | Path) -> StoredRun[Any]:
    """Open a run of any task. Raises as `open_run`."""
    place, manifest = _place_of_run(path), read_any_manifest(Path(path))
    if isinstance(manifest, Manifest):
        return Run(place, manifest)
    return AskedRun(place, manifest) if isinstance(manifest, AskManifest) else StoredRun(place, manifest)


def _place_of_run(path: str | Path) -> Path:
    path = Path(path)
    if not (path / FILE_NAME).is_file():
        raise DataMissingError(f"{path}: {_what_it_is(path)}")
    return path


def whole_record(manifest: Manifest, progress: Progress, cut_contexts: Mapping[str, int]) -> dict[str, Any]:
    """All that is known of a run except its scores, as one JSON object: the manifest, and what the run has cost.

    The batch budget stands among the settings, `cut_contexts` with each relation, and the costs are `timings`.
    """
    record = asdict(manifest)
    del record["grew"], record["earlier_format"]
    for relation in record["relations"]:
        relation["cut_contexts"] = cut_contexts.get(relation["name"], 0)
    costs = asdict(progress)
    budget, first, later = (costs.pop(key) for key in ("batch_tokens", "first_batch_tokens", "later_path"))
    by_torch = costs.pop("later_by_torch")
    record["settings"]["path"] = manifest.settings.shown_path
    record["settings"] |= {"batch_tokens": budget} | ({} if first is None else {"first_batch_tokens": first})
    record["settings"] |= {} if later is None else {"later_path": later}
    record["settings"] |= {"later_by_torch": list(by_torch)} if by_torch else {}
    return record | {"timings": costs}


def _what_it_is(path: Path) -> str:
    """Why there is no run at `path`, and the fix: distinguishes a folder of runs, a file, and a missing path."""
    fix = f"make one with `calprobe score --model NAME --out {shlex.quote(str(path))}`, or with `calprobe ask`"
    if path.is_file():
        return "a file, not a run folder; give the folder that `calprobe score` or `import` made"
    if not path.is_dir():
        meant = did_you_mean(path.name, _runs_in(path.parent))
        return f"no such run{meant}\n{fix}" if meant else f"no such run; {fix}"
    inside = _runs_in(path)
    if inside:
        remainder = f" and {len(inside) - _NAMED} more" if len(inside) > _NAMED else ""
        names = ", ".join(inside[:_NAMED])
        return f"not a run folder, but it holds {names}{remainder}; give these, such as {path / inside[0]}"
    return f"not a run folder (no {FILE_NAME}); {fix}"


def _runs_in(folder: Path) -> list[str]:
    """The names of the runs in a folder, sorted."""
    try:
        return sorted(run.parent.name for run in folder.glob(f"*/{FILE_NAME}"))
    except (OSError, ValueError):  # what no folder can be called
        return []


def _check_compat(compat: str | None) -> None:
    if compat not in (None, "kissling2026"):
        raise ValueError(f"compat must be None or 'kissling2026', got {compat!r}")


def _column(piece: PieceScores, reduction: Reduction, compat: Compat | None) -> npt.NDArray[np.generic] | None:
    return piece.column(reduction) if compat is None else piece.without_first(reduction)


def _concatenate(arrays: list[npt.NDArray[np.generic]]) -> npt.NDArray[np.generic]:
    return np.concatenate(arrays) if arrays else np.zeros(0)
