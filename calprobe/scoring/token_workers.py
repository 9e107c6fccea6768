"""Statements become tokens in other processes while a card computes: Python's lock is then the card's thread's alone.

Started for long runs on a card with cores to spare. The rows are the same, bit for bit, as those made here; a worker
that ends early leaves its work to this process.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from queue import SimpleQueue

from calprobe.messages import reason
from calprobe.models import LoadedModel
from calprobe.models.token_server import Request, Served, from_frame, read_frame, write_frame
from calprobe.planning.token_rows import TokenRows
from calprobe.probes import Relation
from calprobe.statements import Template
from calprobe.words import WordSplit

log = logging.getLogger(__name__)

_COMMAND = (sys.executable, "-P", "-m", "calprobe.models.token_server")
MOST_WORKERS = 4
_CORES_A_WORKER = 4  # one for its Python, the others for its tokenizer's threads
LEAST_STATEMENTS = 50_000  # a second of work: less than a worker takes to start


def worker_count(model: LoadedModel, n_statements: int) -> int:
    """Workers that pay for a run of so many statements: none beside a CPU, which the model itself fills."""
    if model.device.type != "cuda" or n_statements < LEAST_STATEMENTS:
        return 0
    return min(MOST_WORKERS, usable_cores() // _CORES_A_WORKER)


def usable_cores() -> int:
    """Cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class TokenWorkers:
    """Processes that make token rows; any thread may ask, and waits for one that is free."""

    def __init__(self, served: Served, count: int) -> None:
        """Start them; they get ready while the caller goes on. Raises OSError where the system starts none."""
        self.workers: list[_Worker] = []
        try:
            for _ in range(count):
                self.workers.append(_Worker(served, count))
        except OSError:
            self.close()
            raise
        self._free: SimpleQueue[_Worker | None] = SimpleQueue()
        for worker in self.workers:
            self._free.put(worker)
        self._is_first = True
        self._has_warned = False

    def rows(self, request: Request) -> Sequence[TokenRows] | None:
        """The rows of each piece of the request; None if the caller has to make them.

        That is if no worker is left, or a statement cannot be taken; and once at the start, so that the card need not
        wait until workers are ready.
        """
        if self._is_first:
            self._is_first = False
            return None
        worker = self._free.get()
        if worker is None:
            self._free.put(None)
            return None
        try:
            found = worker.rows(request)
        except (OSError, EOFError, ValueError):
            self._free.put(None)
            self._warn(worker)
            return None
        self._free.put(worker)
        return found

    def rows_of(
        self, word_split: WordSplit | None, pieces: Sequence[tuple[Relation, Template]]
    ) -> Sequence[TokenRows] | None:
        """As `rows`, of relations under templates."""
        return self.rows(Request(tuple((relation, template.text) for relation, template in pieces), word_split))

    def close(self) -> None:
        """End them, at once; nobody may be waiting for one."""
        for worker in self.workers:
            worker.end()

    def _warn(self, worker: _Worker) -> None:
        code = worker.end()
        if not self._has_warned:
            self._has_warned = True
            log.warning("a process that makes tokens has ended (exit code %d); its work is done here, slower", code)


class _Worker:
    """One process."""

    def __init__(self, served: Served, count: int) -> None:
        threads = str(max(1, usable_cores() // (count + 1)))
        self._served: Served | None = served  # None: sent
        self.process = subprocess.Popen(
            _COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "RAYON_NUM_THREADS": threads, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "true"},
            start_new_session=True,  # Ctrl-C is for the run, which finishes its group
        )

    def rows(self, request: Request) -> Sequence[TokenRows] | None:
        """As `TokenWorkers.rows`. Raises OSError, EOFError or ValueError where the process has ended."""
        requests, answers = self.process.stdin, self.process.stdout
        if requests is None or answers is None:
            return None
        if self._served is not None:
            write_frame(requests, self._served.as_json())
            self._served = None
        write_frame(requests, request.as_json())
        frame = read_frame(answers)
        return None if frame[0] is None else from_frame(frame)

    def end(self) -> int:
        """End the process; its exit code."""
        if self.process.poll() is None:
            self.process.kill()
        code = self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        return code


@contextmanager
def token_workers(model: LoadedModel, count: int) -> Iterator[TokenWorkers | None]:
    """So many workers for the block; None if there are none, or if the model's tokenizer cannot be sent."""
    workers = _started(model, count)
    try:
        yield workers
    finally:
        if workers is not None:
            workers.close()


def _started(model: LoadedModel, count: int) -> TokenWorkers | None:
    served = Served.of(model) if count else None
    if served is None:
        return None
    try:
        return TokenWorkers(served, count)
    except OSError as error:  # too many processes, say
        log.warning("no process that makes tokens can be started: %s; its work is done here, slower", reason(error))
        return None
