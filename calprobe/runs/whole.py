"""A run of scores that are all at hand: there whole or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from calprobe.errors import CalprobeError, UsageError
from calprobe.runs.folder import RunFolder, check_folder
from calprobe.runs.manifest import FILE_NAME, Manifest, Timings
from calprobe.runs.pieces import PieceScores


def write_whole(out: Path, manifest: Manifest, pieces: Iterable[PieceScores]) -> RunFolder:
    """Make a run at `out` of these pieces, and count them in its timings.

    It is written beside `out` and renamed when it is whole. An error leaves nothing; the remains of a killed process
    (`.NAME.import`) stand in nobody's way, and the next call for the same `out` clears them.

    Raises UsageError unless `out` is an empty or absent folder, ValueError for a piece that the manifest does not have,
    CalprobeError if the disk takes it not.
    """
    check_folder(out)
    if (out / FILE_NAME).is_file():
        raise UsageError(f"{out}: holds a run already; name another with --out")
    place = out.absolute()
    beside = place.with_name(f".{place.name}.import")
    shutil.rmtree(beside, ignore_errors=True)
    try:
        run = RunFolder.create(beside, manifest)
        written = Timings()
        for piece in pieces:
            run.write_piece(piece)
            written += Timings(pieces=1, statements=piece.n_statements)
        run.add_timings(written)
        _rename(beside, place)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return RunFolder(out, run.manifest)


def _rename(beside: Path, place: Path) -> None:
    try:
        if place.is_dir():  # checked above: it holds nothing, or what a killed `score` left before it began
            shutil.rmtree(place)
        beside.rename(place)
    except OSError as error:
        raise CalprobeError(f"{place}: cannot be written: {error.strerror or error}; name another --out") from error
