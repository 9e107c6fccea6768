"""The runs below a folder: what each one is of, and how much of it is done."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from calprobe.errors import CalprobeError, DataMissingError
from calprobe.runs import shards
from calprobe.runs.asked_manifest import AskManifest
from calprobe.runs.asked_run import AskedRun
from calprobe.runs.manifest import Manifest
from calprobe.runs.manifest_file import FILE_NAME, read_any_manifest
from calprobe.runs.task import RunManifest

_DEEPEST = 4  # levels of folders below the one that is named; runs are seldom deeper


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A run as its manifest and the names of its shards describe it; scores are not read, replies are counted."""

    path: str
    task: str
    model: str | None  # None: the task has none
    kind: str | None  # causal, masked; asked
    probe: str | None  # of an asked run, its question sets
    relations: int
    instances: int  # of an asked run, questions
    limit: int | None  # most instances of a relation
    sample_seed: int | None  # of the sample of so many; None: the first ones, or all
    templates: tuple[int, ...]
    shard: str | None  # I/N: this folder has that share of the run's pieces
    pieces: int  # of the complete run
    done: int  # pieces with a shard
    created: str  # UTC, ISO 8601
    requests: int | None = None  # of an asked run: all that it asks
    replies: int | None = None  # those with a reply, or with a failure
    failed: int | None = None  # those with a failure
    limited: str | None = None  # of an asked run: what part of its question sets was asked, if not all
    part: str | None = None  # the same in a few words, for lists

    @property
    def complete(self) -> bool:
        """Whether no piece is missing, no request has neither a reply nor a failure, and any has a reply."""
        return self.done >= self.pieces and (self.replies or 0) >= (self.requests or 0) and not self.all_failed

    @property
    def all_failed(self) -> bool:
        """Whether requests were made, and each of them failed."""
        return bool(self.replies) and self.failed == self.replies


@dataclass(frozen=True, slots=True)
class FailedRun:
    """A run that was to be made, and whose process failed."""

    task: str  # score, ask
    model: str
    probe: str  # of an asked run, its question sets
    said: str  # the first line of its error; empty: nothing


@dataclass(frozen=True, slots=True)
class RunList:
    """The runs below a folder."""

    folder: str
    runs: tuple[ListedRun, ...]  # by path
    damaged: dict[str, str]  # by path, why the manifest cannot be read

    def to_json(self) -> dict[str, Any]:
        """The object of `calprobe runs --json`."""
        runs = [asdict(run) | {"complete": run.complete} for run in self.runs]
        damaged = [{"path": path, "error": error} for path, error in self.damaged.items()]
        return {"folder": self.folder, "runs": runs, "damaged": damaged}


def list_runs(folder: str | Path) -> RunList:
    """The runs in a folder and below it, or the one that it is; a run with a damaged manifest is named with the reason.

    Raises DataMissingError if there is no such folder.
    """
    place = Path(folder)
    if not place.is_dir():
        problem = "a file, not a folder" if place.is_file() else "no such folder"
        raise DataMissingError(f"{place}: {problem}; `calprobe score` makes runs in runs/")
    runs, damaged = [], {}
    for path in run_folders(place):
        try:
            runs.append(_listed(path))
        except CalprobeError as error:
            damaged[str(path)] = str(error)
    return RunList(str(place), tuple(runs), damaged)


def run_folders(folder: Path) -> Iterator[Path]:
    """The folders of runs in a folder and below it, in order, or the one that it is; nothing of them is read."""
    return _run_folders(folder, _DEEPEST)


def _run_folders(folder: Path, levels: int) -> Iterator[Path]:
    if (folder / FILE_NAME).is_file():
        yield folder
        return
    try:
        inside = sorted(folder.iterdir()) if levels else []
    except OSError:  # a folder that may not be read
        return
    for path in inside:
        if path.is_dir() and not path.name.startswith("."):
            yield from _run_folders(path, levels - 1)


def _listed(path: Path) -> ListedRun:
    manifest = read_any_manifest(path)
    if isinstance(manifest, AskManifest):
        return _listed_asked(path, manifest)
    scores = manifest if isinstance(manifest, Manifest) else None
    relations = scores.relations if scores else ()
    return ListedRun(
        path=str(path),
        task=manifest.task,
        model=scores.model.name if scores else None,
        kind=scores.model.kind if scores else None,
        probe=scores.probe.name if scores else None,
        relations=len(relations),
        instances=sum(relation.n_instances for relation in relations),
        limit=scores.limit if scores else None,
        sample_seed=scores.sample_seed if scores else None,
        templates=tuple(template.number for template in scores.templates) if scores else (),
        shard=manifest.shard,
        pieces=len(manifest.pieces),
        done=_done(path, manifest),
        created=manifest.created,
    )


def _listed_asked(path: Path, manifest: AskManifest) -> ListedRun:
    kind = manifest.records()
    requests = sum(kind.expected(piece) for piece in manifest.pieces)
    replies, failed = _replies(path, manifest, requests)
    records = AskedRun(path, manifest).set_records
    limited = "; ".join(record.limits() for record in records if record.is_limited)
    return ListedRun(
        path=str(path),
        task=manifest.task,
        model=manifest.model.name,
        kind="asked",
        probe=", ".join(record.name for record in manifest.sets),
        relations=len(manifest.sets),
        instances=manifest.n_questions,
        limit=None,
        sample_seed=None,
        templates=(),
        shard=manifest.shard,
        pieces=len(manifest.pieces),
        done=_done(path, manifest),
        created=manifest.created,
        requests=requests,
        replies=replies,
        failed=failed,
        limited=limited or None,
        part="; ".join(record.part() for record in records) if limited else None,
    )


def _replies(path: Path, manifest: AskManifest, requests: int) -> tuple[int, int]:
    """How many requests have a reply or have failed, and how many have failed.

    A run with as many rows in its shards as requests is complete, and one column of these is read; another one is
    read whole.
    """
    ends = [shards.column(path, piece, "finish") for piece in manifest.pieces]
    if sum(map(len, ends)) == requests:
        return requests, sum(end == "error" for column in ends for end in column)
    replies = [reply for record in AskedRun(path, manifest).by_piece.values() for reply in record.replies]
    return len(replies), sum(reply.finish == "error" for reply in replies)


def _done(path: Path, manifest: RunManifest) -> int:
    return sum(shards.shard_path(path, *piece).is_file() for piece in manifest.pieces)
