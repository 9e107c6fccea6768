"""Reading a run: what is complete, the score table, and the errors of what is not a run."""

from __future__ import annotations

import logging
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from call_counts import python_calls
from run_samples import SHAPES, make_manifest, make_piece, without_tokens, write_run

from calprobe.errors import CalprobeError, DataMissingError
from calprobe.runs import RunFolder, open_run


def test_the_table_of_a_run_by_hand(tmp_path: Path) -> None:
    folder = RunFolder.open(tmp_path, make_manifest((("P2", 1, 2), ("P10", 2, 3)), (3, 0)))
    pieces = {}
    for shape in (("P2", 1, 2), ("P10", 2, 3)):
        for number in (3, 0):
            pieces[shape[0], number] = without_tokens(make_piece(shape, number))
            folder.write_piece(pieces[shape[0], number])
    table = open_run(tmp_path).table()
    # Relations sort as plain strings, templates by number.
    assert table.relation.tolist() == ["P10", "P10", "P2"]
    assert table.instance.tolist() == [0, 1, 0]
    assert table.offsets.tolist() == [0, 3, 6, 8]
    assert [template.number for template in table.templates] == [0, 3]
    expected = [[*pieces["P10", number].sum, *pieces["P2", number].sum] for number in (0, 3)]
    np.testing.assert_array_equal(table.scores, expected)
    answers = [*pieces["P10", 0].answer_idx[::3], *pieces["P2", 0].answer_idx[::2]]
    assert table.answer_idx.tolist() == answers
    assert (table.scores.dtype, table.offsets.dtype, table.answer_idx.dtype) == (np.float64, np.int64, np.int64)
    assert table.n_instances == 3


@pytest.mark.parametrize("reduction", ["sum", "mean", "sum_answer", "mean_answer"])
def test_compat_takes_the_first_token_out_of_each_reduction(tmp_path: Path, reduction: str) -> None:
    run = open_run(write_run(tmp_path))
    plain, compat = run.table(reduction), run.table(reduction, "kissling2026")  # type: ignore[arg-type]
    expected = np.concatenate([make_piece(shape, 0).without_first(reduction) for shape in sorted(SHAPES)])
    np.testing.assert_array_equal(compat.scores[0], expected)
    assert not np.array_equal(plain.scores, compat.scores, equal_nan=True)


def test_a_partial_run_says_what_is_missing_and_leaves_the_relation_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_run(tmp_path)
    assert (open_run(tmp_path).partial, open_run(tmp_path).missing) == (False, ())
    (tmp_path / "shards" / "P30.t1.parquet").unlink()
    damaged = tmp_path / "shards" / "P36.t0.parquet"
    damaged.write_bytes(damaged.read_bytes()[:-9])
    run = open_run(tmp_path)
    with caplog.at_level(logging.WARNING):
        assert run.partial
    assert "P36.t0.parquet" in caplog.text
    assert run.missing == (("P30", 1), ("P36", 0))
    assert run.complete_relations == ("P1376",)
    assert set(run.table().relation) == {"P1376"}
    assert damaged.exists(), "reading changes nothing"


def test_a_run_with_nothing_scored_has_an_empty_table(tmp_path: Path) -> None:
    RunFolder.open(tmp_path, make_manifest())
    table = open_run(tmp_path).table()
    assert table.scores.shape == (2, 0)
    assert table.offsets.tolist() == [0]
    assert table.n_instances == 0
    assert len(table.relation) == len(table.instance) == len(table.answer_idx) == 0


def test_a_reduction_that_an_import_lacks_is_an_error_that_names_the_option(tmp_path: Path) -> None:
    folder = RunFolder.open(tmp_path, make_manifest(SHAPES[:1], (0,)))
    names = ("mean", "sum_answer", "mean_answer", "first", "first_role", "n_tokens", "n_answer")
    unknown = dict.fromkeys(names)
    folder.write_piece(replace(without_tokens(make_piece(SHAPES[0])), **unknown))
    run = open_run(tmp_path)
    assert folder.missing() == []
    np.testing.assert_array_equal(run.table().scores[0], make_piece(SHAPES[0]).sum)
    with pytest.raises(CalprobeError, match=r"cannot compute --reduction mean; it has sum"):
        run.table("mean")
    with pytest.raises(CalprobeError, match="--compat kissling2026"):
        run.table("sum", "kissling2026")


def test_statements_without_tokens_survive_the_disk(tmp_path: Path) -> None:
    piece = make_piece(("P30", 4, 3), seed=3, shortest=0)
    nothing = replace(
        without_tokens(piece),
        first=np.full(12, np.nan),
        first_role=np.full(12, -1, np.int8),
        n_tokens=np.zeros(12, np.int32),
    )
    for number, written in ((0, without_tokens(piece)), (1, nothing)):
        RunFolder.open(tmp_path / str(number), make_manifest(SHAPES[:1], (0,))).write_piece(written)
        (read,) = open_run(tmp_path / str(number)).pieces
        assert read.checksum() == written.checksum()


@pytest.mark.parametrize(("arguments", "message"), [(("median",), "reduction must be"), (("sum", "v2"), "compat must")])
def test_unknown_reductions_and_compats_are_refused(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        open_run(write_run(tmp_path)).table(*arguments)  # type: ignore[arg-type]


def test_what_is_not_a_run_is_missing_data_with_the_fix(tmp_path: Path) -> None:
    with pytest.raises(DataMissingError, match=r"not a run folder \(no manifest.json\); make one with `calprobe score"):
        open_run(tmp_path)
    with pytest.raises(DataMissingError, match="no such run"):
        open_run(tmp_path / "absent")
    with pytest.raises(DataMissingError, match=r"--out '.*/my run'`, or with"):
        open_run(tmp_path / "my run")


def test_a_folder_of_runs_and_a_file_differ_from_what_is_not_there(tmp_path: Path) -> None:
    for name in ("e", "d", "c", "b", "a"):
        write_run(tmp_path / name)
    with pytest.raises(DataMissingError) as error:
        open_run(tmp_path)
    said = f"not a run folder, but it holds a, b, c, d and 1 more; give these, such as {tmp_path / 'a'}"
    assert str(error.value) == f"{tmp_path}: {said}"
    with pytest.raises(DataMissingError, match=r"manifest\.json: a file, not a run folder; give the folder"):
        open_run(tmp_path / "a" / "manifest.json")


def test_reading_a_large_run_loops_over_no_rows(tmp_path: Path) -> None:
    shapes = tuple((f"P{i}", 200, 50) for i in range(24))
    folder = RunFolder.open(tmp_path, make_manifest(shapes, (0,)))
    pattern = without_tokens(make_piece(("P0", 200, 50)))
    for name, _, _ in shapes:
        folder.write_piece(replace(pattern, relation=name))
    assert python_calls(lambda: open_run(tmp_path).table()) < 240_000 / 4  # rows


def test_reading_and_exporting_never_import_torch(tmp_path: Path) -> None:
    code = (
        "import sys; from calprobe.runs import open_run; from calprobe.interop.exports import candidate_tables;"
        "import calprobe.interop.lm_pub_quiz_import;"
        "run = open_run(sys.argv[1]); run.table(); list(candidate_tables(run));"
        "sys.exit(bool({'torch', 'transformers'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", code, str(write_run(tmp_path))], check=True)
