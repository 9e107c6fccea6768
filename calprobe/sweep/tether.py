"""Runs a module as `python -m` does, and ends soon after the process that started it.

    python -P tether.py MODULE WORDS..

A sweep that is killed, or a worker of Ray when its node or its driver is lost, ends without a word, and what it has
started would go on writing. So it holds one end of a pipe open, which is the standard input here; the pipe ends with
it. This file is run by its path, and imports nothing of the package before the pipe is watched.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading
import time

GRACE_S = 30  # from the interrupt, in which work is kept, to the end


def run(words: list[str]) -> None:
    """Run the module with its words as this process, which is interrupted when standard input closes."""
    held = os.dup(0)  # no child inherits it
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    # Ray blocks the signal in all that it starts.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=_end_with, args=(held,), daemon=True).start()
    sys.argv = words
    try:
        runpy.run_module(words[0], run_name="__main__", alter_sys=True)
    except KeyboardInterrupt:  # while the module is imported
        sys.exit(128 + signal.SIGINT)


def _end_with(pipe: int) -> None:
    while os.read(pipe, 1):
        pass
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(GRACE_S)
    os._exit(128 + signal.SIGINT)


if __name__ == "__main__":
    run(sys.argv[1:])
