"""Calibration maps in a file: fitted on all facts of one run, to be used on another."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NoReturn, Self, get_args

from calprobe.errors import DataMissingError, ProbeFormatError, UsageError
from calprobe.messages import shown
from calprobe.metrics.calibration_map import CalibrationMap
from calprobe.words import Recalibration

WHAT = "calprobe calibration maps"


@dataclass(frozen=True, slots=True)
class FittedOn:
    """What maps were fitted on, as far as it has to agree with what they are used on."""

    model: str  # without folders
    weights_fingerprint: str | None
    probe: str
    probe_fingerprint: str | None
    relations: int
    instances: int
    reduction: str
    compat: str | None

    def described(self) -> str:
        """gpt2 on BEAR, 7,731 instances in 60 relations."""
        return f"{self.model} on {self.probe}, {self.instances:,} instances in {self.relations:,} relations"

    def same_source(self, other: Self) -> bool:
        """Whether both are of one model and one probe, as far as fingerprints say."""
        mine = (self.weights_fingerprint or self.model, self.probe_fingerprint or self.probe)
        return mine == (other.weights_fingerprint or other.model, other.probe_fingerprint or other.probe)


@dataclass(frozen=True, slots=True, eq=False)
class CalibrationFile:
    """Maps of one method by estimator, and what they were fitted on."""

    file: str  # the last part of its path
    method: Recalibration
    fitted_on: FittedOn
    maps: Mapping[str, CalibrationMap]

    def to_json(self) -> dict[str, Any]:
        """The object in the file, which `read_calibration` reads."""
        return {
            "what": WHAT,
            "method": self.method,
            "fitted_on": asdict(self.fitted_on),
            "maps": {name: calibration_map.to_json() for name, calibration_map in self.maps.items()},
        }

    def text(self) -> str:
        """The text of the file."""
        return json.dumps(self.to_json(), indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def read_calibration(named: str) -> CalibrationFile:
    """The maps in a file that `report --save-maps` wrote.

    Raises:
        DataMissingError: there is no such file.
        ProbeFormatError: it has something else in it.
    """
    path = Path(named)
    if not path.is_file():
        raise DataMissingError(
            f"{named}: no such file; write one with `calprobe report RUN --recalibrate .. --save-maps`"
        )
    try:
        data = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        _fail(named, str(error))
    if not isinstance(data, dict) or data.get("what") != WHAT or data.get("method") not in get_args(Recalibration):
        _fail(named, f'has no "what": "{WHAT}", or no method that is known')
    try:
        maps = {str(name): CalibrationMap.from_json(record) for name, record in data["maps"].items()}
        return CalibrationFile(path.name, data["method"], FittedOn(**data["fitted_on"]), maps)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        _fail(named, f"{type(error).__name__}: {error}")


def _fail(named: str, why: str) -> NoReturn:
    raise ProbeFormatError(f"{shown(named)}: not a file of calibration maps ({why}); write one with --save-maps")


def check_same_scores(given: FittedOn, own: FittedOn, file: str) -> None:
    """Raise UsageError where maps are of confidences that were computed from scores in another way."""
    for option, theirs, mine in (
        ("--reduction", given.reduction, own.reduction),
        ("--compat", given.compat, own.compat),
    ):
        if theirs != mine:
            raise UsageError(
                f"{file}: its maps were fitted with {option} {theirs or 'unset'}, this report has {mine or 'unset'}; "
                f"use the same"
            )
