"""TensorBoard: event files, with the configurations side by side under HPARAMS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch.utils.tensorboard import SummaryWriter
from torch.utils.tensorboard.summary import hparams

from calprobe.trackers.tracker import Place, TrackedRun


class TensorBoard:
    """See `Tracker`. A run is a folder below FOLDER/PROJECT; one of that name that is there keeps its files."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._run: TrackedRun | None = None
        self._writer: SummaryWriter | None = None

    def begin(self, run: TrackedRun) -> None:
        """See `Tracker`; there is no open run to join."""
        folder = self._place.folder / self._place.project / run.name
        if folder.exists():
            folder = folder.with_name(f"{folder.name}-{run.id[:8]}")
        self._writer = SummaryWriter(str(folder))
        rows = [f"| {key} | {value} |" for key, value in run.configuration.items()]
        self._writer.add_text("configuration", "\n".join(["| | |", "|---|---|", *rows]))
        self._run = run

    def log(self, figures: Mapping[str, float], step: int) -> None:
        """See `Tracker`."""
        assert self._writer is not None
        if self._run is not None:
            writer: Any = self._writer.file_writer
            summaries: Any = hparams(dict(self._run.configuration), dict(figures))  # type: ignore[no-untyped-call]
            for summary in summaries:
                writer.add_summary(summary)
            self._run = None
        for name, value in figures.items():
            self._writer.add_scalar(name, value, step)

    def end(self) -> None:
        """See `Tracker`."""
        assert self._writer is not None
        self._writer.close()
