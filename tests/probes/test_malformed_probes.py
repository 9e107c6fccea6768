"""Probe folders that cannot be read: every error names file, line and fix."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from probe_folders import ENTRY, OTHER, ROW, without, write

from calprobe.errors import ProbeFormatError
from calprobe.probes.probe_folder import read_probe_folder

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
    "label disagrees": (ROW | {"answer_idx": 1}, "answer_idx 1 is 'Norway', but obj_label is 'Italy'; fix one"),
    "id disagrees": (ROW | {"obj_id": "Q20"}, "answer_idx 0 has id 'Q38', but obj_id is 'Q20'; fix one"),
    "subject a number": (ROW | {"sub_label": 7}, "sub_label 7 is not a text; put it in quotes"),
    "answer empty": (ROW | {"obj_label": " "}, "obj_label ' ' is empty; give a text"),
    "id a number": (ROW | {"sub_id": 1}, "sub_id 1 is not a text; give Wikidata's number or leave it out"),
    "half a character": (ROW | {"sub_label": "\ud83c"}, "holds half of a surrogate pair; write the full character"),
}


@pytest.mark.parametrize(("row", "message"), MALFORMED_ROWS.values(), ids=MALFORMED_ROWS)
def test_malformed_rows_name_file_line_and_fix(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    write(tmp_path, {"P1": ENTRY}, {"P1": [OTHER, row]})
    with pytest.raises(ProbeFormatError) as caught:
        read_probe_folder(tmp_path, "p")
    assert str(caught.value).startswith(f"{tmp_path / 'P1.jsonl'}:2: ")
    assert message in str(caught.value)


MALFORMED_LINES = {
    "not JSON": (b'{"sub_label": \n', "2: not JSON (Expecting value, column 15); fix the line"),
    "not an object": (b'["Rome"]\n', "2: a JSON array where an object {..} belongs; fix it"),
    "not UTF-8": ("Malmö\n".encode("latin-1"), "2: not UTF-8 (byte 0xf6); save the file as UTF-8"),
    "empty line": (b"\n", "2: empty line; remove it"),
    "repeated key": (b'{"sub_label": "a", "sub_label": "b"}\n', '2: key "sub_label" twice in one object; remove one'),
    "nested too deeply": (b"[" * 100_000, "2: "),
    "more digits than Python reads": (b'{"answer_idx": ' + b"7" * 5000 + b"}", "2: not JSON (Exceeds the limit"),
}


@pytest.mark.parametrize(("line", "message"), MALFORMED_LINES.values(), ids=MALFORMED_LINES)
def test_malformed_lines_name_file_line_and_fix(tmp_path: Path, line: bytes, message: str) -> None:
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
    "templates a text": ({"templates": "[X] [Y]"}, 3, "templates of 'P1' must be a list of texts; fix it"),
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
def test_malformed_metadata_names_file_line_and_fix(
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
    with pytest.raises(ProbeFormatError, match=r"metadata_relations.json:2: entry of 'P1' must be an object; fix it"):
        read_probe_folder(tmp_path, "p")


def test_files_that_do_not_belong_together(tmp_path: Path) -> None:
    folder = write(tmp_path, {"P1": ENTRY}, {"P1": [], "P2": [ROW]})
    with pytest.raises(
        ProbeFormatError, match=r"P2.jsonl:1: metadata_relations.json has no entry 'P2'; add it or move"
    ):
        read_probe_folder(folder, "p")
    (folder / "P2.jsonl").unlink()
    with pytest.raises(ProbeFormatError, match=r"P1.jsonl: empty file; add instances or remove"):
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
