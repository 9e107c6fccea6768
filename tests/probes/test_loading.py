"""`load_probe`: names, folders, and what is said when a probe is not there."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import calprobe
from calprobe.errors import DataMissingError, UsageError
from calprobe.probes import load_probe


def test_mini_is_bundled() -> None:
    probe = calprobe.load_probe("mini")
    assert probe.name == "mini"
    assert probe.n_instances >= 500


def test_fetched_probes_are_found_below_the_data_root(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALPROBE_DATA", str(shared))
    by_name, by_folder = load_probe("bear"), load_probe(shared / "bear/BEAR")
    assert by_name.name == "bear"
    assert by_folder.name == "BEAR"
    assert by_name.fingerprint == by_folder.fingerprint
    assert load_probe("bear-big").name == "bear-big"


@pytest.mark.parametrize("name", ["bear", "bear-big"])
def test_missing_probe_names_the_command_and_the_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("CALPROBE_DATA", str(tmp_path))
    with pytest.raises(DataMissingError) as caught:
        load_probe(name)
    for words in (repr(name), "`calprobe fetch bear`", "--probe DIR", "CALPROBE_DATA", str(tmp_path)):
        assert words in str(caught.value)
    assert len(str(caught.value).splitlines()) == 2


def test_partial_copy_is_no_probe(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(shared / "bear/BEAR", tmp_path / "bear/BEAR")
    monkeypatch.setenv("CALPROBE_DATA", str(tmp_path))
    assert load_probe("bear").n_instances == 7731
    (tmp_path / "bear/BEAR/P30.jsonl").unlink()
    with pytest.raises(DataMissingError, match=r"1 of its files missing or damaged .*bear/BEAR/P30.jsonl"):
        load_probe("bear")


def test_neither_a_name_nor_a_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no probe 'baer': neither a folder nor one of mini, bear, bear-big"):
        load_probe("baer")
    with pytest.raises(UsageError, match=r"it has no metadata_relations.json; give a folder in BEAR's format"):
        load_probe(tmp_path)
