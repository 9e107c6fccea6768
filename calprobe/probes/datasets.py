"""The data sets that calprobe knows: where each comes from, pinned to a commit, with a SHA-256 for every file.

They lie under one folder, `calprobe.folders.data_root()`. Paths below it are
`bear/BEAR/P30.jsonl`, `bear/BEAR-big/..`, `bear/relation_info.json`, `factor/expert_factor.csv` and
`paper/metadata_relations_12_templates.json`. The checksums are in checksums.json, one entry a file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path, PurePosixPath

from calprobe.errors import UsageError


@dataclass(frozen=True, slots=True)
class DataFile:
    """One file of a data set."""

    path: str  # below the data root, with /
    source: str  # in the repository, at the data set's commit
    sha256: str  # hex
    size: int  # bytes


@dataclass(frozen=True, slots=True)
class Dataset:
    """A set of files of one public repository at one commit."""

    name: str
    repository: str  # owner/name on GitHub
    commit: str
    folder: str  # below the data root; holds all of the files
    terms: str  # what is known of its licence, one sentence
    use: str  # how files fetched by hand are put to use, one sentence
    files: tuple[DataFile, ...]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)


DATASETS = ("bear", "factor", "kissling2026")
BEAR_FOLDERS = {"bear": "bear/BEAR", "bear-big": "bear/BEAR-big"}  # probe -> its folder below the data root


@cache
def dataset(name: str) -> Dataset:
    """The data set of that name.

    Raises:
        UsageError: there is none; names those that there are.
    """
    known = json.loads((resources.files("calprobe.probes") / "checksums.json").read_text(encoding="utf-8"))
    if name not in known:
        raise UsageError(f"no data set {name!r}; known are {', '.join(known)}")
    entry = known[name]
    return Dataset(name, files=tuple(DataFile(**file) for file in entry.pop("files")), **entry)


@cache
def bear_relations() -> frozenset[str]:
    """Names of BEAR's relations."""
    paths = (PurePosixPath(file.path) for file in dataset("bear").files)
    return frozenset(path.stem for path in paths if path.match(f"{BEAR_FOLDERS['bear']}/*.jsonl"))


def files_below(data: str, place: str) -> tuple[DataFile, ...]:
    """The files of a data set that are in the folder `place`, or are that file."""
    return tuple(file for file in dataset(data).files if f"{file.path}/".startswith(f"{place}/"))


def absent_files(files: tuple[DataFile, ...], root: Path) -> list[DataFile]:
    """Those of the files that are not below the root, or not of the right size; a quick look, without hashing."""
    return [file for file in files if not _has_size(root / file.path, file.size)]


def _has_size(path: Path, size: int) -> bool:
    try:
        return path.stat().st_size == size
    except OSError:
        return False
