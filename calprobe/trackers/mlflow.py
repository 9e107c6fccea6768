"""MLflow: a run each, in the store or on the server that MLFLOW_TRACKING_URI names."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

import mlflow
from mlflow.entities import Metric, Param

from calprobe.trackers.tracker import Place, TrackedRun

_FORBIDDEN = re.compile(r"[^\w\-. :/]", re.ASCII)  # in names of metrics and parameters
_MOST_PARAMETERS, _MOST_METRICS = 100, 1000  # of one request
_LONGEST = 500  # characters of a parameter, in the oldest stores


class Mlflow:
    """See `Tracker`. MLFLOW_TRACKING_URI and the login are MLflow's own."""

    def __init__(self, place: Place) -> None:
        # The library's own seven attempts take minutes where no server answers.
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "3")
        self._place = place
        self._client: Any = None
        self._run_id = ""
        self._joined = False

    def begin(self, run: TrackedRun) -> None:
        """See `Tracker`."""
        self._client = self._client or mlflow.MlflowClient()
        open_run = mlflow.active_run() if self._place.join else None
        self._joined = open_run is not None
        if open_run is not None:
            self._run_id = open_run.info.run_id
        else:
            created = self._client.create_run(
                self._experiment(), run_name=run.name, tags={"calprobe_run": run.id, "mlflow.source.name": "calprobe"}
            )
            self._run_id = created.info.run_id
        prefix = f"{run.name}/" if self._joined else ""  # several probes of a training share a run
        parameters = [
            Param(_FORBIDDEN.sub("_", f"{prefix}{key}"), str(value)[:_LONGEST])
            for key, value in run.configuration.items()
        ]
        for some in _parts(parameters, _MOST_PARAMETERS):
            self._client.log_batch(self._run_id, params=some)

    def log(self, figures: Mapping[str, float], step: int) -> None:
        """See `Tracker`."""
        now = int(time.time() * 1000)
        metrics = [Metric(_FORBIDDEN.sub("_", name), value, now, step) for name, value in figures.items()]
        for some in _parts(metrics, _MOST_METRICS):
            self._client.log_batch(self._run_id, metrics=some)

    def end(self) -> None:
        """See `Tracker`."""
        if not self._joined:
            self._client.set_terminated(self._run_id)

    def _experiment(self) -> str:
        found = self._client.get_experiment_by_name(self._place.project)
        return str(found.experiment_id if found else self._client.create_experiment(self._place.project))


def _parts(items: Sequence[Any], most: int) -> list[list[Any]]:
    return [list(items[start : start + most]) for start in range(0, len(items), most)]
