"""Folders in BEAR's format: a small one written here, and the real BEAR and BEAR-big where they are present."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from probe_folders import ENTRY, OTHER, ROW, without, write

from calprobe.errors import ProbeFormatError
from calprobe.probes.fingerprints import fingerprint
from calprobe.probes.probe_folder import read_probe_folder
from calprobe.probes.types import Instance, Relation, slot_fault


def test_reads_relations_in_the_order_of_the_metadata(tmp_path: Path) -> None:
    write(tmp_path, {"P9": ENTRY, "P1": ENTRY}, {"P1": [ROW], "P9": [OTHER, ROW]})
    probe = read_probe_folder(tmp_path, "towns")
    assert probe.name == "towns"
    assert probe.relations[0] == Relation(
        "P9",
        ("Italy", "Norway"),
        (Instance(0, "Oslo", 1, "Q2"), Instance(1, "Rome", 0, "Q1")),
        ("[X] lies in [Y].", "[Y] is where [X] lies."),
    )
    assert [relation.name for relation in probe.relations] == ["P9", "P1"]
    assert probe.relation("P9").cardinality == "1:1"
    assert probe.relation("P9").n_statements == 4
    assert probe.notes == ()


def test_answer_space_from_rows_by_first_appearance(tmp_path: Path) -> None:
    rows = [without(row, "answer_idx") for row in (OTHER, ROW, OTHER | {"sub_label": "Bergen", "sub_id": "Q3"})]
    write(tmp_path, {"P1": {"templates": ENTRY["templates"]}}, {"P1": rows})
    probe = read_probe_folder(tmp_path, "towns")
    assert probe.relations[0].candidates == ("Norway", "Italy")
    assert [fact.answer_idx for fact in probe.relations[0].instances] == [0, 1, 0]
    assert probe.relations[0].cardinality == "N:1"
    assert probe.notes == ("Answer space taken from the rows, by first appearance, in 1 relation.",)


def test_domains_from_the_folder_or_the_one_above(tmp_path: Path) -> None:
    folder = write(tmp_path / "probe", {"P1": ENTRY}, {"P1": [ROW]})
    (tmp_path / "relation_info.json").write_text('{"P1": {"domains": ["Geographic", "Political"]}}')
    assert read_probe_folder(folder, "p").relations[0].domains == ("Geographic", "Political")
    (folder / "relation_info.json").write_text('{"P1": {"domains": ["Historical"]}}')
    assert read_probe_folder(folder, "p").relations[0].domains == ("Historical",)
    (folder / "relation_info.json").write_text('{\n"P1": {"domains": "Historical"}}')
    with pytest.raises(ProbeFormatError, match=r"relation_info.json:2: entry of 'P1' must be"):
        read_probe_folder(folder, "p")


def test_oddities_are_noted(tmp_path: Path) -> None:
    odd = ENTRY | {"templates": ["[X] lies in [Y]", "[X] lies in [Y]"], "comment": "mine"}
    rows = [ROW | {"sub_label": " Rome"}, ROW | {"sub_label": ""}, OTHER, OTHER]
    metadata = {
        "P1": odd,
        "P2": without(ENTRY, "templates"),
        "P3": ENTRY,
        "P4": ENTRY | {"answer_space_labels": ["Italy"]},
    }
    metadata["P4"]["answer_space_ids"] = ["Q38"]
    write(tmp_path, metadata, {"P1": rows, "P2": [ROW], "P4": [ROW]})
    assert read_probe_folder(tmp_path, "odd").notes == (
        "In the metadata, but without a file, so not in the probe: P3.",
        "Keys of the metadata that are not read: comment.",
        "Only one candidate, so every answer is right: P4.",
        "White space at an end of 1 label, kept in the statements: P1 (1).",
        "Subjects without a label: P1 line 2.",
        "P1 has subjects in more than one row: Oslo.",
        "Without templates of its own: P2.",
        "P1's template 0 does not end with a full stop.",
        "P1 repeats template 0 as template 1.",
        "P1's template 1 does not end with a full stop.",
    )


def test_labels_that_upper_casing_changes_are_noted(tmp_path: Path) -> None:
    labels = ["one", "mRNA", "One", "ß", "Two"]
    entry = {"templates": ["[X] is [Y]."], "answer_space_labels": labels}
    rows = [{"sub_label": "iPhone", "obj_label": label, "answer_idx": i} for i, label in enumerate(labels)]
    write(tmp_path, {"P1": entry}, {"P1": rows[:1]})
    assert read_probe_folder(tmp_path, "p").notes == (
        "The first letter of a statement is upper-cased. With a small letter begin 2 candidates and 1 subject, "
        "among them mRNA.",
        "P1: candidates one and One are one statement where a template begins with [Y].",
    )


def test_byte_order_mark_and_unusual_line_separators_are_text(tmp_path: Path) -> None:
    write(tmp_path, {"P1": ENTRY}, {})
    line = json.dumps(ROW | {"sub_label": "a\u2028b"}, ensure_ascii=False)
    (tmp_path / "P1.jsonl").write_text("\ufeff" + line + "\r\n", encoding="utf-8", newline="")
    assert read_probe_folder(tmp_path, "p").relations[0].instances == (Instance(0, "a\u2028b", 0, "Q1"),)


def test_fingerprint_is_of_the_facts_alone(tmp_path: Path) -> None:
    facts = {"P1": [ROW, OTHER], "P2": [OTHER]}
    first = read_probe_folder(write(tmp_path / "a", {"P1": ENTRY, "P2": ENTRY}, facts), "a")
    other_templates = ENTRY | {"templates": ["[X]: [Y]."]}
    second = read_probe_folder(write(tmp_path / "b", {"P2": other_templates, "P1": ENTRY}, facts), "b")
    assert first.fingerprint == second.fingerprint
    for rows in ([OTHER, ROW], [ROW], [ROW, OTHER | {"sub_label": "oslo"}]):
        changed = read_probe_folder(write(tmp_path / "c", {"P1": ENTRY, "P2": ENTRY}, facts | {"P1": rows}), "c")
        assert changed.fingerprint != first.fingerprint
    # Written out, since another rule would part every run folder from its probe.
    content = b'{"P1":[["Italy","Norway"],[["Rome",0],["Oslo",1]]],"P2":[["Italy","Norway"],[["Oslo",1]]]}'
    assert first.fingerprint == hashlib.sha256(content).hexdigest()


LABELS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)


@given(st.lists(LABELS, min_size=1, max_size=6, unique=True), st.data())
def test_what_is_written_is_read_again(tmp_path_factory: pytest.TempPathFactory, labels: list[str], data: Any) -> None:
    answers = data.draw(st.lists(st.integers(0, len(labels) - 1), min_size=1, max_size=8))
    subjects = data.draw(st.lists(LABELS, min_size=len(answers), max_size=len(answers)))
    rows = [
        {"sub_label": subject, "obj_label": labels[answer], "answer_idx": answer}
        for subject, answer in zip(subjects, answers, strict=True)
    ]
    folder = write(tmp_path_factory.mktemp("probe"), {"P1": {"answer_space_labels": labels}}, {"P1": rows})
    (relation,) = read_probe_folder(folder, "p").relations
    assert relation.candidates == tuple(labels)
    assert [(fact.subject, fact.answer_idx) for fact in relation.instances] == list(zip(subjects, answers, strict=True))
    assert fingerprint([relation]) == read_probe_folder(folder, "q").fingerprint


def test_slot_fault() -> None:
    assert slot_fault("[Y] [X]") is None
    assert slot_fault("[y] [X]") == "has no [Y]"
    assert slot_fault("[X] [X] [Y]") == "has [X] 2 times"


def test_real_bear(shared: Path) -> None:
    probe = read_probe_folder(shared / "bear/BEAR", "bear")
    assert (len(probe.relations), probe.n_instances) == (60, 7731)
    assert sum(relation.n_statements for relation in probe.relations) == 209_499
    assert all(relation.domains for relation in probe.relations)
    assert "P103 repeats template 0 as template 2." in probe.notes
    assert "P413's template 2 does not end with a full stop." in probe.notes
    assert any(note.endswith("158 candidates and 49 subjects, among them tvN.") for note in probe.notes)
    assert len(probe.notes) == 4


def test_real_bear_big(shared: Path) -> None:
    probe = read_probe_folder(shared / "bear/BEAR-big", "bear-big")
    assert (len(probe.relations), probe.n_instances) == (78, 40_916)
    for note in (
        "In the metadata, but without a file, so not in the probe: P414.",
        "Answer space taken from the rows, by first appearance, in 78 relations.",
        "P101 repeats template 0 as template 2.",
        "Subjects without a label: P291 line 41.",
    ):
        assert note in probe.notes
    (beyond,) = (note for note in probe.notes if note.startswith("Relations beyond BEAR's 60"))
    assert beyond.count(",") == 1 + 17  # one in the sentence, 18 relations


def test_bear_is_the_indexed_rows_of_bear_big(shared: Path) -> None:
    bear = read_probe_folder(shared / "bear/BEAR", "bear")
    big = read_probe_folder(shared / "bear/BEAR-big", "bear-big")
    rows = json.loads((shared / "bear/bear_lite_indices.json").read_text())
    assert set(rows) == {relation.name for relation in bear.relations}
    for relation in bear.relations:
        source = big.relation(relation.name)
        picked = [source.instances[row] for row in rows[relation.name]]
        answers = [source.candidates[fact.answer_idx] for fact in picked]
        assert tuple(dict.fromkeys(answers)) == relation.candidates
        assert [(fact.subject_id, fact.subject) for fact in picked] == [
            (fact.subject_id, fact.subject) for fact in relation.instances
        ]
        assert answers == [relation.candidates[fact.answer_idx] for fact in relation.instances]
