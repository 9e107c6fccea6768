"""Which files of lm-evaluation-harness hold samples, and what their names say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from calprobe.errors import UsageError
from calprobe.probes.relation_rows import label_fault

_SAMPLES = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[^_]+)")  # of the file, without .jsonl
_SUMMARY = re.compile(r"results_\d{4}-\d\d-\d\dT[^_]+\.json")


def sample_files(paths: Iterable[Path]) -> tuple[Path, ...]:
    """The files of samples that these paths name: a file itself, a folder with all samples in it.

    A folder is that of one evaluation, or the output folder of lm_eval, which has a folder for each model.

    Raises UsageError for a summary in place of samples, a folder without samples, with those of several models, or of
    several dates: the files of one have to be named.
    """
    return tuple(file for path in paths for file in (_in_folder(path) if path.is_dir() else [_file(path)]))


def task_name(path: Path) -> str:
    """What the file's name says: TASK of samples_TASK_DATE.jsonl; another name's stem.

    Raises UsageError if the name is no UTF-8.
    """
    match = _SAMPLES.fullmatch(path.stem)
    name = match["task"] if match else path.stem
    if label_fault(name) is not None:
        raise UsageError(f"{path.name!r}: the file's name becomes the relation's and must be UTF-8; rename the file")
    return name


def summary_beside(samples: Path) -> Path | None:
    """The summary that was written with the samples, at the same date."""
    match = _SAMPLES.fullmatch(samples.stem)
    beside = samples.parent.glob(f"*_{match['date']}.json") if match else ()
    return min(beside, default=None)


def _file(path: Path) -> Path:
    if _SUMMARY.fullmatch(path.name):
        raise UsageError(
            f"{path}: the summary of an evaluation, without scores of choices; give the samples_*.jsonl beside it, "
            "or their folder (`lm_eval --log_samples` writes them)"
        )
    return path


def _in_folder(folder: Path) -> Sequence[Path]:
    files = _samples_in(folder)
    if not files:
        models = [inside for inside in sorted(folder.iterdir()) if inside.is_dir() and _samples_in(inside)]
        if len(models) > 1:
            raise UsageError(f"{folder}: samples of {_named(models)}; give one of these folders")
        files = _samples_in(models[0]) if models else []
    if not files:
        fault = "no samples_TASK_DATE.jsonl here"
        raise UsageError(f"{folder}: {fault}; run lm_eval with --log_samples, or give the files by name")
    dates = sorted({match["date"] for path in files if (match := _SAMPLES.fullmatch(path.stem))})
    if len(dates) > 1:
        latest = files[0].parent / f"samples_*_{dates[-1]}.jsonl"
        raise UsageError(f"{folder}: samples of {len(dates)} evaluations; give the files of one, such as {latest}")
    return files


def _samples_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("samples_*.jsonl") if _SAMPLES.fullmatch(path.stem))


def _named(folders: Sequence[Path]) -> str:
    more = f" and {len(folders) - 3} more" if len(folders) > 3 else ""
    return ", ".join(folder.name for folder in folders[:3]) + more
