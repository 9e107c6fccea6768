"""A task that calprobe does not have: run folder, shards, resume, merge and lock know it from its own definitions."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import pyarrow as pa
import pytest
from run_samples import make_manifest

from calprobe.errors import CalprobeError, UsageError
from calprobe.runs import open_run
from calprobe.runs.folder import RecordFolder, RunFolder
from calprobe.runs.lock import locked
from calprobe.runs.manifest_file import TASKS, Task
from calprobe.runs.merge import merge_runs
from calprobe.runs.records import Piece, RecordKind, Shard, ShardError
from calprobe.runs.run import open_any_run
from calprobe.runs.run_progress import Progress
from calprobe.runs.shards import shard_path
from calprobe.runs.task import RunManifest

_SUM = b"count.sum"


@dataclass(frozen=True)
class Counts:
    """How often each word came in the replies of a piece: as many rows as there are words."""

    piece: Piece
    words: tuple[str, ...]
    counts: tuple[int, ...]


class CountRecords(RecordKind[Counts]):
    schema = pa.schema([("word", pa.string()), ("count", pa.int64())])

    def piece_of(self, record: Counts) -> Piece:
        return record.piece

    def n_rows(self, record: Counts) -> int:
        return len(record.words)

    def check(self, record: Counts) -> None:
        if any(count < 0 for count in record.counts):
            raise ValueError("counts must not be negative")

    def to_table(self, record: Counts) -> pa.Table:
        table = pa.table([record.words, record.counts], self.schema)
        return table.replace_schema_metadata({_SUM: str(sum(record.counts)).encode()})

    def read(self, shard: Shard, piece: Piece) -> Counts:
        table = shard.table(self.schema, None)
        found = Counts(piece, tuple(table["word"].to_pylist()), tuple(table["count"].to_pylist()))
        if table.schema.metadata.get(_SUM) != str(sum(found.counts)).encode():
            raise ShardError("its sum is wrong")
        return found

    def same(self, one: Counts, other: Counts) -> bool:
        return one == other


@dataclass(frozen=True)
class CountManifest(RunManifest):
    task: ClassVar[str] = "count"

    prompt: str
    questions: tuple[str, ...]
    shard: str | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    created: str = ""

    @property
    def pieces(self) -> tuple[Piece, ...]:
        return tuple(Piece(question, 0) for question in self.questions)

    def records(self) -> CountRecords:
        return CountRecords()

    def identity(self) -> dict[str, Any]:
        return {"prompt": self.prompt, "questions": list(self.questions)}

    def differences(self, other: Self, words: tuple[str, str] = ("the run has", "requested")) -> list[str]:
        return [] if self.prompt == other.prompt else [f"prompt: {words[0]} {self.prompt}, {words[1]} {other.prompt}"]

    def describe(self) -> str:
        return f"prompt {self.prompt}"

    def merged(self, created: str, others: Sequence[Self] = ()) -> Self:
        return replace(self, shard=None, created=created)


@pytest.fixture(autouse=True)
def known_task(monkeypatch: pytest.MonkeyPatch) -> None:
    def faults(manifest: CountManifest) -> Any:
        return iter([] if manifest.prompt else ["prompt: is empty"])

    monkeypatch.setitem(TASKS, "count", Task(CountManifest, faults))


ASKED = CountManifest("short", ("a", "b", "c"), versions={"calprobe": "1"}, created="2026")
A, B, C = (Counts(piece, ("yes", "no")[:n], (3, 5)[:n]) for n, piece in enumerate(ASKED.pieces))


def write(path: Path, *records: Counts, asked: CountManifest = ASKED) -> RecordFolder[CountManifest, Counts]:
    folder = RecordFolder[CountManifest, Counts].open(path, asked)
    for record in records:
        folder.write_piece(record)
    return folder


def test_a_run_is_written_resumed_and_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with locked(tmp_path):
        first = write(tmp_path, A, B)
    first.record_progress(0, Progress(pieces=2))
    assert first.missing() == [C.piece]
    path = shard_path(tmp_path, *B.piece)
    path.write_bytes(path.read_bytes()[:-5])
    resumed = write(tmp_path)
    with caplog.at_level(logging.WARNING):
        assert resumed.missing() == [B.piece, C.piece]
    assert "renamed to b.t0.parquet.bad" in caplog.text
    for record in (B, C):
        resumed.write_piece(record)
    run = open_any_run(tmp_path)
    assert (run.manifest, run.pieces, run.partial, run.progress.pieces) == (ASKED, (A, B, C), False, 2)
    assert run.manifest.describe() == "prompt short"


def test_another_run_or_another_task_is_refused(tmp_path: Path) -> None:
    write(tmp_path, A)
    with pytest.raises(UsageError, match=r"contains a different run\. prompt: the run has short, requested long"):
        write(tmp_path, asked=replace(ASKED, prompt="long"))
    with pytest.raises(CalprobeError, match="a run of task count, not of scores"):
        open_run(tmp_path)
    there = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for resume in (True, False):  # to start over removes results of the same task alone
        with pytest.raises(UsageError, match="give another folder with --out"):
            RunFolder.open(tmp_path, make_manifest(), resume)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == there
    with pytest.raises(ValueError, match="counts must not be negative"):
        write(tmp_path, replace(B, counts=(-1, 0)))
    with pytest.raises(ValueError, match="piece must be one of the run's, got z, template 0"):
        write(tmp_path, replace(A, piece=Piece("z", 0)))
    with pytest.raises(CalprobeError, match="prompt: is empty; restore the file"):
        open_any_run(write(tmp_path / "empty", asked=replace(ASKED, prompt="")).path)


def test_parts_are_merged_where_they_agree(tmp_path: Path) -> None:
    one = write(tmp_path / "one", A, B, asked=replace(ASKED, shard="1/2")).path
    two = write(tmp_path / "two", B, C, asked=replace(ASKED, shard="2/2", created="2025")).path
    merged = merge_runs([one, two], tmp_path / "merged")
    run = open_any_run(merged.path)
    assert (run.manifest, run.pieces) == (replace(ASKED, created="2025"), (A, B, C))
    assert (run.progress.pieces, run.progress.statements) == (3, 3)
    assert shard_path(merged.path, *C.piece).read_bytes() == shard_path(two, *C.piece).read_bytes()
    write(two, replace(B, counts=(9,)), asked=replace(ASKED, shard="2/2"))
    with pytest.raises(CalprobeError, match=r"b, template 0: .* have different scores for it"):
        merge_runs([one, two], tmp_path / "again")
