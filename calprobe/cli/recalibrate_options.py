"""`--recalibrate` and `--save-maps`: how confidences are recalibrated, and the file that keeps the fitted maps."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

from calprobe.cli.arguments import output_file
from calprobe.cli.option_kinds import Group, option
from calprobe.errors import UsageError
from calprobe.messages import no_such
from calprobe.words import Recalibration

if TYPE_CHECKING:
    from calprobe.measures.calibration_file import CalibrationFile

SUFFIX = ".json"

recalibrate_option = option(
    "--recalibrate",
    kinds=("scored", "asked"),
    group=Group.WHAT,
    metavar="|".join((*get_args(Recalibration), "FILE.json")),
    help="Also show confidences recalibrated by a map that was fitted on other relations, of asked runs on other"
    " questions; or, of scores, by the maps of a FILE from --save-maps, which were fitted on another run.",
)
save_maps_option = option(
    "--save-maps",
    kinds=("scored",),
    group=Group.WHAT,
    type=output_file(),
    metavar="FILE.json",
    help="Write the maps of --recalibrate, fitted on all facts of the one RUN; an existing file is replaced.",
)


def recalibrated_by_method(given: str | None) -> Recalibration | None:
    """The method that `--recalibrate` names for runs of replies. Raises UsageError for anything else."""
    if given is None or given in get_args(Recalibration):
        return cast("Recalibration | None", given)
    if given.lower().endswith(SUFFIX):
        raise UsageError(
            f"--recalibrate {given}: maps of a file are of scores; give {', '.join(get_args(Recalibration))}"
        )
    raise UsageError(f"--recalibrate: {no_such(given, get_args(Recalibration))}")


def recalibrated_by(given: str) -> Recalibration | CalibrationFile:
    """The method or the file that `--recalibrate` names. Raises UsageError for neither, and as `read_calibration`."""
    from calprobe.measures.calibration_file import read_calibration

    if given.lower().endswith(SUFFIX):
        return read_calibration(given)
    if given not in get_args(Recalibration):
        raise UsageError(f"--recalibrate: {no_such(given, get_args(Recalibration))}, or a file of --save-maps")
    return cast(Recalibration, given)


def check_maps(recalibrate: str | None, save_maps: Path | None, named: Mapping[str, str]) -> None:
    """Raise UsageError for `--save-maps` without maps of one run to save."""
    if save_maps is None:
        return
    if recalibrate is None or recalibrate.lower().endswith(SUFFIX):
        raise UsageError(f"--save-maps keeps fitted maps; give --recalibrate {', '.join(get_args(Recalibration))}")
    if len(named) > 1:
        raise UsageError(f"--save-maps keeps the maps of one run; there are {len(named)}, name one")
