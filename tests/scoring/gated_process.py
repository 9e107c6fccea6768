"""The command line for several processes of one run, none of which scores everything alone."""

from __future__ import annotations

import socket

# The first process waits for the other's first piece, so that it does not score everything before
# the other has imported torch.
PROCESS = """
import os, sys, time
from pathlib import Path
from calprobe.cli import main
from calprobe.runs.folder import RunFolder
rank, gate = int(os.environ["RANK"]), Path(os.environ["GATE"])
write_piece = RunFolder.write_piece
def write(folder, piece):
    end = time.monotonic() + 120
    while rank == 0 and not gate.exists() and time.monotonic() < end:
        time.sleep(0.05)
    write_piece(folder, piece)
    if rank:
        gate.touch()
RunFolder.write_piece = write
main(sys.argv[1:])
"""


def free_port() -> int:
    """A port without a listener; 0 would do, but accelerate before 1.7 uses it as it is."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
