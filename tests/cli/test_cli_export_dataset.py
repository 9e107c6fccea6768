"""A run as a data set of the hub: the card as the hub's own library reads it, the tables, and the run in it."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from asked_samples import question_set, write_asked
from commands import calprobe
from huggingface_hub import DatasetCard
from run_samples import write_run

from calprobe.runs import AskedRun, open_run

QUICK = ("--bootstrap", 0, "--json")


def exported(run: Path, out: Path) -> DatasetCard:
    done = calprobe("export", run, "--what", "hub-dataset", "--out", out)
    assert done.returncode == 0, done.stderr
    assert f"wrote {out}" in done.stderr
    return DatasetCard.load(out / "README.md")


@pytest.mark.parametrize("kind", ["scored", "asked"])
def test_the_folder_is_a_data_set_and_still_the_run(tmp_path: Path, kind: str) -> None:
    run, out = tmp_path / "run", tmp_path / "data"
    if kind == "scored":
        write_run(run)
    else:
        write_asked(run)
    card = exported(run, out)
    tables = {own["config_name"]: own["data_files"] for own in card.data.to_dict()["configs"]}
    assert list(tables) == ["confidences", "scores" if kind == "scored" else "replies"]
    calprobe("export", run, "--what", "confidences", "--out", tmp_path / "confidences.parquet")
    own = pq.read_table(out / tables.pop("confidences"))
    assert own.equals(pq.read_table(tmp_path / "confidences.parquet"))
    assert f"`confidences` ({own.num_rows:,} rows)" in card.text
    (pattern,) = tables.values()
    shards = [pq.read_schema(path) for path in out.glob(pattern)]
    assert len({schema.remove_metadata().to_string() for schema in shards}) == 1  # as one table of the hub must be
    assert not [path for path in out.rglob("*") if path.name.startswith(".") or path.name == "journal"]
    before, after = (json.loads(calprobe("report", path, *QUICK).stdout) for path in (run, out))
    assert before[str(run)] == after[str(out)]
    again = calprobe("export", run, "--what", "hub-dataset", "--out", out)
    assert again.returncode == 2
    assert "not an empty folder" in again.stderr


def test_what_cannot_be_a_data_set(tmp_path: Path) -> None:
    """A partial run, one with texts that must stay where they are, and a folder inside of the run."""
    out = tmp_path / "data"
    write_asked(tmp_path / "partial", only=("direct",))
    write_asked(tmp_path / "kept", question_set(quotable=False))
    write_run(tmp_path / "run")
    for run, place, said in (
        ("partial", out, "complete the run first"),
        ("kept", out, "texts of sums must not be published"),
        ("run", tmp_path / "run" / "data", "is in the run itself"),
    ):
        done = calprobe("export", tmp_path / run, "--what", "hub-dataset", "--out", place)
        assert done.returncode == 2
        assert said in done.stderr
        assert not place.exists()


def test_replies_that_are_in_the_journal_alone_are_not_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copy lacks them: it would be partial, and is refused."""
    run, out = tmp_path / "run", tmp_path / "data"
    write_asked(run, only=("direct",))
    monkeypatch.setattr(AskedRun, "partial", property(lambda self: self.path != run))
    assert not open_run(run).partial
    done = calprobe("export", run, "--what", "hub-dataset", "--out", out)
    assert done.returncode == 2
    assert "in no shard yet" in done.stderr
    assert not out.exists()
