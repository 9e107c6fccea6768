"""Whether all processes of a run see one folder: each machine may have a disk of its own under that name."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from pathlib import Path

from calprobe.errors import CalprobeError
from calprobe.runs.lock import Owner, read_owner

_POLL_S = 0.2
# NFS remembers for up to a minute that a file was not there (acdirmax).
_SEEN_WITHIN_S = 65.0


def wait_until_seen(run: Path, first: Owner, check: Callable[[], None]) -> None:
    """Wait until the folder names that process as its owner, as it does on the machine where the process runs.

    Args:
        run: the folder as this process was told it.
        first: what the first process has written there.
        check: called now and then; raises where there is nothing to wait for any more.
    Raises:
        CalprobeError: it does not for a minute, and so is another folder than the first process's.
    """
    began = time.monotonic()
    while read_owner(run) != first:
        check()
        if time.monotonic() - began > _SEEN_WITHIN_S:
            raise CalprobeError(
                f"{run.absolute()} on {socket.gethostname()} is not the folder of that name on {first.host}, "
                "where the first process scores\nname a folder with --out that all machines share"
            )
        time.sleep(_POLL_S)
