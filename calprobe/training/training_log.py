"""The figures of a training in trackers: in the run that its trainer has open there, else in one of their own."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from calprobe.presentation.tracked import configuration
from calprobe.runs import Manifest
from calprobe.trackers import Place, TrackedRun, open_trackers


class TrainingLog:
    """Logs evaluations under the trainer's own steps; the first one opens or joins the run.

    Args:
        names: trackers, as a sequence or a text with commas.
        project: where trackers put a run of their own.
        folder: of event files.
    Raises:
        UsageError: an unknown tracker. CalprobeError: one that is not installed.
    """

    def __init__(self, names: Sequence[str] | str, project: str, folder: Path) -> None:
        given = names.split(",") if isinstance(names, str) else names
        wanted = [name.strip() for name in given if name.strip()]
        self._trackers = open_trackers(wanted, Place(project, folder, join=True), "Training goes on without it")
        self._is_open = False

    @property
    def names(self) -> tuple[str, ...]:
        """The trackers that have not failed."""
        return self._trackers.working

    def log(self, figures: Mapping[str, float], step: int, manifest: Manifest, told: Collection[str]) -> None:
        """Give figures, named as a trainer logs them, to all trackers but those that were told by the trainer."""
        names = [name for name in self.names if name not in told]
        if not names:
            return
        if not self._is_open:
            model = manifest.model.name.rpartition("@")[0]  # without the step
            of_run = {**configuration(manifest), "model": model}
            self._trackers.begin(TrackedRun(secrets.token_hex(8), f"{model}/{manifest.probe.name}", of_run), names)
            self._is_open = True
        self._trackers.log({name.replace("eval_", "eval/", 1): value for name, value in figures.items()}, step, names)

    def end(self) -> None:
        """Close the run that was opened."""
        if self._is_open:
            self._trackers.end()
        self._is_open = False
