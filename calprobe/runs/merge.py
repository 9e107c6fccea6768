"""One run from several folders with parts of it: shards of a job array, stopped runs, other templates or relations."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial as partial_of
from functools import reduce
from pathlib import Path
from typing import Any

from calprobe.errors import CalprobeError, UsageError
from calprobe.messages import counted
from calprobe.runs.asked_manifest import AskManifest
from calprobe.runs.asked_questions import keep_questions
from calprobe.runs.asked_run import AskedRun
from calprobe.runs.folder import RecordFolder
from calprobe.runs.grades import keep_grades
from calprobe.runs.journal import Journal
from calprobe.runs.meanings import keep_meanings
from calprobe.runs.records import Piece, RecordKind
from calprobe.runs.run import open_any_run
from calprobe.runs.run_progress import Progress, total
from calprobe.runs.stored_run import StoredRun
from calprobe.runs.stored_texts import keep_labels

log = logging.getLogger(__name__)

_NAMED = 8  # missing pieces that a message names


def merge_runs(folders: Sequence[str | Path], out: str | Path, partial: bool = False) -> RecordFolder[Any, Any]:
    """Write one run at `out` from all pieces in the folders. The folders do not change.

    The result equals a run of all of them (docs/reference/files.md says where to the last bit) if the parts were scored
    with the same batch budget, threads and kind of device (a difference is logged).

    Args:
        folders: runs without `RunManifest.differences`, one or more. A piece in several folders must have the same
            scores in all of them; one with more instances replaces one with fewer.
        out: an empty or new folder.
        partial: whether pieces may be missing; `calprobe score` or `calprobe ask` can resume the merged run, which has
            the replies of pieces that are not complete, too.
    Raises:
        UsageError: no folder is given, the runs differ (the message names each difference), they have other relations
            under other templates, or `out` is not empty.
        CalprobeError: a piece is missing or has two different scores; or the run cannot be written.
        DataMissingError: there is no run at one of the folders.
    """
    if not folders:
        raise UsageError("nothing to merge; give the folders of the runs")
    runs: list[StoredRun[Any]] = [open_any_run(folder) for folder in folders]
    for run in runs[1:]:
        _refuse_other(runs[0], run)
    created = min(run.manifest.created for run in runs)
    manifest = runs[0].manifest.merged(created, [run.manifest for run in runs[1:]])
    holders: dict[Piece, list[StoredRun[Any]]] = {piece: [] for piece in manifest.pieces}
    kind = manifest.records()
    for run in runs:
        for piece in dict.fromkeys(kind.piece_of(record) for record in _records(run) if kind.is_whole(record)):
            holders[piece].append(run)
    parts = _parts(kind, [piece for piece, piece_runs in holders.items() if not piece_runs], runs)
    assembled = _assembled(kind, parts)
    lacking = sorted(piece for piece, piece_runs in holders.items() if not piece_runs and piece not in assembled)
    if lacking and not partial:
        raise CalprobeError(_what_is_missing(lacking, len(manifest.pieces), runs))
    pieces = (
        assembled[piece] if piece in assembled else _only_one(kind, piece, piece_runs)
        for piece, piece_runs in holders.items()
        if piece_runs or piece in assembled
    )
    sources = [run.path for run in runs]
    unfinished = {piece: parts[piece] for piece in lacking}
    keep = partial_of(_keep, sources, kind, unfinished) if isinstance(manifest, AskManifest) else None
    merged = RecordFolder.write_whole(Path(out), manifest, pieces, _spent(runs), keep)
    if keep is None:
        keep_labels(sources, merged.path)
    return merged


def _keep(
    sources: Sequence[Path], kind: RecordKind[Any], unfinished: Mapping[Piece, Sequence[Any]], folder: Path
) -> None:
    """Write what runs of replies have beside their shards into another folder, and the replies of unfinished pieces."""
    keep_questions(sources, folder)
    keep_grades(sources, folder)
    keep_meanings(sources, folder)
    with _agreeing():
        replies = [reply for parts in unfinished.values() if parts for reply in reduce(kind.joined, parts).replies]
    if replies:
        with closing(Journal.open(folder)) as journal:
            journal.add_all(replies)


def _records(run: StoredRun[Any]) -> Iterator[Any]:
    """What the run has: of scores what is in shards, of replies also what came later and is in the journal."""
    if isinstance(run, AskedRun):
        yield from run.by_piece.values()
    yield from run.pieces


def _parts(kind: RecordKind[Any], lacking: Sequence[Piece], runs: Sequence[StoredRun[Any]]) -> dict[Piece, list[Any]]:
    """What the runs have of the pieces that none of them has in a shard; of replies also what is in journals."""
    parts: dict[Piece, list[Any]] = {piece: [] for piece in lacking}
    for run in runs:
        for record in run.by_piece.values() if isinstance(run, AskedRun) else run.pieces:
            if (piece := kind.piece_of(record)) in parts:
                parts[piece].append(record)
    return parts


def _assembled(kind: RecordKind[Any], parts: Mapping[Piece, Sequence[Any]]) -> dict[Piece, Any]:
    """The pieces that are complete of the shares of several runs, where the kind of records has such shares."""
    with _agreeing():
        assembled = {piece: kind.assembled(records) for piece, records in parts.items() if records}
    return {piece: record for piece, record in assembled.items() if record is not None}


@contextmanager
def _agreeing() -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise CalprobeError(f"the runs disagree: {error}; leave one of the folders out") from error


def _refuse_other(first: StoredRun[Any], run: StoredRun[Any]) -> None:
    is_other_task = type(first.manifest) is not type(run.manifest)
    words = (f"{first.path} has", f"{run.path} has")
    tasks = [f"task: {words[0]} {first.manifest.task}, {words[1]} {run.manifest.task}"]
    if different := tasks if is_other_task else first.manifest.differences(run.manifest, words):
        raise UsageError(f"{run.path}: not of the same run as {first.path}.\n{'; '.join(different)}")
    settings, other_settings = _last_bits(first), _last_bits(run)
    for name in settings:
        if name in other_settings and settings[name] != other_settings[name]:
            log.warning(
                "%s was scored with %s %s, %s with %s: last bits may differ",
                *(first.path, name, settings[name], run.path, other_settings[name]),
            )


def _last_bits(run: StoredRun[Any]) -> dict[str, object]:
    """Settings that decide the last bits of records."""
    batch_tokens = run.progress.batch_tokens
    return {"batch_tokens": batch_tokens} | run.manifest.taken_over() | run.manifest.recorded_only()


def _spent(runs: Sequence[StoredRun[Any]]) -> Progress:
    """The cost of all parts, without counts of pieces: these are counted when they are written."""
    return replace(total(run.progress for run in runs), pieces=0, statements=0)


def _only_one(kind: RecordKind[Any], piece: Piece, runs: list[StoredRun[Any]]) -> Any:
    """The complete record of the piece, after a check that all runs with it agree."""
    records = [_whole(run, piece) for run in runs]
    if isinstance(runs[0], AskedRun):
        with _agreeing():
            return reduce(kind.joined, records)  # a request that failed in one has the reply of another
    for run, record in zip(runs[1:], records[1:], strict=True):
        if not run.kind.same(records[0], record):
            raise CalprobeError(
                f"{piece.relation}, template {piece.template}: {runs[0].path} and {run.path} have different"
                f" {run.manifest.results} for it\nleave one of the folders out, or make that piece again with the same"
                " settings"
            )
    return records[0]


def _whole(run: StoredRun[Any], piece: Piece) -> Any:
    """All that the run has of a piece that it has completely; of replies, those in the journal are newer."""
    if isinstance(run, AskedRun):
        record = run.by_piece.get(run.manifest.asked_piece(piece))
        if record is not None and run.kind.is_whole(record):
            return record
    return run.read_whole(piece)


def _what_is_missing(missing: list[Piece], n_pieces: int, runs: list[StoredRun[Any]]) -> str:
    names = ", ".join(f"{relation}.t{template}" for relation, template in missing[:_NAMED])
    remainder = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
    shards = _absent_shards(run.manifest.shard for run in runs)
    lack = f"{counted(len(missing), 'piece')} of {n_pieces} {'is' if len(missing) == 1 else 'are'}"
    pieces = {run.kind.piece_of(record) for run in runs for record in run.pieces}
    fewer = " with all instances" if pieces.intersection(missing) else ""
    fix = f"{shards}run them first, or merge the others with --partial"
    return f"{lack} in none of the runs{fewer}: {names}{remainder}\n{fix}"


def _absent_shards(shards: Iterator[str | None]) -> str:
    """Which shards are not given, or that the given ones have different counts."""
    shares = [tuple(map(int, shard.split("/"))) for shard in shards if shard is not None]
    counts = {count for _, count in shares}
    if len(counts) > 1:
        return f"the shards have different counts, {' and '.join(map(str, sorted(counts)))}; "
    if not counts:
        return ""
    absent = sorted(set(range(1, counts.pop() + 1)) - {number for number, _ in shares})
    text = f"{', '.join(map(str, absent))} of {shares[0][1]}"
    if not absent:
        return ""
    return f"shard {text} was not given; " if len(absent) == 1 else f"shards {text} were not given; "
