"""`load_probe`: a probe by its name or by its folder."""

from __future__ import annotations

import os
from dataclasses import replace
from importlib import resources
from pathlib import Path

from calprobe.errors import DataMissingError, UsageError
from calprobe.probes.folder import METADATA, read_probe_folder
from calprobe.probes.registry import BEAR_FOLDERS, absent_files, data_root, dataset
from calprobe.probes.types import Probe

BUNDLED = "mini"
PROBES = (BUNDLED, *BEAR_FOLDERS)
OWN_TEMPLATES = frozenset((BUNDLED, "bear"))  # probes that the project wrote templates for


def load_probe(name_or_dir: str | os.PathLike[str]) -> Probe:
    """The probe of that name (mini, bear, bear-big), or the one in a folder of BEAR's format.

    A known name wins over a folder of the same name; write `./bear` for the folder. The probe of a folder has the
    folder's name.

    Raises:
        DataMissingError: bear or bear-big, and it is not (or not whole) below the data root.
        UsageError: neither a known name nor a folder.
        ProbeFormatError: a file is not what the format says; names file, line and mend.

    >>> load_probe("mini").relation("capital").templates[0].count("[Y]")
    1
    """
    name = os.fspath(name_or_dir)
    if name in PROBES:
        at = Path(str(resources.files("calprobe.probes"))) / BUNDLED if name == BUNDLED else _fetched_folder(name)
        return replace(read_probe_folder(at, name), own_templates=name if name in OWN_TEMPLATES else None)
    folder = Path(name).expanduser()
    if not folder.is_dir():
        raise UsageError(f"no probe {name!r}: neither a folder nor one of {', '.join(PROBES)}; give one of these")
    if not (folder / METADATA).is_file():
        raise UsageError(f"no probe in folder {name!r}: it has no {METADATA}; give a folder in BEAR's format")
    return read_probe_folder(folder, folder.resolve().name)


def _fetched_folder(name: str) -> Path:
    """Where a fetched probe lies; DataMissingError unless all of its files are there in their right sizes."""
    root = data_root()
    prefix = BEAR_FOLDERS[name] + "/"
    absent = absent_files(tuple(file for file in dataset("bear").files if file.path.startswith(prefix)), root)
    if absent:
        raise DataMissingError(
            f"probe {name!r}: {len(absent)} of its files missing or damaged in {root} (the first: {absent[0].path}); "
            "run `calprobe fetch bear`,\nor give a folder that has it with --probe DIR or CALPROBE_DATA"
        )
    return root / BEAR_FOLDERS[name]
