"""Where the texts of a run come from: named, stored, or found again by the probe's fingerprint."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from labelled_runs import named_manifest, named_probe, named_run

from calprobe.errors import CalprobeError, DataMissingError, UsageError
from calprobe.interop.answer_texts import AnswerTexts, texts_of
from calprobe.interop.probe_texts import find_labels
from calprobe.probes import Instance, Probe, Relation, load_probe
from calprobe.runs import Manifest, SourceRecord, open_run
from calprobe.runs.stored_texts import write_labels


def with_probe(name: str, fingerprint: str | None, path: str | None = None) -> Manifest:
    return replace(named_manifest(), probe=SourceRecord(name, fingerprint, path))


def probe_folder(folder: Path) -> Path:
    """A probe on disk, of one relation."""
    folder.mkdir()
    (folder / "metadata_relations.json").write_text(
        json.dumps({"capital": {"templates": ["[X] has [Y]."], "answer_space_labels": ["Paris", "Rome"]}})
    )
    (folder / "capital.jsonl").write_text(json.dumps({"sub_label": "France", "obj_label": "Paris", "answer_idx": 0}))
    return folder


def test_the_bundled_probe_is_found_by_its_name_and_fingerprint(tmp_path: Path) -> None:
    mini = load_probe("mini")
    found = find_labels(with_probe("mini", mini.fingerprint), tmp_path)
    assert found.relation("capital").instances == mini.relation("capital").instances
    with pytest.raises(DataMissingError, match="mini, has changed since: its fingerprint is"):
        find_labels(with_probe("mini", "ab" * 32), tmp_path)


def test_a_folder_is_found_where_it_was(tmp_path: Path) -> None:
    folder = probe_folder(tmp_path / "atlas")
    probe = load_probe(folder)
    assert probe.path == str(folder.resolve())
    assert find_labels(with_probe("atlas", probe.fingerprint, probe.path), tmp_path).relations == probe.relations
    folder.rename(tmp_path / "moved")
    with pytest.raises(DataMissingError, match=r"its probe, atlas, is not here .*\nname it with --probe DIR"):
        find_labels(with_probe("atlas", probe.fingerprint, probe.path), tmp_path)
    named = find_labels(with_probe("atlas", probe.fingerprint, probe.path), tmp_path, tmp_path / "moved")
    assert named.fingerprint == probe.fingerprint


def test_another_probe_is_refused_with_both_fingerprints(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=f"fingerprint is {load_probe('mini').fingerprint[:12]}, the run's abababababab"
    ):
        find_labels(with_probe("atlas", "ab" * 32), tmp_path, "mini")


def test_stored_labels_of_another_probe_are_refused(tmp_path: Path) -> None:
    write_labels(tmp_path, named_probe())
    with pytest.raises(CalprobeError, match="labels of another probe than the run's, atlas"):
        find_labels(with_probe("atlas", "ab" * 32), tmp_path)


def test_a_run_without_texts_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(DataMissingError, match="is none that calprobe knows\nname it with --probe DIR"):
        find_labels(named_manifest(), tmp_path)
    with pytest.raises(DataMissingError, match="import the scores again with their labels"):
        find_labels(with_probe("lm-eval", None), tmp_path)


def test_a_named_probe_must_have_the_instances_of_an_import(tmp_path: Path) -> None:
    run = open_run(named_run(tmp_path / "run", labels=False, imported=True))
    assert texts_of(run, named_probe()).subject("P36", 1) == "P36 subject 1"
    with pytest.raises(CalprobeError, match="probe mini does not have instance 0 of P1376 with the same answer"):
        texts_of(run, "mini")


def test_texts_of_instances_and_statements(tmp_path: Path) -> None:
    texts = texts_of(open_run(named_run(tmp_path / "run")))
    assert texts.label("P30", 1, 2) == "P30 answer 2"
    assert texts.label("P30", 1, -1) is None
    assert texts.statement("P30", 1, 2, 1) == "P30 answer 2 is what P30 subject 1 is called."
    assert texts.statement("P30", 1, -1, 1) is None


def test_a_completion_follows_its_context(tmp_path: Path) -> None:
    manifest = named_manifest((0,))
    record = replace(manifest.relations[0], name="wiki", texts=("[X] [Y]",), scored="completion")
    instance = Instance(3, "Ghana lies in", 1, candidates=("Asia.", "Africa."))
    texts = AnswerTexts(replace(manifest, relations=(record,)), Probe("f", (Relation("wiki", (), (instance,)),), ""))
    assert texts.statement("wiki", 3, 1, 0) == "Ghana lies in Africa."
    assert texts.statement("wiki", 4, 1, 0) is None


def test_wordings_without_slots_make_no_statement() -> None:
    manifest = named_manifest((0,))
    relations = tuple(replace(record, texts=("no slots",)) for record in manifest.relations)
    texts = AnswerTexts(replace(manifest, relations=relations), named_probe())
    assert texts.label("P30", 0, 0) == "P30 answer 0"
    assert texts.statement("P30", 0, 0, 0) is None
