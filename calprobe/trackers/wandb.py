"""Weights & Biases: a run each, offline too; figures of a training also join the run that its trainer has open."""

from __future__ import annotations

import netrc
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import wandb

from calprobe.errors import CalprobeError
from calprobe.trackers.tracker import Place, TrackedRun

_STEP = "train/global_step"  # the axis that transformers gives the figures of its trainer
# Nothing on the terminal, and nothing of this machine: its metrics, paths and names are no property of the run.
_SETTINGS = {
    "silent": True,
    "console": "off",
    "disable_git": True,
    "disable_code": True,
    "init_timeout": 30.0,
    "x_disable_stats": True,
    "x_disable_meta": True,
    "x_disable_machine_info": True,
    "host": "",
    "x_save_requirements": False,
}


class Wandb:
    """See `Tracker`. WANDB_MODE, WANDB_DIR, WANDB_ENTITY and the login are W&B's own."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._run: Any = None
        self._joined = False

    def begin(self, run: TrackedRun) -> None:
        """See `Tracker`; raises CalprobeError without a login, for which W&B would ask on the terminal."""
        self._joined = self._place.join and wandb.run is not None
        if self._joined:
            self._run = wandb.run
            own = {f"{run.name}/{key}": value for key, value in run.configuration.items()}
            self._run.config.update(own, allow_val_change=True)
            return
        if _lacks_login():
            raise CalprobeError("there is no login")
        self._run = wandb.init(
            project=self._place.project,
            id=run.id,
            name=run.name,
            config=dict(run.configuration),
            resume="allow",
            reinit="create_new",
            settings=wandb.Settings(**_SETTINGS),
        )

    def log(self, figures: Mapping[str, float], step: int) -> None:
        """See `Tracker`."""
        if self._joined:  # its steps count something else
            self._run.log({**figures, _STEP: step})
        else:
            self._run.log(dict(figures), step=step)

    def end(self) -> None:
        """See `Tracker`."""
        if not self._joined:
            self._run.finish()


def _lacks_login() -> bool:
    settings = wandb.setup().settings
    if settings.mode in ("offline", "dryrun", "disabled") or settings.api_key or settings.identity_token_file:
        return False
    with suppress(OSError, netrc.NetrcParseError):
        return netrc.netrc().authenticators(urlsplit(settings.base_url).hostname or "") is None
    return True
