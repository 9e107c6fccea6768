"""The writing side of a run folder: create or resume it, list missing pieces, write pieces."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, Self, TypeVar

from calprobe.errors import CalprobeError, UsageError
from calprobe.folders import write_fault
from calprobe.messages import reason
from calprobe.runs import asked_questions, atomic, journal, lock, run_progress, shards, stored_texts
from calprobe.runs.file_names import same_on_some_disks
from calprobe.runs.manifest import Manifest
from calprobe.runs.manifest_file import FILE_NAME, read_any_manifest, write_manifest
from calprobe.runs.pieces import PieceScores
from calprobe.runs.records import FewerRowsError, OtherRunError, Piece, R, RecordKind, ShardError
from calprobe.runs.run_progress import NOTHING, Progress
from calprobe.runs.shards import ShardFile
from calprobe.runs.stored_run import progress_of
from calprobe.runs.task import RunManifest

log = logging.getLogger(__name__)
M = TypeVar("M", bound=RunManifest)


class _KeptPart(Exception):
    """A piece of fewer instances, complete when the run had these."""


class RecordFolder(Generic[M, R]):
    """A run of any task that is being written. `manifest` is the one in use: for a resumed run, the stored one."""

    def __init__(self, path: Path, manifest: M) -> None:
        self.path = path
        self.manifest = manifest
        self._kind: RecordKind[R] = manifest.records()
        self._spent_before: dict[int, Progress] = {}  # by worker, its progress when this folder was opened

    @classmethod
    def open(cls, path: str | Path, asked: M, resume: bool = True) -> Self:
        """Create the run at `path`, or resume the one that is there.

        With `resume`, an existing run keeps its stored manifest. If more is asked for than it has, it grows: its
        manifest is replaced before any new record is written, so that a kill leaves a valid run, in which pieces are
        missing. Without `resume`, an existing run's shards are removed and the run starts over. Raises UsageError if
        the existing run differs (the message names each difference), or if the folder contains anything other than a
        run; CalprobeError if its manifest is damaged.
        """
        path = Path(path)
        check_folder(path)
        # Also read when starting over: only a folder that is known to be a run of this task may be emptied.
        if (stored := run_there(path, type(asked))) is None:
            return cls._write_new(path, asked)
        if not resume:
            _remove_results(path)
            return cls._write_new(path, asked)
        resumed = cls._resumed(path, stored, asked)
        _note_adopted(path, resumed.manifest, asked)
        with _writing(path):
            _remove_leftovers(path)
            if not resumed.manifest.covers(asked):
                resumed = cls(path, resumed.manifest.grown(asked))
                write_manifest(resumed.manifest, path)
        return resumed

    @classmethod
    def join(cls, path: str | Path, asked: M) -> Self:
        """Join the run that another process has opened at `path` for the same request, without any change to its files.

        Raises UsageError if this process would score a different run (the message names each difference).
        """
        path = Path(path)
        return cls._resumed(path, _of_task(path, read_any_manifest(path), type(asked)), asked)

    @classmethod
    def create(cls, path: str | Path, manifest: M) -> Self:
        """Create a new run at `path`, which must be empty or new. Raises UsageError if it is not."""
        path = Path(path)
        check_folder(path)
        if (path / FILE_NAME).is_file():
            raise UsageError(f"{path}: already contains a run; give another folder with --out")
        return cls._write_new(path, manifest)

    @classmethod
    def write_whole(
        cls,
        out: Path,
        manifest: M,
        records: Iterable[R],
        spent: Progress = NOTHING,
        also: Callable[[Path], None] | None = None,
    ) -> Self:
        """Make a run at `out` of these records, atomically; `spent` becomes its progress, `also` adds files of its own.

        The run is written beside `out` and renamed when it is complete. An error leaves nothing; the files of a killed
        process (`.NAME.import`) are removed by the next call for the same `out`.

        Raises UsageError unless `out` is an empty or new folder, ValueError for a record that is not in the manifest,
        CalprobeError if the folder cannot be written.
        """
        check_folder(out)
        if (out / FILE_NAME).is_file():
            raise UsageError(f"{out}: already contains a run; give another folder with --out")
        try:
            # An existing `out` is empty, or has the files of a `score` that was killed before it began.
            with atomic.replacing_folder(out, "import") as beside:
                run = cls.create(beside, manifest)
                for record in records:
                    run.write_piece(record)
                    spent += Progress(pieces=1, statements=run._kind.n_rows(record))
                run.record_progress(0, spent)
                if also is not None:
                    also(beside)
        except (OSError, UnwritableError) as error:
            # Name the requested folder, not the temporary one beside it.
            why = error.why if isinstance(error, UnwritableError) else reason(error)
            raise CalprobeError(
                f"{out}: cannot be written: {why}; fix this, or give another folder with --out"
            ) from error
        return cls(out, run.manifest)

    @classmethod
    def _resumed(cls, path: Path, stored: M, requested: M) -> Self:
        """The run at `path`, if it is the requested one."""
        refuse_other_run(path, stored, requested)
        return cls(path, stored)

    @classmethod
    def _write_new(cls, path: Path, manifest: M) -> Self:
        if alike := same_on_some_disks(list(dict.fromkeys(piece.relation for piece in manifest.pieces))):
            problem = "have names that differ only in upper and lower case, and share a file on some disks"
            raise UsageError(f"relations {alike[0]!r} and {alike[1]!r} {problem}; rename one of them")
        with _writing(path):
            (path / shards.FOLDER).mkdir(parents=True, exist_ok=True)
            _remove_leftovers(path)
            write_manifest(manifest, path)
        return cls(path, manifest)

    def missing(self) -> list[Piece]:
        """The pieces without a complete shard, in the manifest's order.

        A piece with fewer instances than the run, which has grown since, is missing and stays (`part`). A shard that is
        unreadable, damaged, has other columns or rows, or belongs to another run is renamed (`.bad`), logged, and
        counts as missing. Raises CalprobeError, and renames nothing, if all shards belong to another run: an edited
        manifest must not discard hours of scores.
        """
        amiss = {piece: self._amiss(piece) for piece in self.manifest.pieces}
        n_others = sum(isinstance(error, OtherRunError) for error in amiss.values())
        shards.refuse_if_none_fits(
            self.path, n_others, sum(e is None or isinstance(e, _KeptPart) for e in amiss.values())
        )
        for piece, error in amiss.items():
            if isinstance(error, ShardError):
                self._set_aside(piece, error)
        return [piece for piece, error in amiss.items() if error is not None]

    def part(self, piece: Piece) -> R | None:
        """The record of a missing piece as it was before the run grew, with fewer instances; None if there is none."""
        if not self.manifest.has_grown:
            return None
        try:
            return self._kind.read_part(self._shard(piece), piece)
        except (FileNotFoundError, ShardError):
            return None

    def stored(self, piece: Piece) -> R | None:
        """What the piece's shard has, all of it or a part; None without a shard that can be used."""
        try:
            return self._kind.read_whole(self._shard(piece), piece)
        except (FileNotFoundError, ShardError):
            return self.part(piece)

    def completed(self, record: R) -> R:
        """The record with its part that is there; ValueError if there is none, or they have instances in common."""
        part = self.part(piece := self._kind.piece_of(record))
        if part is None:
            raise ValueError(f"there is no part of {piece.relation}, template {piece.template}")
        return self._kind.joined(part, record)

    def unwritten(self, pieces: Iterable[Piece]) -> list[Piece]:
        """Those of the pieces that have no shard, or one of fewer instances; complete shards are not read."""
        return [p for p in pieces if not shards.shard_path(self.path, *p).is_file() or self.part(p) is not None]

    def write_piece(self, record: R) -> None:
        """Write one record durably; it replaces an older shard of the same piece.

        Raises ValueError if its piece is not in the run, or if it fails the check of its kind (`RecordKind.check`).
        """
        piece = self._kind.piece_of(record)
        if not self.manifest.has_piece(piece):
            raise ValueError(f"piece must be one of the run's, got {piece.relation}, template {piece.template}")
        self._kind.check(record)
        with _writing(self.path):
            shards.write_shard(self.path, self._kind, record, self.manifest.stamps(piece)[0])

    def record_progress(self, worker: int, spent: Progress) -> None:
        """Record what that worker has spent since this folder was opened; replaces its earlier record.

        The progress of earlier sessions is added. The file is replaced atomically: a killed process leaves a valid run.
        """
        before = self._spent_before.setdefault(worker, run_progress.read_worker(self.path, worker))
        with _writing(self.path):
            run_progress.write_progress(self.path, worker, before + spent)

    def progress(self) -> Progress:
        """The progress of all workers, in this session and in earlier ones."""
        return progress_of(self.path, self.manifest)

    def _amiss(self, piece: Piece) -> ShardError | FileNotFoundError | _KeptPart | None:
        """The reason why the piece's shard cannot be used; None if it is complete."""
        try:
            self._kind.read_whole(self._shard(piece), piece)
        except FewerRowsError as error:
            return _KeptPart() if self.part(piece) is not None else error
        except (FileNotFoundError, ShardError) as error:
            return error
        return None

    def _shard(self, piece: Piece) -> ShardFile:
        return ShardFile(self.path, piece, self.manifest.stamps(piece))

    def _set_aside(self, piece: Piece, error: ShardError) -> None:
        path = shards.shard_path(self.path, *piece)
        aside = path.with_name(path.name + journal.BAD_SUFFIX)
        log.warning("%s: %s; renamed to %s, will be %s", path, error, aside.name, self.manifest.remade)
        with _writing(self.path):
            path.replace(aside)


class RunFolder(RecordFolder[Manifest, PieceScores]):
    """A run of scores that is being written."""


def run_there(path: Path, task: type[M]) -> M | None:
    """The manifest of the run in the folder `path`, None if there is no run.

    Raises UsageError if it is a run of another task, whose results are not this one's to resume or to remove;
    CalprobeError if its manifest is damaged.
    """
    if not (path / FILE_NAME).is_file():
        return None
    return _of_task(path, read_any_manifest(path), task)


def _of_task(path: Path, stored: RunManifest, task: type[M]) -> M:
    if not isinstance(stored, task):
        raise UsageError(
            f"{path}: contains a run of {stored.results}, not of {task.results}; give another folder with --out"
        )
    return stored


def refuse_other_run(path: Path, stored: M, asked: M) -> None:
    """Raise UsageError if the run at `path` is not the requested one; the message names each difference."""
    otherwise = f"Give another folder with --out, or delete its {stored.results} and start over with --no-resume"
    if different := stored.differences(asked):
        only = different[0] if len(different) == 1 and stored.shard == asked.shard else ""
        if stored.dtype is not None and only.startswith("dtype: "):
            otherwise = f"To go on, --dtype {stored.dtype}. {otherwise}"
        raise UsageError(f"{path}: contains a different run. {'; '.join(different)}.\n{otherwise}")
    if stored.shard != asked.shard:
        share, other_share = (f"shard {m.shard}" if m.shard else "the complete run" for m in (stored, asked))
        raise UsageError(
            f"{path}: contains {share}, not {other_share}.\n"
            "Give another folder with --out; `calprobe merge` makes one run of several shards"
        )
    if obstacle := stored.obstacle(asked):
        raise UsageError(f"{path}: cannot become the requested run: {obstacle}.\n{otherwise}")


class UnwritableError(CalprobeError):
    """A run folder that cannot be written; `why` is the operating system's reason."""

    def __init__(self, path: Path, why: str) -> None:
        fix = "fix this and run the same command again; it resumes from there"
        super().__init__(f"{path}: cannot be written: {why}; {fix}")
        self.why = why


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Turn an OSError into an error with instructions: written files stay valid, so the run can be resumed."""
    try:
        yield
    except OSError as error:
        raise UnwritableError(path, reason(error)) from error


def default_out(model: str, probe: str, shard: str | None = None) -> Path:
    """`runs/MODEL-PROBE`; a hub id keeps its organisation, so that two models never share a folder.

    A shard has a folder of its own, since jobs of an array must not share one.

    >>> default_out("gpt2", "bear", "2/8").name
    'gpt2-bear-shard-2-of-8'
    """
    path = Path(model).expanduser()
    name = path.resolve().name if path.exists() else model.replace("/", "--")
    suffix = "" if shard is None else f"-shard-{shard.replace('/', '-of-')}"
    return Path("runs") / f"{name}-{probe}{suffix}"


def check_folder(path: Path) -> None:
    """Raise UsageError if `path` is a file, or a folder that contains anything other than a run.

    CalprobeError if nothing can be written there: better now than when a model is loaded.
    """
    if not _holds_nothing(path) and not (path / FILE_NAME).is_file():
        raise UsageError(f"{path}: not a run folder, and not empty; give another folder with --out")
    if fault := write_fault(path):
        raise CalprobeError(f"{path}: cannot be written: {fault}; fix this, or give another folder with --out")


def _holds_nothing(path: Path) -> bool:
    # A process killed between making the folder and writing its manifest leaves an empty shards folder and leftovers.
    if not path.exists():
        return True
    if not path.is_dir():
        raise UsageError(f"{path}: is a file, not a folder; give another path with --out")
    if (path / FILE_NAME).exists():
        return False
    inside = [entry for entry in path.iterdir() if entry.name not in lock.NAMES and not atomic.is_leftover(entry)]
    return all(entry.name == shards.FOLDER and entry.is_dir() and not any(entry.iterdir()) for entry in inside)


def _remove_leftovers(path: Path) -> None:
    for folder in (path, path / shards.FOLDER, path / run_progress.FOLDER):
        if folder == path or not folder.is_symlink():  # no file behind a symbolic link is deleted
            atomic.remove_leftovers(folder)


def _remove_results(path: Path) -> None:
    """Remove shards, progress, journals, labels and questions, and no other files."""
    folders = [path / shards.FOLDER, path / run_progress.FOLDER, path / journal.FOLDER]
    for folder in folders:
        if folder.is_symlink():
            raise UsageError(
                f"{folder}: a symbolic link, and no file behind one is deleted\n"
                "delete the run yourself, or give another folder with --out"
            )
    suffixes_of = ((".parquet", f".parquet{journal.BAD_SUFFIX}"), (".json",), journal.SUFFIXES)
    for folder, suffixes in zip(folders, suffixes_of, strict=True):
        for file in [file for suffix in suffixes for file in folder.glob(f"*{suffix}")]:
            file.unlink()
    for name in (stored_texts.FILE_NAME, asked_questions.FILE_NAME):
        (path / name).unlink(missing_ok=True)


def _note_adopted(path: Path, stored: RunManifest, requested: RunManifest) -> None:
    budgets = progress_of(path, stored).batch_tokens, requested.total(NOTHING).batch_tokens
    adopted: dict[str, tuple[object, object]] = {"batch_tokens": budgets}
    settings = requested.taken_over()
    adopted |= {name: (value, settings.get(name)) for name, value in stored.taken_over().items()}
    for name, (value, other_value) in adopted.items():
        if value != other_value:
            log.info("resuming with the run's %s %s (requested: %s)", name, value, other_value)
    values = requested.recorded_only()
    for name, began in stored.recorded_only().items():
        if name in values and began != values[name]:
            log.warning(
                "resuming with %s %s, the run started with %s: %s may differ",
                *(name, values[name], began, stored.may_differ),
            )
    changed = [n for n, v in stored.versions.items() if requested.versions.get(n, v) != v]
    if changed:
        log.warning("resuming with other versions than at the start of the run: %s", ", ".join(changed))
