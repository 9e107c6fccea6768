"""Public question sets on this machine: as `calprobe fetch` stored them, or where a user has them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from calprobe.errors import DataMissingError, UsageError
from calprobe.folders import data_root
from calprobe.probes.json_files import read_json_object
from calprobe.questions.named_sets import NamedSet
from calprobe.questions.pools import sha256_of
from calprobe.questions.question_rows import kind_of_file, read_rows

FETCHED = "fetched.json"  # beside the files of a set: what was fetched
_SPLIT = re.compile(r"(?:^|[_.-])(train|test|validation|dev|main|diamond|extended)(?=$|[_.-])")


@dataclass(frozen=True, slots=True)
class FetchedSet:
    """What was fetched of a set: the commit, and the SHA-256 (hex) of each of its files."""

    repository: str
    revision: str
    files: Mapping[str, str]


def folder_of(entry: NamedSet) -> Path:
    """Where a set lies below the data root."""
    return data_root() / "questions" / entry.name


def fetched_set(entry: NamedSet) -> FetchedSet | None:
    """What was fetched of a set; None if nothing was."""
    path = folder_of(entry) / FETCHED
    return FetchedSet(**read_json_object(path).content) if path.is_file() else None


def record_text(fetched: FetchedSet) -> str:
    """The content of fetched.json."""
    return json.dumps(asdict(fetched), indent=2, ensure_ascii=False) + "\n"


def damaged(entry: NamedSet, fetched: FetchedSet) -> list[str]:
    """The names of fetched files that are missing or have changed."""
    folder = folder_of(entry)
    return [name for name, sha256 in fetched.files.items() if not _is(folder / name, sha256)]


def stored_files(entry: NamedSet, split: str, fetched: FetchedSet) -> dict[str, Path]:
    """The files of a split, by name.

    Raises:
        DataMissingError: one of them is missing or has changed.
    """
    names = entry.files_of(split, fetched.files)
    for name in names:
        if not _is(folder_of(entry) / name, fetched.files[name]):
            problem = f"question set {entry.name!r}: {name} in {folder_of(entry)} is missing or has changed"
            raise DataMissingError(f"{problem}; run `calprobe fetch {entry.name}`")
    return {name: folder_of(entry) / name for name in names}


def checked_split(entry: NamedSet, split: str | None) -> str:
    """The split that is asked. Raises UsageError if the set has none of that name."""
    if split is not None and split not in entry.splits:
        raise UsageError(f"--split {split}: {entry.name} has {', '.join(entry.splits)}; choose one of them")
    return split or entry.split


def missing(entry: NamedSet) -> DataMissingError:
    """The error for a set that is not on this machine."""
    get = f"run `calprobe fetch {entry.name}`, or give a file of it: {entry.name}=FILE"
    return DataMissingError(f"question set {entry.name!r} is not in {folder_of(entry)}; {get}")


def files_in(place: Path, entry: NamedSet, split: str) -> dict[str, Path]:
    """The files of a split in a user's folder, which is laid out as the repository or has its files side by side.

    Raises:
        UsageError: there is none.
    """
    below = {path.relative_to(place).as_posix(): path for path in place.rglob("*") if kind_of_file(path)}
    names = entry.files_of(split, below)
    if not names:  # the files side by side, without the repository's folders
        flat = {name: f"{entry.splits[split].rpartition('/')[0]}/{name}".lstrip("/") for name in below}
        names = [name for name, as_there in flat.items() if entry.files_of(split, [as_there])]
    if not names:  # files of other names that tell of their split, such as mmlu_test.jsonl.gz
        of_split = [name for name, path in below.items() if split_of_name(path) == split]
        names = [name for name in of_split if entry.layout.fits(next(read_rows([below[name]])).content)]
    if not names:
        problem = f"no file of {entry.name}'s split {split} ({entry.splits[split]}) in {place}"
        raise UsageError(f"{problem}; give the file itself: {entry.name}=FILE")
    return {name: below[name] for name in sorted(names)}


def split_of_name(path: Path) -> str:
    """The split that a file's name tells of; empty if it tells of none.

    >>> split_of_name(Path("mmlu_test.jsonl.gz")), split_of_name(Path("train-00000-of-00001.parquet"))
    ('test', 'train')
    """
    splits = _SPLIT.findall(path.name)
    return splits[-1] if splits else ""


def _is(path: Path, sha256: str) -> bool:
    try:
        return sha256_of(path) == sha256
    except OSError:
        return False
