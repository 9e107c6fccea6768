"""The bundled probe `mini` and its templates: what its README says is so, and every sentence it makes is in order."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from calprobe.probes import Probe, Relation, load_probe
from calprobe.probes.types import slot_fault
from calprobe.statements import TemplateSet, load_template_set, statements_of

FOLDER = Path(str(resources.files("calprobe.probes"))) / "mini"
ROW_KEYS = ["sub_id", "sub_label", "obj_id", "obj_label", "answer_idx"]
# Words that would need "an" in front of a template's "a", or the other way about.
WRONG_ARTICLE = re.compile(r"\b(?:a [aeiou]|an [^aeiou])", re.IGNORECASE)


def metadata() -> dict[str, Any]:
    content: dict[str, Any] = json.loads((FOLDER / "metadata_relations.json").read_text(encoding="utf-8"))
    return content


def rows(relation: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / f"{relation}.jsonl").read_text(encoding="utf-8").splitlines()]


RELATIONS = list(metadata())


@pytest.fixture(scope="module")
def mini() -> Probe:
    return load_probe("mini")


@pytest.fixture(scope="module")
def templates(mini: Probe) -> TemplateSet:
    return load_template_set("calprobe", mini)


def test_folder_holds_the_files_of_its_relations_and_no_others() -> None:
    described = {"metadata_relations.json", "relation_info.json", "README.md", "LICENSE"}
    assert {path.name for path in FOLDER.iterdir()} == described | {f"{relation}.jsonl" for relation in RELATIONS}


def test_every_relation_has_domains() -> None:
    info = json.loads((FOLDER / "relation_info.json").read_text(encoding="utf-8"))
    assert list(info) == RELATIONS
    assert all(entry["domains"] and set(entry) == {"domains"} for entry in info.values())


def test_licence_is_cc0_in_full() -> None:
    text = (FOLDER / "LICENSE").read_text(encoding="utf-8")
    assert "CC0 1.0 Universal" in text
    sections = ("1. Copyright and Related Rights.", "2. Waiver.", "3. Public License Fallback.", "4. Limitations")
    assert [section for section in sections if f"\n{section}" not in text] == []
    assert text.rstrip().endswith("this CC0 or use of the Work.")


@pytest.mark.parametrize("relation", RELATIONS)
def test_rows_are_complete_and_name_their_answer(relation: str) -> None:
    entry = metadata()[relation]
    labels, ids = entry["answer_space_labels"], entry["answer_space_ids"]
    for row in rows(relation):
        assert list(row) == ROW_KEYS
        assert 0 <= row["answer_idx"] < len(labels)
        assert labels[row["answer_idx"]] == row["obj_label"]
        assert ids[row["answer_idx"]] == row["obj_id"]
        assert re.fullmatch(rf"{relation}/[a-z0-9]+(-[a-z0-9]+)*", row["sub_id"])


@pytest.mark.parametrize("relation", RELATIONS)
def test_subjects_and_candidates_are_unique_and_in_order(relation: str) -> None:
    subjects = [row["sub_label"].casefold() for row in rows(relation)]
    assert len(set(subjects)) == len(subjects)
    identifiers = [row["sub_id"] for row in rows(relation)]
    assert len(set(identifiers)) == len(identifiers)
    labels = [label.casefold() for label in metadata()[relation]["answer_space_labels"]]
    assert len(set(labels)) == len(labels)
    ids = metadata()[relation]["answer_space_ids"]
    assert all(before < after for before, after in pairwise(ids)), "answer spaces are alphabetical"


@pytest.mark.parametrize("relation", RELATIONS)
def test_labels_are_clean_text(relation: str) -> None:
    labels = [row["sub_label"] for row in rows(relation)] + metadata()[relation]["answer_space_labels"]
    for label in labels:
        assert label == " ".join(label.split()), "stray white space"
        assert unicodedata.is_normalized("NFC", label)
        assert label.isprintable()
        assert not re.search(r"[\[\]]|[.,;:!?]$", label), "a slot, or a sentence's punctuation"


def test_size_and_shape_are_within_the_limits(mini: Probe) -> None:
    assert len(mini.relations) >= 12
    assert 550 <= mini.n_instances <= 650
    assert 7_700 <= sum(relation.n_statements for relation in mini.relations) <= 8_300
    assert Counter(relation.cardinality for relation in mini.relations)["1:1"] >= 4
    sizes = sorted(len(relation.candidates) for relation in mini.relations)
    assert sizes[0] >= 4
    assert 40 <= sizes[-2] <= sizes[-1] <= 50


@pytest.mark.parametrize("name", RELATIONS)
def test_answers_are_balanced(name: str, mini: Probe) -> None:
    relation = mini.relation(name)
    uses = Counter(instance.answer_idx for instance in relation.instances)
    assert len(uses) == len(relation.candidates), "a candidate that is never right"
    if relation.cardinality == "N:1":
        assert min(uses.values()) >= 2
        assert max(uses.values()) * 3 <= len(relation.instances)


def test_first_instances_have_different_answers(mini: Probe) -> None:
    for relation in mini.relations:
        first = relation.instances[: len(relation.candidates)]
        assert len({instance.answer_idx for instance in first}) == len(first), relation.name


def test_probe_has_no_oddities(mini: Probe) -> None:
    (note,) = mini.notes
    assert note.endswith("With a small letter begin 102 candidates and 229 subjects.")
    assert [relation.name for relation in mini.relations] == RELATIONS


def _readme_line(relation: Relation) -> str:
    first, size, n_candidates = relation.instances[0], len(relation.instances), len(relation.candidates)
    fact = f"{first.subject}: {relation.candidates[first.answer_idx]}"
    return (
        f"| {relation.name} | {relation.cardinality} | {size} | {n_candidates} | {relation.n_statements:,} | {fact} |"
    )


def test_readme_counts_are_the_files_counts(mini: Probe) -> None:
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    table = [line for line in readme.splitlines() if line.startswith("|")]
    n_statements = sum(relation.n_statements for relation in mini.relations)
    assert table[2:-1] == [_readme_line(relation) for relation in mini.relations]
    assert table[-1] == f"| all | | {mini.n_instances} | | {n_statements:,} | |"
    sizes = [len(relation.instances) for relation in mini.relations]
    assert f"{mini.n_instances} facts of common knowledge in {len(mini.relations)} relations" in readme
    assert f"One template makes {n_statements:,} statements" in readme
    assert f"({min(sizes)} to {max(sizes)} instances)" in readme


def test_templates_cover_the_relations_and_native_ones_are_their_first_three(
    mini: Probe, templates: TemplateSet
) -> None:
    assert list(templates.templates) == RELATIONS
    for relation in mini.relations:
        assert relation.templates == tuple(t.text for t in templates.templates[relation.name][:3])


@pytest.mark.parametrize("name", RELATIONS)
def test_templates_are_as_described(name: str, templates: TemplateSet) -> None:
    own = templates.templates[name]
    assert [(t.kind, t.marker) for t in own] == [
        *[("paraphrase", None)] * 5,
        *[("verbal", marker) for marker in ("possibly", "certainly")],
        *[("numeric", marker) for marker in ("0", "25", "50", "75", "100")],
    ]
    texts = [t.text for t in own]
    assert len(set(texts)) == len(texts)
    assert [text for text in texts if slot_fault(text)] == []
    subject_first = [text.index("[X]") < text.index("[Y]") for text in texts[:5]]
    assert subject_first[0]
    assert texts[0].endswith("[Y].")
    assert 3 <= sum(subject_first) <= 4, "at least three put the subject first, at least one the answer"


@pytest.mark.parametrize("name", RELATIONS)
def test_every_sentence_is_in_order(name: str, mini: Probe, templates: TemplateSet) -> None:
    for template in templates.templates[name]:
        for statement in statements_of(mini.relation(name), template.text):
            text = statement.text
            assert text[0] == text[0].upper()
            assert text.endswith(".")
            assert not text.endswith("..")
            assert text == " ".join(text.split())
            assert not re.search(r"\b(\w+) \1\b", text), f"a word twice: {text}"
            assert not WRONG_ARTICLE.search(text), f"article: {text}"
            if template.kind != "paraphrase":
                assert text.count(str(template.marker)) == 1
