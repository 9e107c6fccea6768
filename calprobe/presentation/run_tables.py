"""A run's tables as files: what was scored or replied, and what was read and computed of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from calprobe.cells.asked import Asked
from calprobe.cells.asked_folder import asked_of
from calprobe.confidence import confidences
from calprobe.errors import UsageError
from calprobe.interop import asked_exports, exports
from calprobe.interop.answer_texts import AnswerTexts
from calprobe.measures.options import ReportOptions
from calprobe.runs import AskedRun, Run, table_files
from calprobe.studies.asked.frames import answers_by_reply, confidences_frame, readings_frame

if TYPE_CHECKING:
    import pandas as pd


def write_scores(run: Run, what: str, path: Path, options: ReportOptions, texts: AnswerTexts | None = None) -> int:
    """Write one table of a run of scores.

    Args:
        run: of scores.
        what: candidates, tokens or confidences.
        path: the file; its suffix sets the format.
        options: how scores are read to confidences.
        texts: to add columns with subject, answers and statement in words; None: none.
    Returns:
        How many rows.
    Raises:
        UsageError: a table of replies. CalprobeError: a run without token scores, or a file that cannot be written.
    """
    if what == "candidates":
        schema, tables = exports.CANDIDATES, exports.candidate_tables(run)
        if texts is not None:
            schema, tables = exports.labelled_schema(schema), exports.with_candidate_labels(tables, texts)
        return table_files.write_tables(schema, tables, path)
    if what == "tokens":
        return table_files.write_tables(exports.TOKENS, exports.token_tables(run), path)
    if what != "confidences":
        raise UsageError(f"--what {what} is of runs of replies; {run.path} is one of scores")
    frame = confidences(run, options.reduction, options.score_rules, options.ties)
    if texts is None:
        return _write(frame, path)
    return _write(exports.with_confidence_labels(frame, run, texts), path, exports.CONFIDENCE_LABELS)


def write_replies(run: AskedRun, what: str, path: Path, options: ReportOptions) -> int:
    """Write one table of a run of replies, a key of REPLIES; how many rows.

    Raises UsageError for a table of scores, and for one that the run has nothing for.
    """
    if what not in REPLIES:
        raise UsageError(f"--what {what} is of runs of scores; for {run.path} give one of {', '.join(REPLIES)}")
    asked = asked_of(str(run.path), run)
    has = {
        "labels": any(reply.label_scores is not None and reply.begins_with_labels for reply in asked.replies),
        "alternatives": any(reply.alternatives is not None for reply in asked.replies),
    }
    if not has.get(what, True):
        tables = ", ".join(name for name in REPLIES if has.get(name, True))
        raise UsageError(f"--what {what}: {run.path} has none, `ask` collects them by --collect; it has {tables}")
    return REPLIES[what](asked, path, options)


def _replies(asked: Asked, path: Path, options: ReportOptions) -> int:
    answers = answers_by_reply(asked, options)
    table = asked_exports.reply_table(asked.replies, asked.sets, asked.turns, answers)
    return table_files.write_tables(asked_exports.REPLIES, [table], path)


def _labels(asked: Asked, path: Path, _: ReportOptions) -> int:
    table = asked_exports.label_table(asked.replies, asked.sets, asked.turns)
    return table_files.write_tables(asked_exports.LABELS, [table], path)


def _alternatives(asked: Asked, path: Path, _: ReportOptions) -> int:
    return table_files.write_tables(asked_exports.ALTERNATIVES, asked_exports.alternative_tables(asked.replies), path)


REPLIES: Mapping[str, Callable[[Asked, Path, ReportOptions], int]] = {
    "replies": _replies,
    "labels": _labels,
    "alternatives": _alternatives,
    "readings": lambda asked, path, options: _write(readings_frame(asked, options), path),
    "confidences": lambda asked, path, options: _write(confidences_frame(asked, options), path),
}


def _write(frame: pd.DataFrame, path: Path, texts: tuple[str, ...] = ()) -> int:
    """A frame as a file; its last columns are texts, also where they are all empty."""
    import pyarrow as pa

    table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    if texts:
        strings = (pa.field(name, pa.string()) for name in texts)
        table = table.cast(pa.schema([*list(table.schema)[: -len(texts)], *strings]))
    return table_files.write_tables(table.schema, [table], path)
