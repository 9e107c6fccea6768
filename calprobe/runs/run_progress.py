"""What a run has cost so far: a file for each worker, beside the manifest, which is written once.

Each worker writes its own `progress/WORKER.json`, atomically; readers add the files up.
"""

from __future__ import annotations

import json
import logging
import re
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, astuple, dataclass, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any, get_args

from calprobe.messages import reason
from calprobe.runs import atomic
from calprobe.runs.decode import DecodeError, decode
from calprobe.words import ScoringPath

log = logging.getLogger(__name__)

FOLDER = "progress"
_FORMAT, _CHECKSUM = "calprobe_progress", "checksum"
_NAME = re.compile(r"(0|[1-9][0-9]{0,8})\.json")


@dataclass(frozen=True, slots=True)
class Progress:
    """What a run, or one worker of it, has cost so far, over all resumes. A sum of workers is the run's."""

    load_s: float = 0.0
    score_s: float = 0.0
    pieces: int = 0
    statements: int = 0
    tokens: int = 0
    wall_s: float = 0.0  # of scoring, on the clock: only worker 0 counts it
    processes: int = 0  # at once, at most; 0: not known
    batch_tokens: int | None = None  # the smallest batch budget in force; None: not known
    first_batch_tokens: int | None = None  # the run's first budget, where batches became smaller since
    later_path: ScoringPath | None = None  # with which the run goes on where the manifest's failed
    later_by_torch: tuple[str, ...] = ()  # parts (layers, head) that torch has taken over since the run began

    def __add__(self, other: Progress) -> Progress:
        return Progress(
            load_s=self.load_s + other.load_s,
            score_s=self.score_s + other.score_s,
            pieces=self.pieces + other.pieces,
            statements=self.statements + other.statements,
            tokens=self.tokens + other.tokens,
            wall_s=self.wall_s + other.wall_s,
            processes=max(self.processes, other.processes),
            batch_tokens=_of_known(min, self.batch_tokens, other.batch_tokens),
            first_batch_tokens=_of_known(max, self.first_batch_tokens, other.first_batch_tokens),
            later_path=_plainest(self.later_path, other.later_path),
            later_by_torch=tuple(sorted({*self.later_by_torch, *other.later_by_torch})),
        )

    @property
    def counted(self) -> bool:
        """Whether its work was done and counted here: an import has statements, and neither tokens nor seconds."""
        return self.tokens > 0

    def since(self, began_with: int | None) -> Progress:
        """The same of a run that began with that batch budget: fills in which budget is in force, and the first one."""
        budget = _of_known(min, self.batch_tokens, began_with)
        became_smaller = began_with is not None and budget is not None and budget < began_with
        first = _of_known(max, began_with, self.first_batch_tokens) if became_smaller else self.first_batch_tokens
        return replace(self, batch_tokens=budget, first_batch_tokens=first)


NOTHING = Progress()


def total(progress: Iterable[Progress]) -> Progress:
    """The sum; nothing spent if there is none."""
    return reduce(add, progress, NOTHING)


def write_progress(run: Path, worker: int, progress: Progress) -> None:
    """Write `progress/WORKER.json` in the run folder, atomically and durably."""
    (run / FOLDER).mkdir(exist_ok=True)
    fields = asdict(progress)
    text = json.dumps({_FORMAT: 1} | fields | {_CHECKSUM: _checksum(fields)}, indent=1)
    atomic.write_text(progress_path(run, worker), text + "\n")


def read_worker(run: Path, worker: int) -> Progress:
    """What that worker has recorded; nothing spent if it has not, or its file is damaged, which the log says."""
    path = progress_path(run, worker)
    if not path.is_file():  # a pipe would be waited for without end
        return NOTHING
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(data, dict) or data.pop(_FORMAT, None) != 1:
            raise DecodeError("not what calprobe writes")
        if data.pop(_CHECKSUM, None) != _checksum(data):
            raise DecodeError("its checksum is wrong")
        progress = decode(Progress, data)
        if (
            min(value for value in astuple(progress) if isinstance(value, int | float)) < 0
            or progress.batch_tokens == 0
        ):
            raise DecodeError("a number below what it counts")
    except (OSError, ValueError, RecursionError) as error:
        why = reason(error) if isinstance(error, OSError) else str(error)
        log.warning("%s: %.100s; its times and counts are left out", path, why)
        return NOTHING
    return progress


def read_progress(run: Path) -> Progress:
    """What all workers have recorded, added up."""
    folder = run / FOLDER
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    return total(read_worker(run, int(match[1])) for match in map(_NAME.fullmatch, names) if match)


def progress_path(run: Path, worker: int) -> Path:
    """The file of that worker."""
    return run / FOLDER / f"{worker}.json"


def _checksum(fields: Mapping[str, Any]) -> str:
    """CRC-32 (hex) of the fields, in any order."""
    return f"{zlib.crc32(json.dumps(fields, sort_keys=True).encode()):08x}"


def _plainest(first: ScoringPath | None, second: ScoringPath | None) -> ScoringPath | None:
    paths = [path for path in get_args(ScoringPath) if path in (first, second)]
    return paths[-1] if paths else None


def _of_known(choose: Callable[[list[int]], int], first: int | None, second: int | None) -> int | None:
    values = [value for value in (first, second) if value is not None]
    return choose(values) if values else None
