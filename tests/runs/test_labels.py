"""The texts of a probe in a run folder: complete or absent, checked, and no part of what makes a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from labelled_runs import named_manifest, named_probe, named_run

from calprobe.errors import CalprobeError
from calprobe.probes import Instance, Probe, Relation
from calprobe.runs import RunFolder
from calprobe.runs.merge import merge_runs
from calprobe.runs.stored_texts import FILE_NAME, read_labels, write_labels


def own_candidates() -> Probe:
    instances = (Instance(0, "Once upon", 1, candidates=("a.", "b.")), Instance(4, "Zürich", 0, candidates=("c", "d")))
    return Probe("factor", (Relation("wiki", (), instances),), "")


@pytest.mark.parametrize("probe", [named_probe(), own_candidates()], ids=["shared candidates", "own candidates"])
def test_labels_come_back_as_they_were(tmp_path: Path, probe: Probe) -> None:
    write_labels(tmp_path, probe)
    found = read_labels(tmp_path)
    assert found is not None
    assert (found.name, found.fingerprint) == (probe.name, probe.fingerprint)
    for relation, stored in zip(probe.relations, found.relations, strict=True):
        assert (stored.name, stored.candidates, stored.instances) == (
            relation.name,
            relation.candidates,
            relation.instances,
        )


def test_labels_are_written_once(tmp_path: Path) -> None:
    write_labels(tmp_path, named_probe())
    before = (tmp_path / FILE_NAME).stat()
    write_labels(tmp_path, named_probe())
    after = (tmp_path / FILE_NAME).stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_a_run_without_labels_has_none(tmp_path: Path) -> None:
    assert read_labels(named_run(tmp_path / "run", labels=False)) is None


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("P30 subject 0", "P30 subject X"),
        lambda text: text[:-20],
        lambda text: json.dumps({**json.loads(text), "calprobe_labels": 2}),
        lambda text: "[1, 2]",
        lambda text: "",
    ],
    ids=["a subject", "cut", "a newer format", "a list", "empty"],
)
def test_changed_labels_are_refused(tmp_path: Path, change: object) -> None:
    write_labels(tmp_path, named_probe())
    path = tmp_path / FILE_NAME
    path.write_text(change(path.read_text()))  # type: ignore[operator]
    with pytest.raises(CalprobeError, match=r"labels\.json: damaged.*delete the file, and name the probe"):
        read_labels(tmp_path)


def test_starting_over_removes_labels_and_resuming_keeps_them(tmp_path: Path) -> None:
    run = named_run(tmp_path / "run")
    RunFolder.open(run, named_manifest())
    assert (run / FILE_NAME).is_file()
    RunFolder.open(run, named_manifest(), resume=False)
    assert not (run / FILE_NAME).exists()


@pytest.mark.parametrize("holder", [0, 1])
def test_a_merged_run_keeps_the_labels_of_its_parts(tmp_path: Path, holder: int) -> None:
    parts = [named_run(tmp_path / str(place), labels=place == holder) for place in range(2)]
    merged = merge_runs(parts, tmp_path / "merged")
    assert (merged.path / FILE_NAME).read_bytes() == (parts[holder] / FILE_NAME).read_bytes()
