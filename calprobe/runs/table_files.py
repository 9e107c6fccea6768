"""Tables as Parquet, CSV or JSON-lines files: written piece by piece, atomically, the same bytes each time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from calprobe.errors import UsageError
from calprobe.messages import finite_or_none
from calprobe.runs import atomic

Tables = Iterable[pa.Table]


def write_tables(schema: pa.Schema, tables: Tables, path: Path) -> int:
    """Write the tables, all of one schema, as one file; the suffix sets the format: .parquet, .csv or .jsonl.

    Returns the number of rows.

    Numbers are written with full precision. Null is an empty CSV field, a list is JSON in one; NaN is `nan` in CSV, and
    null in JSON, which has no NaN. An existing file is replaced when the new one is complete. Raises UsageError for
    another suffix, CalprobeError if the file cannot be written.
    """
    if path.suffix.lower() not in _WRITERS:
        raise UsageError(f"--out {path}: the suffix sets the format; give one of {', '.join(_WRITERS)}")
    sizes: list[int] = []
    with atomic.named_file(path, "give another --out") as temporary:
        _WRITERS[path.suffix.lower()](schema, _noted(tables, sizes), temporary)
    return sum(sizes)


def _noted(tables: Tables, sizes: list[int]) -> Iterator[pa.Table]:
    """The tables, with their numbers of rows added to the sizes."""
    for table in tables:
        sizes.append(table.num_rows)
        yield table


def _write_parquet(schema: pa.Schema, tables: Tables, path: Path) -> None:
    with pyarrow.parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        for table in tables:
            writer.write_table(table)


def _write_csv(schema: pa.Schema, tables: Tables, path: Path) -> None:
    flat = pa.schema(
        [pa.field(field.name, pa.string() if pa.types.is_list(field.type) else field.type) for field in schema]
    )
    with pyarrow.csv.CSVWriter(path, flat) as writer:
        for table in tables:
            writer.write_table(table if flat == schema else _without_lists(table, flat))


def _without_lists(table: pa.Table, flat: pa.Schema) -> pa.Table:
    """The table with JSON in place of lists, which CSV does not have."""
    columns = [
        pa.array([None if value is None else json.dumps(value) for value in column.to_pylist()], pa.string())
        if pa.types.is_list(column.type)
        else column
        for column in table.columns
    ]
    return pa.Table.from_arrays(columns, schema=flat)


def _write_jsonl(schema: pa.Schema, tables: Tables, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for table in tables:
            columns = [[finite_or_none(value) for value in column.to_pylist()] for column in table.columns]
            rows = (dict(zip(schema.names, values, strict=True)) for values in zip(*columns, strict=True))
            file.writelines(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)


_WRITERS: dict[str, Callable[[pa.Schema, Tables, Path], None]] = {
    ".parquet": _write_parquet,
    ".csv": _write_csv,
    ".jsonl": _write_jsonl,
}
