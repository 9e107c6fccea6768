"""`calprobe export` of asked runs: replies, label probabilities, alternatives of tokens, readings, confidences."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from calprobe.cli.common import asked_compat
from calprobe.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

    from calprobe.analysis.asked.options import AskedOptions
    from calprobe.runs import AskedRun

OF_REPLIES = ("replies", "labels", "alternatives", "readings", "confidences")


def export_asked(run: AskedRun, what: str, out: Path, options: AskedOptions) -> int:
    """Write one table of a run of replies; how many rows. Raises UsageError for a table of scores."""
    from calprobe.analysis.asked.frames import confidences_frame, readings_frame
    from calprobe.cells.asked_folder import asked_of
    from calprobe.interop.asked_exports import (
        ALTERNATIVES,
        LABELS,
        REPLIES,
        alternative_tables,
        label_table,
        reply_table,
    )
    from calprobe.runs import table_files

    if what not in OF_REPLIES:
        raise UsageError(f"--what {what} is of runs of scores; for {run.path} give one of {', '.join(OF_REPLIES)}")
    asked = asked_of(str(run.path), run)
    if what == "replies":
        return table_files.write_tables(REPLIES, [reply_table(asked.replies)], out)
    if what == "labels":
        return table_files.write_tables(LABELS, [label_table(asked.replies, asked.sets, asked.turns)], out)
    if what == "alternatives":
        return table_files.write_tables(ALTERNATIVES, alternative_tables(asked.replies), out)
    return _write(confidences_frame(asked, options) if what == "confidences" else readings_frame(asked, options), out)


def _write(frame: pd.DataFrame, out: Path) -> int:
    import pyarrow as pa

    from calprobe.runs import table_files

    table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    return table_files.write_tables(table.schema, [table], out)


def read_by(readers: tuple[str, ...] | None, compat: str | None, window: int | None) -> AskedOptions:
    """How replies are read. Raises UsageError for the rules of a paper on scores."""
    from calprobe.analysis.asked.options import AskedOptions

    return AskedOptions(readers, asked_compat(compat), window=window)
