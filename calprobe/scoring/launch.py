"""How this process was started: alone, or by a launcher as one of several workers, each with its own device.

All workers must see one run folder; the same path may be a different disk on another machine.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import torch

from calprobe.errors import CalprobeError, UsageError
from calprobe.models import LoadOptions
from calprobe.models.libraries import first_line
from calprobe.models.unseen_card import no_card_here
from calprobe.runs.lock import Owner, read_owner
from calprobe.scoring.workers import Stopped, Store, Workers

_POLL_S = 0.2
# NFS caches the absence of a file for up to a minute (acdirmax).
_SEEN_WITHIN_S = 65.0


def launched() -> tuple[int, int]:
    """Rank and number of processes, from the environment variables of torchrun and `accelerate launch`; else (0, 1)."""
    rank, size = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
    return (int(rank), int(size)) if rank.isdigit() and size.isdigit() and int(size) > 1 else (0, 1)


def workers_of_launch(options: LoadOptions) -> tuple[Workers, LoadOptions]:
    """This process as a worker of its launch, and how it loads its model: each GPU process on its own GPU.

    Raises UsageError for a device that all processes would share, for a GPU that was asked for and is not there, if the
    machine has fewer GPUs than processes, if two processes have one GPU, and if only some processes have one.
    """
    rank, size = launched()
    if size == 1:
        return Workers(), options
    try:
        _check_placement(options)
    except UsageError as error:
        if rank == 0:
            raise
        raise Stopped(0, error.exit_code) from None  # the first process prints the error
    try:
        card = _own_card(rank, options.device)
    except UsageError as error:
        with suppress(CalprobeError):  # the others cannot be reached; this error says more
            Workers(rank, size, _next_store(rank)).leave(error)
        raise
    if card is not None:
        torch.cuda.set_device(card)  # before the store is opened, so that no process has a context on another's GPU
    store = _next_store(rank)
    workers = Workers(rank, size, store)
    try:
        _check_cards(store, rank, card)
    except UsageError as error:
        workers.leave(error)
        raise
    if card is not None:
        return workers, replace(options, device=f"cuda:{card}")
    # The first keeps `auto`, and says so where there is a card that torch does not compute on; once is enough.
    return workers, options if rank == 0 else replace(options, device="cpu")


def _own_card(rank: int, device: str) -> int | None:
    """The number of this process's GPU among those that it sees; None for the CPU."""
    if device == "cpu":
        return None
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if not count and device == "auto":
        return None
    if not count:
        raise UsageError(f"process {rank}: {no_card_here()}")
    if count == 1:  # perhaps one of its own, by CUDA_VISIBLE_DEVICES: `_check_cards` looks whether it is
        return 0
    local = next((os.environ[name] for name in _LOCAL if os.environ.get(name, "").isdigit()), None)
    if local is None:
        raise UsageError(
            f"process {rank}: torch sees {count} GPUs here, and neither {' nor '.join(_LOCAL)} says which is this"
            " process's\nstart the processes with torchrun or accelerate launch, or show each one GPU with"
            " CUDA_VISIBLE_DEVICES"
        )
    if int(local) >= count:
        raise UsageError(
            f"process {rank}: torch sees {count} GPU(s) here, but this is process {int(local) + 1} on this machine"
        )
    return int(local)


# Which process of its machine a process is, from 0: torchrun and accelerate launch say the one, srun says the other.
_LOCAL = ("LOCAL_RANK", "SLURM_LOCALID")


def _check_cards(store: Store, rank: int, card: int | None) -> None:
    """Raise UsageError if another process has this one's GPU, or if one has a GPU and the other has none.

    Each process says what it has before it looks, so that at least the later of two sees the other, and stops the run.
    """
    own, other = ("cpu", "gpu") if card is None else ("gpu", "cpu")
    store.add(f"on {own}", 1)
    if store.add(f"on {other}", 0):
        has = "no GPU, but other processes have one" if card is None else "a GPU, but other processes have none"
        raise UsageError(f"process {rank}: torch sees {has}\ngive --device cpu, or a GPU to each process")
    if card is not None and store.add(f"on {socket.gethostname()} {_identity_of(card)}", 1) > 1:
        raise UsageError(
            f"process {rank}: another process has its GPU too ({torch.cuda.get_device_name(card)})\n"
            "start as many processes as there are GPUs, and show each its own"
        )


def _identity_of(card: int) -> str:
    """What tells a GPU from the others of its machine, whatever number this process has for it."""
    known = torch.cuda.get_device_properties(card)
    visible = f"{os.environ.get('CUDA_VISIBLE_DEVICES', '')} {card}"
    return str(getattr(known, "uuid", None) or getattr(known, "pci_bus_id", None) or visible)


def _check_placement(options: LoadOptions) -> None:
    if options.device_map is not None:
        raise UsageError(
            f"--device-map {options.device_map}: spreads one model over all GPUs, in each process\n"
            "start a single process, or leave the option out: each process then loads the model on its own GPU"
        )
    if options.device.startswith("cuda:"):
        raise UsageError(f"--device {options.device}: all processes would share it; leave the option out")


def _next_store(rank: int) -> Store:
    """A store with separate keys for each run; a script may score several, in the same order in every process."""
    from torch.distributed.distributed_c10d import PrefixStore

    base = PrefixStore("calprobe", _store())
    return PrefixStore(f"run {base.add(f'runs of {rank}', 1)}", base)


@cache  # the first process's store may serve all others, so it lives as long as the process
def _store() -> Any:
    """The launcher's store, over a separate connection.

    There is no process group: gloo connects all processes with each other, and hangs on a machine with a host name
    that resolves to the loopback address.
    """
    from torch.distributed.rendezvous import rendezvous

    try:
        store, _, _ = next(rendezvous("env://"))
    except (ValueError, RuntimeError) as error:  # a variable is missing; torch's errors of the network
        raise CalprobeError(
            f"RANK and WORLD_SIZE are set for several processes, which cannot connect: {first_line(error)}\n"
            "start them with torchrun or accelerate launch; for a single process, unset both"
        ) from error
    return store


def wait_until_seen(run: Path, first: Owner, check: Callable[[], None]) -> None:
    """Wait until the folder records that process as its owner, as on the machine of the first process.

    Args:
        run: the path of the folder for this process.
        first: the owner that the first process has recorded.
        check: called repeatedly; raises if waiting is useless.
    Raises:
        CalprobeError: no such record within a minute: it is not the first process's folder.
    """
    began = time.monotonic()
    while read_owner(run) != first:
        check()
        if time.monotonic() - began > _SEEN_WITHIN_S:
            raise CalprobeError(
                f"{run.absolute()} on {socket.gethostname()} is not the folder of that name on {first.host}, "
                "where the first process writes\ngive a folder with --out that all machines share"
            )
        time.sleep(_POLL_S)
