"""Shards that are complete as files and still not to be believed."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from run_samples import make_piece

from calprobe.runs.records import Piece, ShardError
from calprobe.runs.score_records import ScoreRecords
from calprobe.runs.shards import FOLDER, ShardFile, shard_path, write_shard

SCORES = ScoreRecords({"P30": (2, 3)}, save_tokens=True, cut_contexts={})
PIECE = Piece("P30", 0)


@pytest.mark.parametrize("name", ["instance", "mean", "n_tokens"])
def test_a_column_with_one_null(tmp_path: Path, name: str) -> None:
    (tmp_path / FOLDER).mkdir()
    write_shard(tmp_path, SCORES, make_piece(("P30", 2, 3)), "identity")
    path = shard_path(tmp_path, "P30", 0)
    table = pq.read_table(path)
    place, field = table.schema.get_field_index(name), table.schema.field(name)
    values = [None, *table[name].to_pylist()[1:]]
    pq.write_table(table.set_column(place, field, pa.array(values, field.type)), path, write_page_checksum=True)
    with pytest.raises(ShardError, match=f"values of {name} are missing"):
        SCORES.read(ShardFile(tmp_path, PIECE, ["identity"]), PIECE)


def test_a_column_of_another_name(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir()
    write_shard(tmp_path, SCORES, make_piece(("P30", 2, 3)), "identity")
    path = shard_path(tmp_path, "P30", 0)
    table = pq.read_table(path)
    for name in ("first", "first_role"):  # the latter is asked for by name when the file is opened
        names = ["fiRst" if column == name else column for column in table.column_names]
        renamed = table.rename_columns(names).replace_schema_metadata(table.schema.metadata)
        pq.write_table(renamed, path, write_page_checksum=True)
        with pytest.raises(ShardError, match="its columns are not those of this run"):
            SCORES.read(ShardFile(tmp_path, PIECE, ["identity"]), PIECE)
