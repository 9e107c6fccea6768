"""The jobs of the sweeps in and around a folder whose last attempt failed, by the folders that their runs have."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePath

from calprobe.interrupts import INTERRUPTED
from calprobe.runs.listing import FailedRun
from calprobe.runs.manifest_file import FILE_NAME as MANIFEST
from calprobe.sweep.job_record import FILE_NAME, Attempt, read_record

_DEEPEST = 3  # levels below the folder at which a sweep may be
_ABOVE = 2  # levels above it: runs lie in OUT/MODEL/JOB


def failures_around(folder: str | Path) -> dict[str, FailedRun]:
    """What failed, by the run's folder, which need not exist. Raises CalprobeError for a damaged record."""
    place = Path(folder)
    sweeps = [*_sweeps_in(place, _DEEPEST), *(above for above in place.parents[:_ABOVE] if _is_sweep(above))]
    failures = {}
    for out in sweeps:
        for name, attempt in read_record(out).attempts.items():
            path = out / name
            if attempt.exit_code not in (0, INTERRUPTED) and (path == place or place in path.parents):
                failures[str(path)] = _failed(attempt)
    return failures


def _failed(attempt: Attempt) -> FailedRun:
    command, *typed = attempt.arguments
    options = dict(option.removeprefix("--").split("=", 1) for option in typed if "=" in option)
    lines = attempt.said.splitlines()
    return FailedRun(
        command,
        options.get("model", ""),
        ", ".join(map(_name, options.get("questions" if command == "ask" else "probe", "").split(","))),
        lines[0].removeprefix("calprobe: ") if lines else f"exit code {attempt.exit_code}",
    )


def _name(source: str) -> str:
    """A set or probe as its runs call it: that of a file or folder by its name without suffixes.

    >>> _name("/data/mmlu_test.jsonl.gz"), _name("mmlu")
    ('mmlu_test', 'mmlu')
    """
    return PurePath(source).name.partition(".")[0] or source if "/" in source else source


def _sweeps_in(folder: Path, levels: int) -> Iterator[Path]:
    if _is_sweep(folder):
        yield folder
    try:
        inside = sorted(folder.iterdir()) if levels else []
    except OSError:  # a folder that may not be read
        return
    for path in inside:
        if path.is_dir() and not path.name.startswith(".") and not (path / MANIFEST).is_file():
            yield from _sweeps_in(path, levels - 1)


def _is_sweep(folder: Path) -> bool:
    return (folder / FILE_NAME).is_file()
