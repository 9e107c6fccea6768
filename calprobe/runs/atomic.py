"""Atomic files and folders: complete or absent, even if the process is killed."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from calprobe.errors import CalprobeError, UsageError
from calprobe.messages import reason

TEMPORARY_SUFFIX = ".tmp"


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; at the end of the block it is flushed to disk and renamed to `path`.

    If the block raises, the temporary file is removed and `path` does not change. After SIGKILL the temporary file
    may remain; `remove_leftovers` removes it.
    """
    temporary = _temporary(path)
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text to `path` atomically and durably."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextmanager
def named_file(path: Path, fix: str) -> Iterator[Path]:
    """`replacing` for a file that the user named; creates missing folders and follows a link.

    Raises CalprobeError if the file cannot be written, or is a device or a pipe; its message ends with `fix`, which
    tells the user what to do.
    """
    try:
        place = Path(os.path.realpath(path))
        if place.exists() and not (place.is_file() or place.is_dir()):
            raise CalprobeError(f"{path}: is not a regular file; {fix}")
        place.parent.mkdir(parents=True, exist_ok=True)
        with replacing(place) as temporary:
            yield temporary
    except OSError as error:
        raise CalprobeError(f"{path}: cannot be written: {reason(error)}; {fix}") from error


def create_text(path: Path, text: str) -> bool:
    """Write UTF-8 text to `path` unless the path exists; of several processes only one succeeds and gets True."""
    temporary = _temporary(path)
    try:
        temporary.write_text(text, encoding="utf-8")
        _create(temporary, path)
    except FileExistsError:
        return False
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(path.parent)
    return True


@contextmanager
def replacing_folder(path: Path, work: str) -> Iterator[Path]:
    """Yield a path beside `path` for a new folder; at the end of the block the folder is renamed to `path`.

    `path` must be empty or new. If the block raises, the new folder is removed. After SIGKILL it may remain as
    `.NAME.WORK`; the next call removes it.
    """
    place = path.absolute()
    beside = place.with_name(f".{place.name}.{work}")
    shutil.rmtree(beside, ignore_errors=True)
    try:
        yield beside
        if place.is_dir():
            shutil.rmtree(place)
        beside.rename(place)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    _sync_folder(place.parent)


def check_empty(out: Path) -> None:
    """Raise UsageError unless `out` is an empty folder, or not there."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out}: is there already, and not an empty folder; name another with --out")


def is_leftover(path: Path) -> bool:
    """Whether the name is that of a temporary file of `replacing`."""
    return path.name.startswith(".") and path.name.endswith(TEMPORARY_SUFFIX)


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files that a killed process left in `folder`; no effect without such a folder."""
    if folder.is_dir():
        for path in folder.iterdir():
            if is_leftover(path):
                path.unlink(missing_ok=True)


def _temporary(path: Path) -> Path:
    # Processes on machines that share a disk may have equal numbers; in containers they often do.
    return path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}{TEMPORARY_SUFFIX}")


def _create(temporary: Path, path: Path) -> None:
    try:
        path.hardlink_to(temporary)  # atomic, and fails if the path exists
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if path.exists():
            raise FileExistsError(path) from None
        temporary.replace(path)


def _sync_folder(folder: Path) -> None:
    # A rename is durable once its folder is flushed. Windows cannot open a folder, and does not need this.
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
