"""Folders in BEAR's format: a small one written here, and the real BEAR and BEAR-big where they are present."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calprobe.errors import ProbeFormatError
from calprobe.probes.folder import fingerprint, read_probe_folder, slot_fault
from calprobe.probes.types import Instance, Relation

ROW = {"sub_id": "Q1", "sub_label": "Rome", "sub_aliases": [], "obj_id": "Q38", "obj_label": "Italy", "answer_idx": 0}
OTHER = {
    "sub_id": "Q2",
    "sub_label": "Oslo",
    "sub_aliases": [],
    "obj_id": "Q20",
    "obj_label": "Norway",
    "answer_idx": 1,
}
ENTRY = {
    "templates": ["[X] lies in [Y].", "[Y] is where [X] lies."],
    "answer_space_labels": ["Italy", "Norway"],
    "answer_space_ids": ["Q38", "Q20"],
}


def write(folder: Path, metadata: Mapping[str, Any], rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> Path:
    """A probe folder with these contents; the metadata in BEAR's layout, one string a line."""
    folder.mkdir(exist_ok=True)
    (folder / "metadata_relations.json").write_text(json.dumps(metadata, indent=4), encoding="utf-8")
    for name, lines in rows.items():
        text = "".join(json.dumps(row) + "\n" for row in lines)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return folder


def without(content: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in content.items() if key not in keys}


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
    assert probe.notes == ("Answer space taken from the rows, by first appearance, in 1 relations.",)


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
        "1 labels begin or end with white space, and are used as they are: P1 (1).",
        "Subjects without a label: P1 line 2.",
        "P1 has subjects in more than one row: Oslo.",
        "Without templates of its own: P2.",
        "P1's template 0 does not end with a full stop.",
        "P1 repeats template 0 as template 1.",
        "P1's template 1 does not end with a full stop.",
    )


MALFORMED_ROWS = {
    "missing subject": (without(ROW, "sub_label"), "key 'sub_label' missing; add it"),
    "missing answer": (without(ROW, "obj_label"), "key 'obj_label' missing; add it"),
    "missing index": (without(ROW, "answer_idx"), "key 'answer_idx' missing; add the answer's place"),
    "index too high": (ROW | {"answer_idx": 2}, "answer_idx 2 is not within the answer space; give 0 to 1"),
    "index negative": (ROW | {"answer_idx": -1}, "answer_idx -1 is not within the answer space; give 0 to 1"),
    "index a float": (ROW | {"answer_idx": 0.0}, "answer_idx 0.0 is not an integer; give"),
    "index a bool": (ROW | {"answer_idx": False}, "answer_idx False is not an integer; give"),
    "index a text": (ROW | {"answer_idx": "0"}, "answer_idx '0' is not an integer; give"),
    "index null": (ROW | {"answer_idx": None}, "answer_idx None is not an integer; give"),
    "label disagrees": (ROW | {"answer_idx": 1}, "answer_idx 1 is 'Norway', but obj_label is 'Italy'; mend one"),
    "id disagrees": (ROW | {"obj_id": "Q20"}, "answer_idx 0 has id 'Q38', but obj_id is 'Q20'; mend one"),
    "subject a number": (ROW | {"sub_label": 7}, "sub_label 7 is not a text; put it in quotes"),
    "answer empty": (ROW | {"obj_label": " "}, "obj_label ' ' is empty; give a text"),
    "id a number": (ROW | {"sub_id": 1}, "sub_id 1 is not a text; give Wikidata's number or leave it out"),
    "half a character": (ROW | {"sub_label": "\ud83c"}, "holds half of a surrogate pair; write the whole character"),
}


@pytest.mark.parametrize(("row", "message"), MALFORMED_ROWS.values(), ids=MALFORMED_ROWS)
def test_malformed_rows_name_file_line_and_mend(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    write(tmp_path, {"P1": ENTRY}, {"P1": [OTHER, row]})
    with pytest.raises(ProbeFormatError) as caught:
        read_probe_folder(tmp_path, "p")
    assert str(caught.value).startswith(f"{tmp_path / 'P1.jsonl'}:2: ")
    assert message in str(caught.value)


MALFORMED_LINES = {
    "not JSON": (b'{"sub_label": \n', "2: not JSON (Expecting value, column 15); mend the line"),
    "not an object": (b'["Rome"]\n', "2: a JSON array where an object {..} belongs; mend it"),
    "not UTF-8": ("Malmö\n".encode("latin-1"), "2: not UTF-8 (byte 0xf6); save the file as UTF-8"),
    "empty line": (b"\n", "2: empty line; remove it"),
    "repeated key": (b'{"sub_label": "a", "sub_label": "b"}\n', '2: key "sub_label" twice in one object; remove one'),
    "nested too deeply": (b"[" * 100_000, "2: "),
}


@pytest.mark.parametrize(("line", "message"), MALFORMED_LINES.values(), ids=MALFORMED_LINES)
def test_malformed_lines_name_file_line_and_mend(tmp_path: Path, line: bytes, message: str) -> None:
    write(tmp_path, {"P1": ENTRY}, {})
    (tmp_path / "P1.jsonl").write_bytes(json.dumps(ROW).encode() + b"\n" + line)
    with pytest.raises(ProbeFormatError) as caught:
        read_probe_folder(tmp_path, "p")
    assert str(caught.value).startswith(f"{tmp_path / 'P1.jsonl'}:{message}")


# What a metadata entry says, the line of the error in the layout of `write`, and what is said of it.
MALFORMED_ENTRIES = {
    "template without [Y]": (
        {"templates": ["[X] lies in [Y].", "[X] lies."]},
        5,
        "'[X] lies.' of 'P1' has no [Y]; each",
    ),
    "template without [X]": ({"templates": ["It lies in [Y]."]}, 4, "'It lies in [Y].' of 'P1' has no [X]; each"),
    "template with two [Y]": ({"templates": ["[X] [Y] [Y]"]}, 4, "'[X] [Y] [Y]' of 'P1' has [Y] 2 times; each"),
    "templates a text": ({"templates": "[X] [Y]"}, 3, "templates of 'P1' must be a list of texts; mend it"),
    "empty answer space": (
        {"answer_space_labels": []},
        3,
        "answer_space_labels of 'P1' must be a list of at least one",
    ),
    "answer space a text": ({"answer_space_labels": "Rome"}, 3, "answer_space_labels of 'P1' must be a list"),
    "candidate twice": (
        {"answer_space_labels": ["A", "B", "A"]},
        6,
        "candidate 'A' twice in answer_space_labels of 'P1'",
    ),
    "candidate a number": ({"answer_space_labels": ["A", 7]}, 3, "of 'P1': 7 is not a text; put it in quotes"),
    "candidate empty": ({"answer_space_labels": ["A", ""]}, 3, "of 'P1': '' is empty; give a text"),
    "fewer ids": (
        {"answer_space_labels": ["A", "B"], "answer_space_ids": ["Q1"]},
        7,
        "'P1' has 2 answer_space_labels and 1",
    ),
    "id twice": (
        {"answer_space_labels": ["A", "B"], "answer_space_ids": ["Q", "Q"]},
        9,
        "candidate 'Q' twice in answer_",
    ),
    "ids only": (
        {"answer_space_ids": ["Q1"]},
        3,
        "'P1' has answer_space_ids but no answer_space_labels; add the labels",
    ),
}


@pytest.mark.parametrize(("entry", "line", "message"), MALFORMED_ENTRIES.values(), ids=MALFORMED_ENTRIES)
def test_malformed_metadata_names_file_line_and_mend(
    tmp_path: Path, entry: dict[str, Any], line: int, message: str
) -> None:
    write(tmp_path, {"P1": entry}, {"P1": [without(ROW, "answer_idx")]})
    with pytest.raises(ProbeFormatError) as caught:
        read_probe_folder(tmp_path, "p")
    assert str(caught.value).startswith(f"{tmp_path / 'metadata_relations.json'}:{line}: ")
    assert message in str(caught.value)


def test_relation_named_twice_in_the_metadata(tmp_path: Path) -> None:
    (tmp_path / "metadata_relations.json").write_text('{"P1": {},\n "P2": {},\n "P1": {}}')
    with pytest.raises(ProbeFormatError, match=r'metadata_relations.json:3: key "P1" twice in one object'):
        read_probe_folder(tmp_path, "p")


def test_entry_that_is_no_object(tmp_path: Path) -> None:
    write(tmp_path, {"P1": []}, {"P1": [ROW]})
    with pytest.raises(ProbeFormatError, match=r"metadata_relations.json:2: entry of 'P1' must be an object; mend it"):
        read_probe_folder(tmp_path, "p")


def test_files_that_do_not_belong_together(tmp_path: Path) -> None:
    folder = write(tmp_path, {"P1": ENTRY}, {"P1": [], "P2": [ROW]})
    with pytest.raises(
        ProbeFormatError, match=r"P2.jsonl:1: metadata_relations.json has no entry 'P2'; add it or move"
    ):
        read_probe_folder(folder, "p")
    (folder / "P2.jsonl").unlink()
    with pytest.raises(ProbeFormatError, match=r"P1.jsonl:1: no line in the file; add instances or remove"):
        read_probe_folder(folder, "p")
    (folder / "P1.jsonl").unlink()
    with pytest.raises(ProbeFormatError, match=r"metadata_relations.json:1: none of its relations has a file"):
        read_probe_folder(folder, "p")
    (folder / "metadata_relations.json").unlink()
    with pytest.raises(ProbeFormatError, match=r"metadata_relations.json: cannot be read \(No such file"):
        read_probe_folder(folder, "p")


DERIVED = {
    "label of two ids": (
        OTHER | {"obj_label": "Italy"},
        "candidate 'Italy' has id 'Q20' here and 'Q38' in line 1; a cand",
    ),
    "id of two labels": (
        OTHER | {"obj_id": "Q38"},
        "id 'Q38' is 'Norway' here and 'Italy' in line 1; a candidate is one",
    ),
    "another order": (
        OTHER | {"answer_idx": 5},
        "answer_idx is 5, but by first appearance of the answers it would be 1",
    ),
}


@pytest.mark.parametrize(("row", "message"), DERIVED.values(), ids=DERIVED)
def test_rows_that_contradict_a_derived_answer_space(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    write(tmp_path, {"P1": {"templates": ENTRY["templates"]}}, {"P1": [ROW, row]})
    with pytest.raises(ProbeFormatError) as caught:
        read_probe_folder(tmp_path, "p")
    assert str(caught.value).startswith(f"{tmp_path / 'P1.jsonl'}:2: {message}")


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


@settings(max_examples=30, deadline=None)
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
    assert len(probe.notes) == 3


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
