"""One run out of several folders that hold parts of it: the shards of a job array, or runs that were stopped."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from calprobe.errors import CalprobeError, UsageError
from calprobe.runs.folder import RunFolder, write_whole
from calprobe.runs.manifest import Manifest, differences
from calprobe.runs.pieces import DTYPES, PieceScores
from calprobe.runs.progress import Progress, total
from calprobe.runs.run import Run, open_run
from calprobe.wording import counted

log = logging.getLogger(__name__)

Piece = tuple[str, int]  # relation, template number
_Held = tuple[Run, PieceScores]  # a run and a piece that it holds
_NAMED = 8  # missing pieces that a message names


def merge_runs(folders: Sequence[str | Path], out: str | Path, partial: bool = False) -> RunFolder:
    """Write one run at `out` of all the pieces that the folders hold. The folders stay as they are.

    The result equals an unsharded run: its exports are the same bytes if the parts were scored with the same batch
    budget, threads and kind of device (a difference is said on the log).

    Args:
        folders: runs of one identity (`runs.manifest.identity`), one or more. A piece that several hold must have the
            same scores in all of them.
        out: an empty or absent folder.
        partial: whether pieces may be missing; the merged run can be gone on with by `calprobe score`.
    Raises:
        UsageError: no folder is given, they hold different runs (each difference is named), or `out` holds something.
        CalprobeError: a piece is missing or has two different scores; or the disk does not take the run.
        DataMissingError: there is no run at one of the folders.
    """
    if not folders:
        raise UsageError("nothing to merge; give the folders of the runs")
    runs = [open_run(folder) for folder in folders]
    for run in runs[1:]:
        _refuse_other(runs[0], run)
    manifest = _joined([run.manifest for run in runs])
    holders: dict[Piece, list[_Held]] = {piece: [] for piece in manifest.pieces}
    for run in runs:
        for scores in run.pieces:
            holders[scores.relation, scores.template].append((run, scores))
    missing = [piece for piece, held in sorted(holders.items(), key=lambda item: item[0]) if not held]
    if missing and not partial:
        raise CalprobeError(_what_is_missing(missing, runs))
    pieces = (_only_one(held) for held in holders.values() if held)
    return write_whole(Path(out), manifest, pieces, _spent(runs))


def _refuse_other(first: Run, run: Run) -> None:
    if different := differences(first.manifest, run.manifest, (f"{first.path} has", f"{run.path} has")):
        raise UsageError(f"{run.path}: not of the same run as {first.path}.\n{'; '.join(different)}")
    for name in ("batch_tokens", "threads", "device_name", "cpu_products"):
        has, other = (
            getattr(r.progress if name == "batch_tokens" else r.manifest.settings, name) for r in (first, run)
        )
        if has != other:
            log.warning(
                "%s was scored with %s %s, %s with %s: last bits may differ", first.path, name, has, run.path, other
            )


def _setting(run: Run, name: str) -> object:
    """The setting in force."""
    return run.progress.batch_tokens if name == "batch_tokens" else getattr(run.manifest.settings, name)


def _joined(manifests: list[Manifest]) -> Manifest:
    """The manifest of the merged run: the first one's, of the whole run."""
    created = min(manifest.created for manifest in manifests)
    return replace(manifests[0], shard=None, created=created, first_format=None)


def _spent(runs: Sequence[Run]) -> Progress:
    """What all parts have cost. Their pieces are counted as they are written, and each once."""
    return replace(total(run.progress for run in runs), pieces=0, statements=0)


def _only_one(held: list[_Held]) -> PieceScores:
    """The piece, with its tokens if the run has them, after a look whether all that hold it agree."""
    first, *others = (_with_tokens(*one) for one in held)
    for (run, _), other in zip(held[1:], others, strict=True):
        if not _same(first, other):
            where = f"{first.relation}, template {first.template}"
            raise CalprobeError(
                f"{where}: {held[0][0].path} and {run.path} hold different scores of it\n"
                "leave one of the folders out, or score that piece again with the same settings"
            )
    return first


def _with_tokens(run: Run, piece: PieceScores) -> PieceScores:
    return replace(piece, tokens=run.read_tokens(piece)) if run.manifest.settings.save_tokens else piece


def _same(piece: PieceScores, other: PieceScores) -> bool:
    """Whether every score has the same bytes (NaN equals NaN)."""
    for name in DTYPES:
        one, two = piece.column(name), other.column(name)
        if (one is None) != (two is None) or (one is not None and two is not None and one.tobytes() != two.tobytes()):
            return False
    if piece.cut_contexts != other.cut_contexts:
        return False
    if piece.tokens is None or other.tokens is None:
        return piece.tokens is other.tokens
    return list(piece.tokens.tokens) == list(other.tokens.tokens) and all(
        getattr(piece.tokens, name).tobytes() == getattr(other.tokens, name).tobytes()
        for name in ("roles", "logprobs", "offsets")
    )


def _what_is_missing(missing: list[Piece], runs: list[Run]) -> str:
    named = ", ".join(f"{relation}.t{template}" for relation, template in missing[:_NAMED])
    more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
    shards = _absent_shards(run.manifest.shard for run in runs)
    lack = f"{counted(len(missing), 'piece')} of {len(runs[0].manifest.pieces)} {'is' if len(missing) == 1 else 'are'}"
    return f"{lack} in none of the runs: {named}{more}\n{shards}score them first, or merge what is there with --partial"


def _absent_shards(shards: Iterator[str | None]) -> str:
    """Which shards were not given, or that those that were are of different counts."""
    given = [tuple(map(int, shard.split("/"))) for shard in shards if shard is not None]
    counts = {count for _, count in given}
    if len(counts) > 1:
        return f"the shards are cut differently, into {' and '.join(map(str, sorted(counts)))}; "
    if not counts:
        return ""
    absent = sorted(set(range(1, counts.pop() + 1)) - {number for number, _ in given})
    which = f"{', '.join(map(str, absent))} of {given[0][1]}"
    if not absent:
        return ""
    return f"shard {which} was not given; " if len(absent) == 1 else f"shards {which} were not given; "
