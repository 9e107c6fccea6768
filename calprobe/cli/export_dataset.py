"""`calprobe export --what hub-dataset`: a run as a folder that the hub takes as a data set."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from calprobe.cli.terminal_text import say
from calprobe.errors import CalprobeError, UsageError
from calprobe.messages import reason

if TYPE_CHECKING:
    from calprobe.runs import AskedRun, Run


def write_dataset(run: Run | AskedRun, out: Path, write_confidences: Callable[[Path], int]) -> None:
    """Write the run, its confidences and a card into a folder that is there complete or not at all.

    Args:
        run: a complete run.
        out: an empty or new folder outside the run.
        write_confidences: writes the table of confidences to a file; how many rows.
    Raises:
        UsageError: such a folder, or the run, cannot be taken. CalprobeError: the folder cannot be written.
    """
    from calprobe.analysis.hub_dataset import CONFIDENCES, check_shareable, dataset_card
    from calprobe.runs import open_run
    from calprobe.runs.atomic import replacing_folder, write_text

    check_shareable(run)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out}: is there already, and not an empty folder; name another with --out")
    if run.path.resolve() in (out.resolve(), *out.resolve().parents):
        raise UsageError(f"--out {out} is in the run itself; name a folder outside it")
    try:
        with replacing_folder(out, "export") as beside:
            # Locks and the journal of what was asked last are of this machine; shards have all of it.
            shutil.copytree(run.path, beside, ignore=shutil.ignore_patterns(".*", "journal", "*.bad"))
            if open_run(beside).partial:
                raise UsageError(
                    f"{run.path}: its last replies are in no shard yet; run its `calprobe ask` again first"
                )
            rows = write_confidences(beside / CONFIDENCES)
            write_text(beside / "README.md", dataset_card(run, rows))
    except OSError as error:
        raise CalprobeError(f"{out}: cannot be written: {reason(error)}; name another --out") from error
    say(f"wrote {out}; add a licence to its README.md, then: hf upload OWNER/NAME {out} --repo-type dataset")
