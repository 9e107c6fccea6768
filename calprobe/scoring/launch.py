"""How this process was started: alone, or as one of several by a launcher, each with a device of its own.

Several processes must see one run folder; each machine may have a disk of its own under that name.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import torch

from calprobe.errors import CalprobeError, UsageError
from calprobe.models import LoadOptions
from calprobe.models.libraries import first_line
from calprobe.runs.lock import Owner, read_owner
from calprobe.scoring.processes import Processes, Stopped, Store

_POLL_S = 0.2
# NFS remembers for up to a minute that a file was not there (acdirmax).
_SEEN_WITHIN_S = 65.0


def launched() -> tuple[int, int]:
    """Rank and number of processes, as torchrun and `accelerate launch` say it in the environment; (0, 1) otherwise."""
    rank, size = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
    return (int(rank), int(size)) if rank.isdigit() and size.isdigit() and int(size) > 1 else (0, 1)


def processes_of_launch(options: LoadOptions) -> tuple[Processes, LoadOptions]:
    """The processes that were started together, and how this one loads its model: each GPU process on a GPU of its own.

    Raises UsageError for a placement that all processes would share, or if the machine has fewer GPUs than processes.
    """
    rank, size = launched()
    if size == 1:
        return Processes(), options
    try:
        _check_placement(options)
    except UsageError as error:
        if rank == 0:
            raise
        raise Stopped(0, error.exit_code) from None  # the first says the same
    on_cpu = options.device == "cpu" or (options.device == "auto" and not torch.cuda.is_available())
    if on_cpu:
        return Processes(rank, size, _next_store(rank)), replace(options, device="cpu")
    if (local := int(os.environ.get("LOCAL_RANK", "0"))) >= torch.cuda.device_count():
        count = torch.cuda.device_count()
        raise UsageError(f"process {rank}: torch sees {count} GPU(s) here, and this is process {local + 1} on them")
    torch.cuda.set_device(local)
    return Processes(rank, size, _next_store(rank)), replace(options, device=f"cuda:{local}")


def _check_placement(options: LoadOptions) -> None:
    if options.device_map is not None:
        raise UsageError(
            f"--device-map {options.device_map}: spreads one model over all GPUs, and each process would do so\n"
            "start a single process, or leave the option out: each process then has a GPU and a model of its own"
        )
    if options.device.startswith("cuda:"):
        raise UsageError(f"--device {options.device}: all processes would share it; leave the option out")


def _next_store(rank: int) -> Store:
    """Keys of this run's own: a script may score several, one after another, in the same order in every process."""
    from torch.distributed.distributed_c10d import PrefixStore

    base = PrefixStore("calprobe", _store())
    return PrefixStore(f"run {base.add(f'runs of {rank}', 1)}", base)


@cache  # the first process's store may be the one that all others speak to, and lives as long as the process
def _store() -> Any:
    """The launcher's store, on a connection of our own.

    No process group is asked for: gloo's connects every process with every other, and hangs where a machine's own name
    leads to its loopback address.
    """
    from torch.distributed.rendezvous import rendezvous

    try:
        store, _, _ = next(rendezvous("env://"))
    except (ValueError, RuntimeError) as error:  # a variable is missing; torch's errors of the network
        raise CalprobeError(
            f"RANK and WORLD_SIZE say that this is one of several processes; they cannot meet: {first_line(error)}\n"
            "start them with torchrun or accelerate launch; for one process alone unset both"
        ) from error
    return store


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
