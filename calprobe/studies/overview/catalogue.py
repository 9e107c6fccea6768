"""The runs below a folder as a list shows them: state, headline, age and size, as far as they pass some filters."""

from __future__ import annotations

import fnmatch
import hashlib
import logging
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

from calprobe.cells.opening import open_run
from calprobe.errors import CalprobeError
from calprobe.messages import shortened
from calprobe.progress import is_terminal, steps
from calprobe.runs.decode import DecodeError, decode
from calprobe.runs.listing import FailedRun, ListedRun, RunList
from calprobe.runs.lock import read_owner
from calprobe.runs.remembered import Remembered
from calprobe.studies.overview.headlines import RunHeadline, headline_of
from calprobe.words import RunKind, RunOrder, RunState

log = logging.getLogger(__name__)

_KINDS: Mapping[str, RunKind] = {"score": "scored", "ask": "asked"}  # by task
REMEMBERED = "headlines.json"  # in the user's cache
# Files that change while a run does not: who writes to it, and what it has cost.
_NOT_OF_RESULTS = ("progress", ".lock", ".owner")


@dataclass(frozen=True, slots=True)
class CataloguedRun:
    """A run with what a list says of it; of a job that failed before it had a folder, that alone."""

    path: str
    run: ListedRun | None  # None: the folder has no run
    state: RunState
    why: str = ""  # who writes to it, or what failed
    bytes: int = 0  # of all files in the folder
    age_s: float | None = None  # since the run was created; None: not known
    headline: RunHeadline | None = None  # None: not asked for, or not to be computed
    failure: FailedRun | None = None

    @property
    def model(self) -> str:
        """As it was typed; empty where there is none."""
        return (self.run.model if self.run else self.failure.model if self.failure else None) or ""

    @property
    def of(self) -> str:
        """Probe or question sets."""
        return (self.run.probe if self.run else self.failure.probe if self.failure else None) or ""

    @property
    def kind(self) -> RunKind | None:
        """Whether answers were scored or asked for; None of another task."""
        task = self.run.task if self.run else self.failure.task if self.failure else ""
        return _KINDS.get(task)

    def to_json(self) -> dict[str, Any]:
        """What the manifest says, then what the list adds."""
        facts = {} if self.run is None else asdict(self.run) | {"complete": self.run.complete}
        named = {"path": self.path, "model": self.model or None, "probe": self.of or None}
        added = {"state": self.state, "why": self.why or None, "bytes": self.bytes, "age_s": self.age_s}
        return named | facts | added | {"headline": None if self.headline is None else asdict(self.headline)}


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The runs below a folder that pass the filters."""

    folder: str
    runs: tuple[CataloguedRun, ...]
    damaged: Mapping[str, str]  # by path, why the manifest cannot be read
    left_out: int = 0  # runs that the filters leave out
    with_headlines: bool = True

    def to_json(self) -> dict[str, Any]:
        """The object of `calprobe runs --json`."""
        damaged = [{"path": path, "error": error} for path, error in self.damaged.items()]
        return {"folder": self.folder, "runs": [run.to_json() for run in self.runs], "damaged": damaged}


@dataclass(frozen=True, slots=True)
class Filters:
    """Which runs are wanted; patterns are of file names (`*llama*`), or a part of the name, in any case."""

    model: str | None = None
    probe: str | None = None  # of scored runs
    questions: str | None = None  # of asked runs: any of their sets
    states: tuple[RunState, ...] = ()  # none: all
    kind: RunKind | None = None
    since_s: float | None = None  # created at most so many seconds ago

    def take(self, run: CataloguedRun) -> bool:
        """Whether the run passes."""
        return (
            (self.model is None or _matches(run.model, self.model))
            and (self.probe is None or (run.kind == "scored" and _matches(run.of, self.probe)))
            and (
                self.questions is None
                or (run.kind == "asked" and any(_matches(name, self.questions) for name in run.of.split(", ")))
            )
            and (not self.states or run.state in self.states)
            and (self.kind is None or run.kind == self.kind)
            and (self.since_s is None or (run.age_s is not None and run.age_s <= self.since_s))
        )


def catalogue(
    found: RunList,
    failures: Mapping[str, FailedRun],
    filters: Filters,
    order: RunOrder = "path",
    *,
    headlines: bool = True,
) -> Catalogue:
    """What a list shows of runs.

    Args:
        found: the runs of a folder.
        failures: of jobs of sweeps, by the folder of their run.
        filters: which are wanted; of the others no numbers are computed.
        order: what the list is sorted by; of numbers the largest first, of ages the youngest.
        headlines: whether accuracy and calibration error are wanted. They are read from the scores and replies of a
            run, and kept in the user's cache until its files change.
    """
    now = datetime.now(UTC)
    runs = [_catalogued(run, failures.get(run.path), now) for run in found.runs]
    paths = {run.path for run in found.runs} | found.damaged.keys()
    runs += [
        CataloguedRun(path, None, "failed", failure.said, failure=failure)
        for path, failure in failures.items()
        if path not in paths
    ]
    selected = [run for run in runs if filters.take(run)]
    files = {run.path: _files_of(Path(run.path)) for run in selected if run.run is not None}
    selected = [replace(run, bytes=files[run.path].bytes) if run.path in files else run for run in selected]
    if headlines:
        selected = _with_headlines(selected, {path: of_run.state for path, of_run in files.items()})
    selected.sort(key=lambda run: (*_place(run, order), run.path))
    return Catalogue(found.folder, tuple(selected), found.damaged, len(runs) - len(selected), headlines)


def _catalogued(run: ListedRun, failure: FailedRun | None, now: datetime) -> CataloguedRun:
    path = Path(run.path)
    owner = read_owner(path)
    state: RunState
    if owner is not None and (owner.runs or owner.is_elsewhere):
        state, why = "running", owner.shown
    elif run.all_failed:
        reason = failure.said if failure is not None else ""
        state, why = "failed", reason or "no request has a reply; report it for the reasons, ask again for the replies"
    elif run.complete:
        state, why = "complete", ""
    else:
        state, why = ("partial", "") if failure is None else ("failed", failure.said)
    return CataloguedRun(run.path, run, state, why, age_s=_age(run.created, now))


@dataclass(frozen=True, slots=True)
class _Files:
    """What the files of a run's folder say without being read."""

    bytes: int  # of all
    state: str  # SHA-256 (hex, its beginning) of names, sizes and times of what the run's numbers come from


def _files_of(folder: Path) -> _Files:
    files = sorted(_files(folder))
    of_results = [file for file in files if not file[0].startswith(_NOT_OF_RESULTS)]
    state = hashlib.sha256(repr(of_results).encode("utf-8", "backslashreplace")).hexdigest()[:16]
    return _Files(sum(size for _, size, _ in files), state)


def _files(folder: Path) -> Iterator[tuple[str, int, int]]:
    """Path below the folder, size and time of change of each file, in no order; what vanishes meanwhile is left out."""
    for place, _, names in os.walk(folder):
        for path in (Path(place, name) for name in names):
            with suppress(OSError):
                status = path.lstat()
                yield str(path.relative_to(folder)), status.st_size, status.st_mtime_ns


def _age(created: str, now: datetime) -> float | None:
    try:
        return max(0.0, (now - datetime.fromisoformat(created)).total_seconds())
    except (ValueError, TypeError):  # an import without a time, or with one of no zone
        return None


def _with_headlines(runs: Sequence[CataloguedRun], states: Mapping[str, str]) -> list[CataloguedRun]:
    """The runs with their numbers: those that are known of files in these states, then those that are to be computed.

    Args:
        runs: all that are listed.
        states: of the files of those that have a folder, by path.
    """
    store = Remembered.read(REMEMBERED)
    files = {run.path: states[run.path] for run in runs if run.run is not None and run.kind is not None}
    headlines = {path: _recalled(store, path, state) for path, state in files.items()}
    unknown = [path for path, headline in headlines.items() if headline is None]
    try:
        with steps(len(unknown), "numbers", "runs", quiet=not is_terminal(sys.stderr)) as work:
            for path in unknown:
                headlines[path] = _computed(Path(path))
                if (headline := headlines[path]) is not None:
                    store.keep(_key(path), {"files": files[path], "headline": asdict(headline)})
                work.step(path)
    finally:
        store.write(lambda path: Path(path).is_dir())  # what is known by now, also where the rest is interrupted
    return [replace(run, headline=headlines.get(run.path)) for run in runs]


def _recalled(store: Remembered, path: str, files: str) -> RunHeadline | None:
    """The headline of a run whose files are in that state; None where it is not known."""
    record = store.recall(_key(path))
    if not isinstance(record, Mapping) or record.get("files") != files:
        return None
    try:
        return decode(RunHeadline, record.get("headline"))
    except DecodeError:
        return None


def _key(path: str) -> str:
    return str(Path(path).resolve())


def _computed(path: Path) -> RunHeadline | None:
    try:
        return headline_of(open_run(path))
    except CalprobeError as error:
        log.warning("%s: no numbers: %s", path, shortened(str(error), 200))
        return None


def _place(run: CataloguedRun, order: RunOrder) -> tuple[bool, Any]:
    """What sorts by that order; what has no value comes last."""
    headline = run.headline
    value: Any = {
        "path": run.path,
        "model": run.model.lower(),
        "probe": run.of.lower(),
        "state": get_args(RunState).index(run.state),
        "accuracy": None if headline is None or headline.accuracy is None else -headline.accuracy,
        "ace": None if headline is None else headline.ace,
        "age": run.age_s,
        "size": -run.bytes,
    }[order]
    return value is None, "" if value is None else value


def _matches(name: str, pattern: str) -> bool:
    """Whether a name fits a pattern with `*`, `?` or `[..]`, or has the text anywhere.

    >>> _matches("Qwen/Qwen2.5-7B", "qwen"), _matches("gpt2", "gpt2*"), _matches("gpt2-xl", "gpt?")
    (True, True, False)
    """
    name, pattern = name.lower(), pattern.lower()
    return fnmatch.fnmatchcase(name, pattern) if any(sign in pattern for sign in "*?[") else pattern in name
