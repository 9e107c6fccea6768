"""`fetch`: a data set brought below the data root, all of it or nothing."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from calprobe.errors import CalprobeError, DataMissingError
from calprobe.messages import reason
from calprobe.probes.datasets import DataFile, Dataset
from calprobe.probes.download import DownloadError, download_files

OTHER_FETCH_S = 600.0  # how long to wait for another fetch of the same data set


def damaged_files(dataset: Dataset, root: Path) -> list[DataFile]:
    """Files of the data set that are not below the root, or not as pinned (SHA-256); empty if it is complete."""
    return [file for file in dataset.files if _sha256(root / file.path) != file.sha256]


def fetch(dataset: Dataset, root: Path, on_file: Callable[[DataFile], None] = lambda file: None) -> list[DataFile]:
    """Download what is missing or damaged of a data set; returns the files that came, none if it was complete.

    Files come into a temporary folder below the root and are moved to their places when all are there and verified: by
    one rename where the data set is new, file by file where it is repaired. If anything goes wrong, or on Ctrl-C, the
    temporary folder is removed and what lay there stays as it was; remains of a killed fetch are removed by the next.
    A second fetch of the same data set waits for the first.

    Args:
        dataset: what to fetch.
        root: the data root; made if need be.
        on_file: called for each file that has come.
    Raises:
        DataMissingError: a file could not be had or was not what is pinned; says how to get it by hand.
        CalprobeError: the root cannot be written to, or another fetch does not end.
    """
    if not damaged_files(dataset, root):
        return []
    with arriving(root, dataset.name) as temporary:
        wanted = damaged_files(dataset, root)  # the fetch that we waited for may have brought them
        try:
            download_files(dataset, wanted, temporary, on_file)
        except DownloadError as error:
            raise DataMissingError(f"cannot fetch {dataset.name}: {error}\n{by_hand(dataset)}") from error
        _move_in(dataset, temporary, root, wanted)
    return wanted


@contextmanager
def arriving(root: Path, name: str) -> Iterator[Path]:
    """A folder below the root for files on their way in, in the block; no other fetch of that name runs meanwhile.

    It is removed at the end, whatever happens; remains of a fetch that was killed are removed first.

    Raises:
        CalprobeError: the root cannot be written to, or another fetch does not end.
    """
    prefix = f".fetch-{name}-"
    try:
        root.mkdir(parents=True, exist_ok=True)
        with FileLock(root / f".{name}.lock", timeout=OTHER_FETCH_S):  # the system lets it go if this process dies
            for remains in root.glob(f"{prefix}*"):
                shutil.rmtree(remains, ignore_errors=True)
            temporary = Path(tempfile.mkdtemp(prefix=prefix, dir=root))
            try:
                yield temporary
            finally:
                shutil.rmtree(temporary, ignore_errors=True)
    except Timeout as error:
        what = f"another fetch of {name} into {root} has not ended in {OTHER_FETCH_S:.0f} s"
        raise CalprobeError(f"{what}; end it and run `calprobe fetch {name}` again") from error
    except OSError as error:
        what = f"cannot write below {root} ({reason(error)})"
        raise CalprobeError(f"{what}; set CALPROBE_DATA to a folder that can be written to") from error


def by_hand(dataset: Dataset) -> str:
    """How to get a data set without `calprobe fetch`, one line."""
    return f"By hand: get https://github.com/{dataset.repository} at {dataset.commit}. {dataset.use}"


def _move_in(dataset: Dataset, temporary: Path, root: Path, files: Sequence[DataFile]) -> None:
    if not (root / dataset.folder).exists():
        (temporary / dataset.folder).rename(root / dataset.folder)
        return
    for file in files:
        (root / file.path).parent.mkdir(parents=True, exist_ok=True)
        (temporary / file.path).replace(root / file.path)


def _sha256(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None
