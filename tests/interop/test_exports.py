"""Exports: the contract's columns, order, precision and nulls, in each format."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from run_samples import SHAPES, make_manifest, make_piece, without_tokens, write_run

from calprobe.errors import CalprobeError, UsageError
from calprobe.interop.exports import CANDIDATES, TOKENS, candidate_tables, token_tables
from calprobe.runs import Run, RunFolder, open_run
from calprobe.runs.table_files import write_tables

COLUMNS = ["relation", "template", "instance", "candidate", "answer_idx"]
COLUMNS += ["sum", "mean", "sum_answer", "mean_answer", "first", "first_role"]


def candidates(run: Run) -> pa.Table:
    """The `candidates` export as one table."""
    return pa.concat_tables([CANDIDATES.empty_table(), *candidate_tables(run)]).combine_chunks()


def test_candidates_have_the_contract_columns_types_and_order(tmp_path: Path) -> None:
    table = candidates(open_run(write_run(tmp_path)))
    assert table.column_names == COLUMNS
    assert [str(field.type) for field in table.schema] == ["string"] + ["int32"] * 4 + ["double"] * 5 + ["string"]
    rows = list(zip(*(table[name].to_pylist() for name in COLUMNS[:4]), strict=True))
    assert rows == sorted(rows)
    assert len(rows) == 2 * sum(n * k for _, n, k in SHAPES)
    assert set(table["first_role"].to_pylist()) == {"template", "subject", "answer"}


def test_candidates_of_a_piece_are_its_values(tmp_path: Path) -> None:
    table = candidates(open_run(write_run(tmp_path, SHAPES[:1], (4,))))
    piece = make_piece(SHAPES[0], 4)
    assert set(table["template"].to_pylist()) == {4}
    for name in COLUMNS[2:-1]:
        np.testing.assert_array_equal(table[name].to_numpy(), piece.column(name))
    names = ["template", "subject", "answer"]
    assert table["first_role"].to_pylist() == [names[role] for role in piece.first_role]  # type: ignore[union-attr]


def test_a_run_with_nothing_scored_exports_no_rows(tmp_path: Path) -> None:
    RunFolder.open(tmp_path / "run", make_manifest())
    run = open_run(tmp_path / "run")
    assert candidates(run).schema.equals(CANDIDATES)
    write_tables(CANDIDATES, candidate_tables(run), tmp_path / "none.csv")
    assert (tmp_path / "none.csv").read_text() == ",".join(f'"{name}"' for name in COLUMNS) + "\n"


def test_unknown_columns_are_null_and_means_over_nothing_nan(tmp_path: Path) -> None:
    piece = make_piece(SHAPES[0], seed=2, shortest=0)
    assert (piece.n_tokens == 0).any()
    known = replace(without_tokens(piece), sum_answer=None, mean_answer=None)
    RunFolder.open(tmp_path / "run", make_manifest(SHAPES[:1], (0,))).write_piece(known)
    run = open_run(tmp_path / "run")
    table = candidates(run)
    assert table["sum_answer"].null_count == table["mean_answer"].null_count == len(table)
    assert table["mean"].null_count == table["first"].null_count == 0
    place = int(np.flatnonzero(piece.n_tokens == 0)[0])
    row = table.slice(place, 1).to_pylist()[0]
    assert row["sum"] == 0
    assert np.isnan(row["mean"])
    assert np.isnan(row["first"])
    assert row["first_role"] is None
    write_tables(CANDIDATES, candidate_tables(run), tmp_path / "a.csv")
    write_tables(CANDIDATES, candidate_tables(run), tmp_path / "a.jsonl")
    line = list(csv.DictReader((tmp_path / "a.csv").open()))[place]
    assert (line["mean"], line["sum_answer"], line["first_role"]) == ("nan", "", "")
    parsed = json.loads((tmp_path / "a.jsonl").read_text().splitlines()[place])
    assert list(parsed) == COLUMNS
    assert parsed["mean"] is parsed["sum_answer"] is parsed["first_role"] is None


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl"])
def test_every_format_reads_back_to_the_very_same_numbers(tmp_path: Path, suffix: str) -> None:
    run = open_run(write_run(tmp_path / "run"))
    out = tmp_path / "new" / f"scores{suffix}"
    write_tables(CANDIDATES, candidate_tables(run), out)
    if suffix == ".parquet":
        assert pq.read_table(out).schema.equals(CANDIDATES)
    rows: list[dict[str, object]] = {
        ".parquet": lambda: pq.read_table(out).to_pylist(),
        ".csv": lambda: list(csv.DictReader(out.open())),
        ".jsonl": lambda: [json.loads(line) for line in out.read_text().splitlines()],
    }[suffix]()
    expected = candidates(run)
    for name in ("sum", "mean", "mean_answer", "first"):
        found = [float("nan") if row[name] is None else float(str(row[name])) for row in rows]
        np.testing.assert_array_equal(found, expected[name].to_numpy())
    assert [row["relation"] for row in rows] == expected["relation"].to_pylist()


def test_tokens_have_the_contract_columns_and_sum_up(tmp_path: Path) -> None:
    run = open_run(write_run(tmp_path / "run", tokens=True))
    table = pa.concat_tables(list(token_tables(run)))
    assert table.schema.equals(TOKENS)
    names = ["relation", "template", "instance", "candidate", "position"]
    assert table.column_names == [*names, "token", "role", "logprob"]
    rows = list(zip(*(table[name].to_pylist() for name in names), strict=True))
    assert rows == sorted(rows)
    piece = make_piece(SHAPES[1], 0)
    assert piece.tokens is not None
    own = table.slice(0, len(piece.tokens.tokens))  # P1376 sorts first
    assert own["token"].to_pylist() == list(piece.tokens.tokens)
    np.testing.assert_array_equal(own["logprob"].to_numpy(), piece.tokens.logprobs)
    sums = table.group_by(names[:4], use_threads=False).aggregate([("logprob", "sum")])
    np.testing.assert_allclose(sums["logprob_sum"].to_numpy(), candidates(run)["sum"].to_numpy(), rtol=1e-12)


def test_tokens_with_quotes_and_line_breaks_survive_csv(tmp_path: Path) -> None:
    run = open_run(write_run(tmp_path / "run", tokens=True))
    write_tables(TOKENS, token_tables(run), tmp_path / "tokens.csv")
    with (tmp_path / "tokens.csv").open(newline="", encoding="utf-8") as file:
        found = [row["token"] for row in csv.DictReader(file)]
    assert found == pa.concat_tables(list(token_tables(run)))["token"].to_pylist()


def test_tokens_of_a_run_without_them_name_the_option(tmp_path: Path) -> None:
    run = open_run(write_run(tmp_path))
    with pytest.raises(CalprobeError, match=r"score it again with --save-tokens"):
        list(token_tables(run))
    made = make_manifest(SHAPES)
    made = replace(made, settings=replace(made.settings, path=None, save_tokens=False))
    RunFolder.open(tmp_path / "imported", made)
    imported = open_run(tmp_path / "imported")
    with pytest.raises(CalprobeError, match=r"an import has no token scores"):
        list(token_tables(imported))


def test_damaged_tokens_are_an_error_that_names_the_shard(tmp_path: Path) -> None:
    run = open_run(write_run(tmp_path, SHAPES[:1], (0,), tokens=True))
    assert run.pieces
    (tmp_path / "shards" / "P30.t0.parquet").write_bytes(b"PAR1")
    with pytest.raises(CalprobeError, match=r"P30\.t0\.parquet: .*resume the run"):
        list(token_tables(run))


def test_another_suffix_or_place_is_refused_and_nothing_is_left(tmp_path: Path) -> None:
    run = open_run(write_run(tmp_path / "run"))
    with pytest.raises(UsageError, match=r"the suffix sets the format; give one of .parquet, .csv, .jsonl"):
        write_tables(CANDIDATES, candidate_tables(run), tmp_path / "scores.xlsx")
    (tmp_path / "file").write_text("")
    with pytest.raises(CalprobeError, match="cannot be written"):
        write_tables(CANDIDATES, candidate_tables(run), tmp_path / "file" / "scores.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "run"]


def test_a_failed_export_leaves_the_old_file(tmp_path: Path) -> None:
    out = tmp_path / "tokens.csv"
    out.write_text("old")
    with pytest.raises(CalprobeError, match="--save-tokens"):
        write_tables(TOKENS, token_tables(open_run(write_run(tmp_path / "run"))), out)
    assert out.read_text() == "old"
    assert not list(tmp_path.glob(".*"))
