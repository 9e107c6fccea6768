"""Bytes that changed on the disk: found wherever they are, scored again, and never used."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from children import Forge
from commands import exports_of
from proofs import few_of
from run_samples import SHAPES, make_manifest, make_piece
from unbroken import ASKED, Complete

from calprobe.cli import main
from calprobe.runs import PieceScores, RunFolder, open_run
from calprobe.runs.records import Piece, ShardError
from calprobe.runs.shards import shard_path

MANY = int(os.environ.get("CALPROBE_FAULTS", "10")) > 10
SEED = int(os.environ.get("CALPROBE_FAULTS_SEED", "0"))


@pytest.fixture(scope="module")
def one_shard(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    folder = RunFolder.open(tmp_path_factory.mktemp("one") / "run", make_manifest(SHAPES[:1], (0,), save_tokens=True))
    folder.write_piece(make_piece(SHAPES[0]))
    return folder


def same(piece: PieceScores, expected: PieceScores) -> bool:
    tokens = piece.tokens
    assert tokens is not None
    assert expected.tokens is not None
    names = (
        "instance",
        "candidate",
        "answer_idx",
        "sum",
        "mean",
        "sum_answer",
        "mean_answer",
        "first",
        "first_role",
        "n_tokens",
        "n_answer",
    )
    columns = [(piece.column(name), expected.column(name)) for name in (*names, "n_tokens", "n_answer")]
    columns += [(getattr(tokens, name), getattr(expected.tokens, name)) for name in ("roles", "logprobs", "offsets")]
    return list(tokens.tokens) == list(expected.tokens.tokens) and all(
        found is not None and wanted is not None and np.array_equal(found, wanted, equal_nan=True)
        for found, wanted in columns
    )


def refused(run: RunFolder, content: bytes) -> bool:
    """Whether a shard of those bytes is refused; where it is not, it must read as the shard that was written."""
    shard_path(run.path, "P30", 0).write_bytes(content)
    opened = open_run(run.path)
    try:
        piece = opened.kind.read_whole(opened.shard(Piece("P30", 0)), Piece("P30", 0))
    except ShardError:
        return True
    assert same(piece, make_piece(SHAPES[0]))
    return False


def test_a_bit_flipped_anywhere_in_a_shard(
    one_shard: RunFolder, record_property: Callable[[str, object], None]
) -> None:
    """In its header, its pages and its footer: refused, or without effect on any value (Parquet says much twice)."""
    path = shard_path(one_shard.path, "P30", 0)
    content = path.read_bytes()
    places = range(len(content)) if MANY else sorted(random.Random(SEED).sample(range(len(content)), 300))
    bits = [(place, random.Random(f"{SEED} {place}").randrange(8)) for place in places]
    # No checksum covers the headers of pages; a dictionary's says how many names it has.
    start = column_of(path, "first_role").dictionary_page_offset
    bits += [(place, bit) for place in range(start, start + 16) for bit in range(8)]
    found = 0
    for place, bit in bits:
        flipped = bytearray(content)
        flipped[place] ^= 1 << bit
        found += refused(one_shard, bytes(flipped))
    path.write_bytes(content)
    record_property("fault", f"{len(bits)} bits flipped: {found} shards refused, the others changed no value")
    assert found > 0.7 * len(bits)


def test_a_shard_cut_anywhere(one_shard: RunFolder) -> None:
    path = shard_path(one_shard.path, "P30", 0)
    content = path.read_bytes()
    ends = range(len(content)) if MANY else [0, 1, 4, 8, *range(12, len(content), 97), len(content) - 1]
    assert all(refused(one_shard, content[:end]) for end in ends)
    assert refused(
        one_shard, content[: len(content) // 2] + bytes(len(content) - len(content) // 2)
    )  # zeros of a crash
    path.write_bytes(content)


def column_of(shard: Path, name: str) -> pq.ColumnChunkMetaData:
    metadata = pq.read_metadata(shard)
    return metadata.row_group(0).column(metadata.schema.names.index(name))


def damaged(shard: Path, how: str) -> bytes:
    """The shard's bytes, cut or with a bit flipped in that region."""
    content = bytearray(shard.read_bytes())
    if how in ("half", "empty"):
        return bytes(content[: len(content) // 2 if how == "half" else 0])
    column = column_of(shard, "sum")
    start = min(place for place in (column.dictionary_page_offset, column.data_page_offset) if place)
    region = {"page header": start, "values": start + column.total_compressed_size - 3, "footer": len(content) - 7}
    content[region[how]] ^= 0x10
    return bytes(content)


@pytest.mark.parametrize(
    "how", few_of(["page header", "values", "footer", "half", "empty"], lambda how: how == "values")
)
def test_a_damaged_shard_is_scored_again(
    forge: Forge, complete: Complete, tmp_path: Path, reported: Callable[[Path], Any], how: str
) -> None:
    run = shutil.copytree(complete.path, tmp_path / "run")
    shard = run / "shards" / complete.order[2]
    content = damaged(shard, how)
    shard.write_bytes(content)
    missing = open_run(run).missing
    assert [f"{relation}.t{template}.parquet" for relation, template in missing] == [shard.name]
    report = reported(run)
    assert report == complete.report_of(missing, reported)
    assert report["partial"]
    assert shard.read_bytes() == content  # reading sets nothing aside
    resumed = forge.run("score", *ASKED, "--out", run, watch=run)
    assert resumed.code == 0
    assert f"renamed to {shard.name}.bad, will be scored again" in resumed.stderr
    assert shard.with_name(f"{shard.name}.bad").read_bytes() == content
    assert exports_of(run) == complete.exports


def test_report_says_which_shard_is_left_out(
    complete: Complete, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run = shutil.copytree(complete.path, tmp_path / "run")
    (run / "shards" / complete.order[0]).write_bytes(b"PAR1")
    main(["report", str(run), "--bootstrap", "0"])
    said = capfd.readouterr()
    assert f"{run / 'shards' / complete.order[0]}: it cannot be read" in said.err
    assert "; left out" in said.err
    assert "PARTIAL" in said.out


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (
            lambda text: re.sub('"name": "[^"]*tiny"', '"name": "gpt2"', text),
            "model changed since",
        ),
        (lambda text: re.sub(r'"n_instances": \d+', '"n_instances": 1', text), "relations changed since"),
        (lambda text: text.replace('"dtype": "float32"', '"dtype": "bfloat16"'), "settings changed since"),
        (lambda text: text[: len(text) // 2], "damaged, not JSON"),
        (lambda text: "", "damaged, not JSON"),
        (
            lambda text: text.replace('"calprobe_run": 3', '"calprobe_run": 4'),
            "run format 4, this calprobe reads 1 to 3; up",
        ),
    ],
    ids=["model", "relations", "settings", "half", "empty", "newer"],
)
def test_a_manifest_that_was_edited_cut_or_is_newer(
    forge: Forge, complete: Complete, tmp_path: Path, edit: Callable[[str], str], said: str
) -> None:
    run = shutil.copytree(complete.path, tmp_path / "run")
    manifest = run / "manifest.json"
    text = manifest.read_text()
    assert edit(text) != text
    manifest.write_text(edit(text))
    files = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    for command in (
        ("score", *ASKED, "--out", run),
        ("score", *ASKED, "--no-resume", "--out", run),
        ("report", run),
        ("export", run, "--what", "candidates", "--out", tmp_path / "scores.csv"),
        ("merge", run, "--out", tmp_path / "merged"),
    ):
        ended = forge.run(*command, watch=run)
        assert ended.code == 1, command
        assert f"calprobe: {manifest}: {said}" in ended.stderr
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == files


def test_an_edit_without_checksums_that_fits_no_shard_is_found(
    complete: Complete, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = shutil.copytree(complete.path, tmp_path / "run")
    data = json.loads((run / "manifest.json").read_text())
    del data["checksums"]
    data["settings"]["attention"] = "eager"
    (run / "manifest.json").write_text(json.dumps(data))
    with pytest.raises(SystemExit) as ended:
        main(["report", str(run), "--bootstrap", "0"])
    assert ended.value.code == 1
    assert "manifest.json describes another run than the 8 shards beside it" in capsys.readouterr().err


def test_left_temporary_files_are_no_part_of_the_run(forge: Forge, complete: Complete, tmp_path: Path) -> None:
    run = shutil.copytree(complete.path, tmp_path / "run")
    left = [run / ".manifest.json.1.tmp", run / "shards" / ".capital.t0.parquet.1.tmp", run / "..owner.1.tmp"]
    for path in left:
        path.write_bytes(b"PAR1 half")
    assert exports_of(run) == complete.exports
    assert forge.run("score", *ASKED, "--out", run, watch=run).code == 0
    assert not any(path.exists() for path in left)
    assert exports_of(run) == complete.exports
    assert open_run(run).progress.pieces == len(complete.order)
