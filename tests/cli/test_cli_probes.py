"""`calprobe probes`: the list, one probe, and its JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from probe_folders import ENTRY, OTHER, ROW, write

from calprobe.cli.app import cli
from calprobe.errors import DataMissingError, UsageError


def shown(*arguments: str) -> str:
    result = CliRunner().invoke(cli, ["probes", *arguments], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def test_list_says_how_to_get_what_is_not_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALPROBE_DATA", str(tmp_path))
    header, mini, bear, big, factor, last = shown().splitlines()
    assert header.split() == ["probe", "relations", "instances", "statements", "a", "template"]
    assert mini.startswith("mini ")
    assert mini.endswith("  ready")
    assert bear.split(maxsplit=4) == ["bear", "-", "-", "-", "not here: run `calprobe fetch bear`"]
    assert big.split(maxsplit=4) == ["bear-big", "-", "-", "-", "not here: run `calprobe fetch bear`"]
    assert factor.split(maxsplit=4) == ["factor", "-", "-", "-", "not here: run `calprobe fetch factor`"]
    assert "--probe DIR" in last
    assert "--probe FILE.csv" in last


@pytest.mark.proof
def test_list_of_what_is_here(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALPROBE_DATA", str(shared))
    assert [line.split()[:4] for line in shown().splitlines()[2:5]] == [
        ["bear", "60", "7,731", "209,499"],
        ["bear-big", "78", "40,916", "2,803,084"],
        ["factor", "1", "236", "944"],
    ]
    known = {probe["name"]: probe for probe in json.loads(shown("--json"))}
    assert known["bear"] == {"name": "bear", "relations": 60, "instances": 7731, "statements": 209_499, "get": None}


def test_one_probe_with_its_notes(tmp_path: Path) -> None:
    folder = write(tmp_path / "towns", {"P1": ENTRY, "P2": ENTRY, "P3": ENTRY}, {"P1": [ROW, OTHER], "P2": [ROW, ROW]})
    (tmp_path / "relation_info.json").write_text('{"P1": {"domains": ["Geographic", "Political"]}}')
    lines = shown(str(folder)).splitlines()
    assert lines[0] == "towns: 2 relations, 4 instances, 8 statements a template"
    assert lines[1].startswith("fingerprint ")
    assert lines[3].split("  ")[0] == "relation"
    assert lines[4].split() == ["P1", "2", "2", "1:1", "4", "2", "Geographic,", "Political"]
    assert lines[5].split() == ["P2", "2", "2", "N:1", "4", "2"]
    assert lines[7:] == [
        "Notes:",
        "- In the metadata, but without a file, so not in the probe: P3.",
        "- Without a domain: P2.",
        "- P2 has subjects in more than one row: Rome.",
    ]


def test_one_probe_as_json(tmp_path: Path) -> None:
    content = json.loads(shown("--json", str(write(tmp_path / "towns", {"P1": ENTRY}, {"P1": [ROW, OTHER]}))))
    assert len(content.pop("fingerprint")) == 64
    relation = {"name": "P1", "instances": 2, "candidates": 2, "cardinality": "1:1", "statements": 4}
    relation |= {"templates": 2, "domains": []}
    assert content == {"name": "towns", "relations": [relation], "instances": 2, "statements": 4, "notes": []}


def test_errors_are_those_of_load_probe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALPROBE_DATA", str(tmp_path))
    for name, error in (("bear", DataMissingError), ("nothing", UsageError)):
        with pytest.raises(error):
            shown(name)
