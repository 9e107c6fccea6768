"""`load_probe`: a probe by its name, its folder or its file."""

from __future__ import annotations

import os
from dataclasses import replace
from importlib import resources
from pathlib import Path

from calprobe.errors import DataMissingError, UsageError
from calprobe.folders import data_root
from calprobe.messages import did_you_mean
from calprobe.probes.datasets import BEAR_FOLDERS, absent_files, dataset, files_below
from calprobe.probes.factor import read_factor
from calprobe.probes.probe_folder import METADATA, read_probe_folder
from calprobe.probes.types import Probe

BUNDLED = "mini"
FACTOR = "factor"
PROBES = (BUNDLED, *BEAR_FOLDERS, FACTOR)
OWN_TEMPLATES = frozenset((BUNDLED, "bear"))  # probes that the project wrote templates for
OPEN_LICENCE = frozenset((BUNDLED, FACTOR))  # CC0-1.0 and MIT; BEAR has no licence file


def load_probe(name_or_path: str | os.PathLike[str]) -> Probe:
    """The probe of that name (mini, bear, bear-big, factor), or the one in a folder or file.

    A folder is in BEAR's format, a CSV file has FACTOR's columns. A known name wins over a folder of the same name;
    write `./bear` for the folder. The probe of a folder has the folder's name, that of a file the file's, without .csv.

    Raises:
        DataMissingError: bear, bear-big or factor, and it is not (or not complete) below the data root.
        UsageError: neither a known name nor a folder nor a CSV file.
        ProbeFormatError: a file is not what the format says; names file, line and fix.

    >>> load_probe("mini").relation("capital").templates[0].count("[Y]")
    1
    """
    name = os.fspath(name_or_path)
    if name in PROBES:
        return _known(name)
    path = Path(name).expanduser()
    if path.suffix.lower() == ".csv" and path.is_file():
        return replace(read_factor(path, path.resolve().stem), path=_place(path))
    if not path.is_dir():
        what = f"neither a folder nor one of {', '.join(PROBES)}, nor a CSV file"
        raise UsageError(f"no probe {name!r}: {what}{did_you_mean(name, PROBES) or '; give one of these'}")
    if not (path / METADATA).is_file():
        raise UsageError(f"no probe in folder {name!r}: it has no {METADATA}; give a folder in BEAR's format")
    return replace(read_probe_folder(path, path.resolve().name), path=_place(path))


def _place(path: Path) -> str | None:
    """The absolute path; None if it cannot be written as UTF-8."""
    place = str(path.resolve())
    return place if place.isascii() or place == place.encode("utf-8", "replace").decode() else None


def _known(name: str) -> Probe:
    own_templates = name if name in OWN_TEMPLATES else None
    return replace(_read_known(name), own_templates=own_templates, open_licence=name in OPEN_LICENCE)


def _read_known(name: str) -> Probe:
    if name == FACTOR:
        return read_factor(_fetched(name, FACTOR, dataset(FACTOR).files[0].path), name)
    if name == BUNDLED:
        at = Path(str(resources.files("calprobe.probes"))) / BUNDLED
    else:
        at = _fetched(name, "bear", BEAR_FOLDERS[name])
    return read_probe_folder(at, name)


def _fetched(name: str, data: str, place: str) -> Path:
    """Where a fetched probe lies, at `place` below the data root: a file of the data set, or a folder of such.

    Raises DataMissingError unless all of its files are there in their right sizes.
    """
    root = data_root()
    files = files_below(data, place)
    if absent := absent_files(files, root):
        raise DataMissingError(
            f"probe {name!r}: {len(absent)} of its files missing or damaged in {root} (the first: {absent[0].path}); "
            f"run `calprobe fetch {data}`,\nor say where it is with --probe {'FILE.csv' if data == FACTOR else 'DIR'} "
            "or CALPROBE_DATA"
        )
    return root / place
