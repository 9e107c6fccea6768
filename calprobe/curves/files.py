"""Curves as data files: a tidy table or JSON, complete or not at all, the same bytes each time."""

from __future__ import annotations

import json
from pathlib import Path

from calprobe.curves.curve import Curves
from calprobe.errors import UsageError
from calprobe.runs import atomic, table_files

DATA_SUFFIXES = (".csv", ".json", ".parquet")


def write_curves(curves: Curves, path: Path) -> None:
    """Write `frame()` as .csv or .parquet, or `to_json()` as .json; what is NaN is an empty field, or null.

    A folder that is not there is made; a file is replaced when the new one is complete. Raises UsageError for another
    suffix, CalprobeError if the file cannot be written.
    """
    if path.suffix.lower() not in DATA_SUFFIXES:
        raise UsageError(f"{path}: curves are written as {', '.join(DATA_SUFFIXES)}; name one of these suffixes")
    if path.suffix.lower() == ".json":
        _write_json(curves, path)
        return
    import pyarrow as pa

    table = pa.Table.from_pandas(curves.frame(), preserve_index=False).replace_schema_metadata(None)
    table_files.write_tables(table.schema, [table], path)


def _write_json(curves: Curves, path: Path) -> None:
    text = json.dumps(curves.to_json(), indent=2, allow_nan=False, ensure_ascii=False)
    with atomic.named_file(path, "name another --out") as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")
