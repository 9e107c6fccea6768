"""A run of scores that are all at hand: there whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from calprobe.errors import CalprobeError, UsageError
from calprobe.runs import atomic
from calprobe.runs.folder import RunFolder, UnwritableError, check_folder
from calprobe.runs.manifest import FILE_NAME, Manifest
from calprobe.runs.pieces import PieceScores
from calprobe.runs.progress import NOTHING, Progress
from calprobe.wording import reason


def write_whole(out: Path, manifest: Manifest, pieces: Iterable[PieceScores], spent: Progress = NOTHING) -> RunFolder:
    """Make a run at `out` of these pieces, and record them as its progress, with what was `spent` on them.

    It is written beside `out` and renamed when it is whole. An error leaves nothing; the remains of a killed process
    (`.NAME.import`) stand in nobody's way, and the next call for the same `out` clears them.

    Raises UsageError unless `out` is an empty or absent folder, ValueError for a piece that the manifest does not have,
    CalprobeError if the disk takes it not.
    """
    check_folder(out)
    if (out / FILE_NAME).is_file():
        raise UsageError(f"{out}: holds a run already; name another with --out")
    try:
        # What `out` holds, if it is there, is nothing, or what a killed `score` left before it began.
        with atomic.replacing_folder(out, "import") as beside:
            run = RunFolder.create(beside, manifest)
            for piece in pieces:
                run.write_piece(piece)
                spent += Progress(pieces=1, statements=piece.n_statements)
            run.record_progress(0, spent)
    except (OSError, UnwritableError) as error:
        # The folder that was asked for, not the one beside it, of which nothing is left.
        why = error.why if isinstance(error, UnwritableError) else reason(error)
        raise CalprobeError(f"{out}: cannot be written: {why}; mend that, or name another --out") from error
    return RunFolder(out, run.manifest)
