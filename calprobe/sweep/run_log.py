"""A sweep's runs in trackers: each once, in a thread beside the sweep, so that no job waits for a server."""

from __future__ import annotations

import logging
import queue
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

from calprobe.errors import CalprobeError
from calprobe.messages import counted, reason
from calprobe.presentation.tracked import configuration, figures, tracked_id
from calprobe.runs import open_run
from calprobe.sweep.definition import Job
from calprobe.sweep.json_lines import add_line, read_lines
from calprobe.trackers import TrackedRun, Trackers

log = logging.getLogger(__name__)

FILE_NAME = "logged.jsonl"

Entry = tuple[str, str, str]  # tracker, project, job

_SECONDS_BETWEEN_LOOKS = 0.2  # for Ctrl-C, while the last runs are logged
_SECONDS_UNSAID = 3.0  # of waiting for them


class RunLog:
    """Logs complete runs while the block lasts, and the rest of them at its end.

    What each tracker has is kept in the sweep's folder, so that no run is logged twice. If the block is left by an
    error or by Ctrl-C, nothing is waited for: the next call logs what is missing.
    """

    def __init__(self, out: Path, project: str, trackers: Trackers) -> None:
        """Raises CalprobeError for a damaged record of what was logged."""
        self._path, self._project, self._trackers = out / FILE_NAME, project, trackers
        self._logged = _read(self._path)  # the id of the run that each has
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="run log", daemon=True)
        self._count = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is not None:
            return
        self._jobs.put(None)
        self._thread.join(_SECONDS_UNSAID)
        if self._thread.is_alive():
            names = ", ".join(self._trackers.working)
            log.info("waiting for %s; what Ctrl-C leaves over, the same command logs", names)
        while self._thread.is_alive():
            self._thread.join(_SECONDS_BETWEEN_LOOKS)
        if self._count:
            names = ", ".join(self._trackers.working)
            log.info("logged %s: %s, project %s", counted(self._count, "run"), names, self._project)

    def add(self, job: Job) -> None:
        """Log the run of a job that is complete, unless every tracker has it; returns at once."""
        self._jobs.put(job)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                self._log(job)
            except Exception as error:  # noqa: BLE001 - what only watches a sweep stops none
                log.warning("%s is not logged: %s", job.name, str(error) or type(error).__name__)

    def _log(self, job: Job) -> None:
        run = open_run(job.out)
        tracked = TrackedRun(tracked_id(run.manifest, job.name), job.name, configuration(run.manifest))
        names = self._trackers.working
        lacking = [name for name in names if self._logged.get((name, self._project, job.name)) != tracked.id]
        if not lacking or run.partial:
            return
        results = figures(run)
        begun = self._trackers.begin(tracked, lacking)
        done = self._trackers.end(self._trackers.log(results, 0, begun))
        self._count += bool(done)
        for name in done:
            self._note((name, self._project, job.name), tracked.id)

    def _note(self, entry: Entry, run: str) -> None:
        self._logged[entry] = run
        tracker, project, job = entry
        add_line(self._path, {"tracker": tracker, "project": project, "job": job, "run": run})


def _read(path: Path) -> dict[Entry, str]:
    try:
        entries = read_lines(path)
        return {(entry["tracker"], entry["project"], entry["job"]): entry["run"] for entry in entries}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        problem = (
            reason(error) if isinstance(error, OSError) else "not the record of logged runs, or of another version"
        )
        raise CalprobeError(f"{path}: {problem}; delete it, and all runs are logged anew") from error
