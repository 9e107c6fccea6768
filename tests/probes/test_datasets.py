"""The pinned data sets: their checksums against the reference data, and where they are looked for."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from calprobe.errors import UsageError
from calprobe.probes.datasets import DATASETS, absent_files, bear_relations, dataset


@pytest.mark.parametrize("name", DATASETS)
def test_checksums_are_those_of_the_reference_data(shared: Path, name: str) -> None:
    for file in dataset(name).files:
        content = (shared / file.path).read_bytes()
        assert (file.size, file.sha256) == (len(content), hashlib.sha256(content).hexdigest()), file.path


def test_every_file_of_bear_is_pinned(shared: Path) -> None:
    present = {path.relative_to(shared).as_posix() for path in (shared / "bear").rglob("*.json*")}
    assert {file.path for file in dataset("bear").files} == present
    assert len(present) == 142


@pytest.mark.parametrize("name", DATASETS)
def test_entries_are_well_formed(name: str) -> None:
    data = dataset(name)
    assert len(data.commit) == 40
    assert data.terms.endswith(".")
    assert data.use.endswith(".")
    assert len({file.path for file in data.files}) == len(data.files)
    assert all(file.path.startswith(f"{data.folder}/") and ".." not in file.path for file in data.files)


def test_bear_has_sixty_relations() -> None:
    assert len(bear_relations()) == 60
    assert {"P6", "P30", "P7959"} <= bear_relations()


def test_unknown_data_set() -> None:
    with pytest.raises(UsageError, match="no data set 'wiki'; known are bear, factor, kissling2026"):
        dataset("wiki")


def test_absent_files_are_those_missing_or_of_another_size(tmp_path: Path) -> None:
    (file,) = dataset("factor").files
    assert absent_files((file,), tmp_path) == [file]
    place = tmp_path / file.path
    place.parent.mkdir()
    place.write_bytes(b"x" * (file.size - 1))
    assert absent_files((file,), tmp_path) == [file]
    place.write_bytes(b"x" * file.size)
    assert absent_files((file,), tmp_path) == []
