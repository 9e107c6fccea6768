"""Calibration maps in a file: fitted on all facts of one run, to be used on another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self, get_args

from calprobe.cells.origin import Source
from calprobe.errors import UsageError
from calprobe.metrics.calibration_map import CalibrationMap
from calprobe.runs.written_file import WrittenFile
from calprobe.words import Recalibration

FILE = WrittenFile(
    "calprobe calibration maps",
    "calibration maps",
    "--save-maps",
    "calprobe report RUN --recalibrate .. --save-maps",
)


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
        return self.source == other.source

    @property
    def source(self) -> Source:
        """By fingerprints, by names where there are none."""
        return Source.of(self.weights_fingerprint, self.model, self.probe_fingerprint, self.probe)


@dataclass(frozen=True, slots=True, eq=False)
class CalibrationFile:
    """Maps of one method by estimator, and what they were fitted on."""

    file: str  # the last part of its path
    method: Recalibration
    fitted_on: FittedOn
    maps: Mapping[str, CalibrationMap]

    def text(self) -> str:
        """The text of the file, which `read_calibration` reads."""
        maps = {name: calibration_map.to_json() for name, calibration_map in self.maps.items()}
        return FILE.text({"method": self.method, "fitted_on": asdict(self.fitted_on), "maps": maps})


def read_calibration(named: str) -> CalibrationFile:
    """The maps in a file that `report --save-maps` wrote.

    Raises:
        DataMissingError: there is no such file.
        ProbeFormatError: it has something else in it.
    """

    def of_fields(fields: dict[str, Any]) -> CalibrationFile:
        if fields["method"] not in get_args(Recalibration):
            raise ValueError(f"no method {fields['method']!r}")
        maps = {str(name): CalibrationMap.from_json(record) for name, record in fields["maps"].items()}
        return CalibrationFile(Path(named).name, fields["method"], FittedOn(**fields["fitted_on"]), maps)

    return FILE.read(named, of_fields)


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
