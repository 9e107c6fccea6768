"""The trackers by name: each is imported when it is opened, and a missing package is named with its extra."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from calprobe.errors import CalprobeError, UsageError
from calprobe.messages import no_such
from calprobe.trackers.tracker import Place, Tracker, Trackers


class Entry(NamedTuple):
    """How a tracker is opened. Its name is that of its package, and of an extra of calprobe."""

    open: Callable[[Place], Tracker]
    advice: str  # where it fails


def _wandb(place: Place) -> Tracker:
    from calprobe.trackers.wandb import Wandb

    return Wandb(place)


def _trackio(place: Place) -> Tracker:
    from calprobe.trackers.trackio import Trackio

    return Trackio(place)


def _mlflow(place: Place) -> Tracker:
    from calprobe.trackers.mlflow import Mlflow

    return Mlflow(place)


def _tensorboard(place: Place) -> Tracker:
    from calprobe.trackers.tensorboard import TensorBoard

    return TensorBoard(place)


ENTRIES: Mapping[str, Entry] = {
    "wandb": Entry(_wandb, "run `wandb login`, or set WANDB_MODE=offline and send the runs by `wandb sync` later"),
    "trackio": Entry(_trackio, "see that TRACKIO_DIR can be written to, or that the server of TRACKIO_SERVER_URL runs"),
    "mlflow": Entry(_mlflow, "see that MLFLOW_TRACKING_URI is a store or server that can be reached"),
    "tensorboard": Entry(_tensorboard, "see that its folder can be written to"),
}
NAMES = tuple(ENTRIES)


def open_trackers(names: Sequence[str], place: Place, later: str) -> Trackers:
    """Trackers by name, without a run.

    Args:
        names: some of NAMES.
        place: where they put runs.
        later: see `Trackers`.
    Raises:
        UsageError: an unknown name. CalprobeError: a package that is not installed.
    """
    opened = {}
    for name in names:
        if name not in ENTRIES:
            raise UsageError(f"--log: {no_such(name, ENTRIES)}")
        try:
            opened[name] = ENTRIES[name].open(place)
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] != name:
                raise
            raise CalprobeError(f"--log {name} needs the package {name}: pip install 'calprobe[{name}]'") from error
    return Trackers(opened, {name: ENTRIES[name].advice for name in opened}, later)
