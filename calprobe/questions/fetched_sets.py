"""`calprobe fetch` of a public question set: its files from the hub, at the commit that is current then.

A set lies at questions/NAME below the data root, with its repository's own file names. fetched.json beside them has
the commit and the SHA-256 of each file as it came. A repair gets the same files: a set keeps its commit.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from calprobe.errors import DataMissingError
from calprobe.messages import without_secrets
from calprobe.probes.fetching import arriving
from calprobe.questions.named_sets import NamedSet
from calprobe.questions.pools import sha256_of
from calprobe.questions.stored_sets import FETCHED, FetchedSet, damaged, fetched_set, folder_of, record_text

OnFile = Callable[[str, int], None]  # called with name and size in bytes of each file that has come


@dataclass(frozen=True, slots=True)
class RemoteFiles:
    """The files of a set on the hub at one commit."""

    revision: str
    sizes: dict[str, int]  # name -> bytes; 0 where the hub does not say


def remote_files(entry: NamedSet) -> RemoteFiles:
    """The files of all splits of a set, at the commit that it was fetched at before, else at the current one.

    Raises:
        DataMissingError: the hub cannot be reached, refuses, or has no such files; says what to do.
    """
    from huggingface_hub import HfApi

    former = fetched_set(entry)
    try:
        info = HfApi().dataset_info(entry.repository, revision=former.revision if former else None, files_metadata=True)
    except Exception as error:
        raise _refused(entry, error) from error
    sizes = {sibling.rfilename: sibling.size or 0 for sibling in info.siblings or ()}
    names: list[str] = []
    for split in entry.splits:
        matches = entry.files_of(split, sizes)
        if not matches:
            problem = f"{entry.repository} has no file {entry.splits[split]} at {info.sha}"
            raise DataMissingError(f"{problem}: its layout has changed; {by_hand(entry)}")
        names += [name for name in matches if name not in names]
    return RemoteFiles(str(info.sha), {name: sizes[name] for name in names})


def fetch_set(entry: NamedSet, remote: RemoteFiles, on_file: OnFile = lambda name, size: None) -> FetchedSet:
    """Download a set's files; returns when all of them and their record are in place.

    They come into a temporary folder first, so that an interrupted fetch leaves what was there as it was.

    Raises:
        DataMissingError: a file cannot be had, or is not the one that was fetched before under this commit.
        CalprobeError: the data root cannot be written to, or another fetch of the set does not end.
    """
    with arriving(folder_of(entry).parent, entry.name) as temporary:
        return _fetched_into(temporary, entry, remote, on_file)


def is_complete(entry: NamedSet) -> bool:
    """Whether a set was fetched and its files are still as they came."""
    fetched = fetched_set(entry)
    return fetched is not None and not damaged(entry, fetched)


def by_hand(entry: NamedSet) -> str:
    """How to do without `calprobe fetch`, one sentence."""
    return f"get its files from {entry.url} by hand and give one, or their folder: {entry.name}=PATH"


def _fetched_into(temporary: Path, entry: NamedSet, remote: RemoteFiles, on_file: OnFile) -> FetchedSet:
    former, files = fetched_set(entry), {}
    for name, size in remote.sizes.items():
        path = _download(entry, remote.revision, name, temporary)
        files[name] = sha256_of(path)
        if former and former.revision == remote.revision and former.files.get(name, files[name]) != files[name]:
            problem = f"{name} of {entry.repository} is not the file that was fetched before at {remote.revision}"
            raise DataMissingError(f"{problem}; fetch again, or {by_hand(entry)}")
        on_file(name, size)
    fetched = FetchedSet(entry.repository, remote.revision, files)
    shutil.rmtree(temporary / ".cache", ignore_errors=True)  # the hub client's notes
    (temporary / FETCHED).write_text(record_text(fetched), encoding="utf-8")
    folder = folder_of(entry)
    shutil.rmtree(folder, ignore_errors=True)
    temporary.rename(folder)
    return fetched


def _download(entry: NamedSet, revision: str, name: str, folder: Path) -> Path:
    from huggingface_hub import HfApi

    try:
        path = HfApi().hf_hub_download(entry.repository, name, repo_type="dataset", revision=revision, local_dir=folder)
    except Exception as error:
        raise _refused(entry, error) from error
    return Path(path)


def _refused(entry: NamedSet, error: Exception) -> DataMissingError:
    """Why the hub gave nothing, and what to do."""
    from huggingface_hub import errors as hub

    if isinstance(error, hub.GatedRepoError):
        problem = f"{entry.name} is gated: its terms have to be accepted first"
        return DataMissingError(f"{problem}\naccept them at {entry.url}, then log in with `hf auth login`")
    if isinstance(error, hub.RepositoryNotFoundError):
        return DataMissingError(f"{entry.repository} is no longer on the hub, or is private; {by_hand(entry)}")
    if isinstance(error, hub.HfHubHTTPError):
        why = f"the hub refused: {_first_line(error)}"
    else:
        why = f"the hub cannot be reached ({type(error).__name__}; no network, or HF_HUB_OFFLINE is set)"
    return DataMissingError(f"cannot fetch {entry.name}: {why}\n{by_hand(entry)}")


def _first_line(error: Exception) -> str:
    return without_secrets(str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__)
