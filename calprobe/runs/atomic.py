"""Files that are there whole or not at all, whatever moment the process dies at."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from calprobe.errors import CalprobeError
from calprobe.messages import reason

TEMPORARY_SUFFIX = ".tmp"


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`; when the block ends well it is flushed to disk and takes `path`'s place.

    When the block raises, the temporary file is removed and `path` stays as it was. After SIGKILL the temporary file
    may stay behind; `remove_leftovers` clears it.
    """
    temporary = _temporary(path)
    try:
        yield temporary
        with temporary.open("rb+") as written:
            os.fsync(written.fileno())
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
def named_file(path: Path, mend: str) -> Iterator[Path]:
    """`replacing` for a file that a person named; a folder that is not there is made, and a link is followed.

    Raises CalprobeError if the file cannot be written, or is a device or a pipe, whose place no file must take; `mend`
    ends its message, and says what to do.
    """
    try:
        place = Path(os.path.realpath(path))
        if place.exists() and not (place.is_file() or place.is_dir()):
            raise CalprobeError(f"{path}: is no regular file; {mend}")
        place.parent.mkdir(parents=True, exist_ok=True)
        with replacing(place) as temporary:
            yield temporary
    except OSError as error:
        raise CalprobeError(f"{path}: cannot be written: {reason(error)}; {mend}") from error


def create_text(path: Path, text: str) -> bool:
    """Write UTF-8 text to `path` unless something is there; of several processes only one succeeds, and has True."""
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
    """A place beside `path` for a folder; when the block ends well it takes `path`'s place, which must hold nothing.

    When the block raises, nothing stays. After SIGKILL the place (`.NAME.WORK`) may; the next call clears it.
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


def is_leftover(path: Path) -> bool:
    """Whether the name is one that `replacing` gives to its temporary files."""
    return path.name.startswith(".") and path.name.endswith(TEMPORARY_SUFFIX)


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files that a killed process left in `folder`; nothing if there is no such folder."""
    if folder.is_dir():
        for path in folder.iterdir():
            if is_leftover(path):
                path.unlink(missing_ok=True)


def _temporary(path: Path) -> Path:
    # Machines that share a disk may have processes of one number; in containers they often do.
    return path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}{TEMPORARY_SUFFIX}")


def _create(temporary: Path, path: Path) -> None:
    try:
        path.hardlink_to(temporary)  # a second name is given in one step, and not over a file that is there
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if path.exists():
            raise FileExistsError(path) from None
        temporary.replace(path)


def _sync_folder(folder: Path) -> None:
    # A rename is durable only once its folder is. Windows cannot open a folder, and needs no such thing.
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
