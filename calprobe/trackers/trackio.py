"""Trackio: runs in a database on this machine, or on a server or Space that TRACKIO_.. variables name."""

from __future__ import annotations

import io
from collections.abc import Mapping
from contextlib import redirect_stdout
from typing import Any

import trackio

from calprobe.trackers.tracker import Place, TrackedRun


class Trackio:
    """See `Tracker`. TRACKIO_DIR, TRACKIO_SPACE_ID and TRACKIO_SERVER_URL are Trackio's own."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._run: Any = None
        self._joined = False

    def begin(self, run: TrackedRun) -> None:
        """See `Tracker`."""
        open_run = trackio.context_vars.current_run.get()
        self._joined = self._place.join and open_run is not None
        if self._joined:
            self._run = open_run
            return
        with redirect_stdout(io.StringIO()):  # it greets on stdout, which has results alone
            self._run = trackio.init(
                project=self._place.project,
                name=run.name,
                config={**run.configuration, "calprobe_run": run.id},
                embed=False,
                auto_log_gpu=False,  # what this machine does while it logs is no property of the run
                auto_log_cpu=False,
            )

    def log(self, figures: Mapping[str, float], step: int) -> None:
        """See `Tracker`."""
        self._run.log(dict(figures), step=step)

    def end(self) -> None:
        """See `Tracker`."""
        if not self._joined:
            with redirect_stdout(io.StringIO()):
                trackio.finish()
