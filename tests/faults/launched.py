"""The command line in each of several processes, with something amiss in one when it writes its first piece."""

from __future__ import annotations

import os
import select
import signal
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from children import LONGEST_S
from forked_launch import launch
from torch.distributed.elastic.multiprocessing import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

from calprobe.errors import CalprobeError
from calprobe.runs.folder import RunFolder


def launch_command(command: Callable[[], Any], place: Path, fault: dict[str, Any]) -> int:
    """The launcher's exit code. `fault` holds the number of processes, and what is `amiss` in each but the first.

    The first process waits for the first piece of another, so that it does not score everything before that has begun.
    Where something is amiss it waits for the launcher's signal too, so that it does not score the rest before that.
    """

    def process() -> None:
        _meet(int(os.environ["RANK"]), fault.get("amiss", ""), place / "gate")
        if code := command():
            raise SystemExit(code)

    try:
        launch(process, fault["processes"], place)
    except (ChildFailedError, SignalException):
        traceback.print_exc()  # as torchrun does
        return 1
    return 0


def _meet(rank: int, amiss: str, gate: Path) -> None:
    write_piece = RunFolder.write_piece
    heard, sent = os.pipe()
    os.set_blocking(sent, False)
    signal.set_wakeup_fd(sent)  # any signal that comes is readable at the other end from then on

    def write(folder: RunFolder, piece: Any) -> None:
        if rank == 0:
            end = time.monotonic() + LONGEST_S
            while not gate.exists() and time.monotonic() < end:
                time.sleep(0.05)
            if amiss:
                select.select([heard], [], [], LONGEST_S)
        write_piece(folder, piece)
        if rank:
            gate.touch()
            if amiss == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if amiss == "fail":
                raise CalprobeError("the disk is full")

    RunFolder.write_piece = write  # type: ignore[method-assign]
