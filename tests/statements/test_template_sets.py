"""Template sets: their forms, numbers and kinds, and the choice by `--templates`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from probe_folders import ENTRY, OTHER, ROW, write

from calprobe.errors import DataMissingError, ProbeFormatError, UsageError
from calprobe.probes import Instance, Probe, Relation, load_probe
from calprobe.statements import (
    Template,
    TemplateSet,
    default_template_set,
    load_template_set,
    select_templates,
)

VERBAL = ["[X] is possibly [Y].", "[X] is certainly [Y]."]
NUMERIC = [f"I'm {percent}% confident that [X] is [Y]." for percent in (0, 25, 50, 75, 100)]
PARAPHRASES = ["[X] is [Y].", "[Y] is [X].", "[X]: [Y]."]
KEYED = {"paraphrases": PARAPHRASES, "verbal": VERBAL, "numeric": NUMERIC}
FLAT = {"templates": [*PARAPHRASES, *VERBAL, *NUMERIC], "answer_space_labels": ["a"]}
EXPECTED_KINDS = [
    *[("paraphrase", None)] * 3,
    ("verbal", "possibly"),
    ("verbal", "certainly"),
    *[("numeric", percent) for percent in ("0", "25", "50", "75", "100")],
]


def probe_of(name: str = "p", **templates: tuple[str, ...]) -> Probe:
    relations = tuple(
        Relation(relation, ("a", "b"), (Instance(0, "x", 0),), texts) for relation, texts in templates.items()
    )
    return Probe(name, relations, "0" * 64)


def set_of(tmp_path: Path, **entries: Any) -> TemplateSet:
    path = tmp_path / "set.json"
    path.write_text(json.dumps(entries, indent=1))
    return load_template_set(str(path), probe_of(P1=()))


@pytest.mark.parametrize("entry", [KEYED, FLAT], ids=["keyed", "flat"])
def test_both_forms_give_the_same_templates(tmp_path: Path, entry: dict[str, Any]) -> None:
    templates = set_of(tmp_path, P1=entry).templates["P1"]
    assert [template.number for template in templates] == list(range(10))
    assert [template.text for template in templates] == [*PARAPHRASES, *VERBAL, *NUMERIC]
    assert [(template.kind, template.marker) for template in templates] == EXPECTED_KINDS


def test_keyed_form_takes_markers_by_position_not_from_the_words(tmp_path: Path) -> None:
    by_hand = {"paraphrases": ["[X] [Y]"], "verbal": ["Maybe [X] is [Y].", "[X] is [Y], for sure."]}
    templates = set_of(tmp_path, P1=by_hand).templates["P1"]
    assert templates[1:] == (
        Template(1, "Maybe [X] is [Y].", "verbal", "possibly"),
        Template(2, "[X] is [Y], for sure.", "verbal", "certainly"),
    )


def test_flat_form_reads_kinds_wherever_the_words_stand() -> None:
    texts = ("Possibly, [X] is [Y].", "Impossibly, [X] is [Y].", "I am 50% confident [X] is [Y].", "[X] is 50% [Y].")
    templates = load_template_set("native", probe_of(P1=texts)).templates["P1"]
    assert [(template.kind, template.marker) for template in templates] == [
        ("verbal", "possibly"),
        ("paraphrase", None),
        ("numeric", "50"),
        ("paraphrase", None),
    ]


MALFORMED = {
    "no templates": ({"texts": []}, 2, "'P1' must have either 'templates' or 'paraphrases'"),
    "both forms": ({"templates": [], "paraphrases": []}, 2, "'P1' must have either 'templates' or 'paraphrases'"),
    "no object": (["[X] [Y]"], 2, "'P1' must be an object with 'templates' or 'paraphrases'"),
    "three verbal": (
        KEYED | {"verbal": [*VERBAL, "[X] [Y]"]},
        8,
        "'verbal' of 'P1' has 3 texts; give 2: possibly, cert",
    ),
    "four numeric": (KEYED | {"numeric": NUMERIC[:4]}, 12, "'numeric' of 'P1' has 4 texts; give 5: 0, 25, 50, 75, 100"),
    "no slot": ({"paraphrases": ["[X] is [Y].", "[X] is."]}, 5, "template '[X] is.' of 'P1' has no [Y]; each slot"),
    "not texts": ({"templates": [1]}, 3, "templates of 'P1' must be a list of texts"),
}


@pytest.mark.parametrize(("entry", "line", "message"), MALFORMED.values(), ids=MALFORMED)
def test_malformed_files_name_file_line_and_fix(tmp_path: Path, entry: Any, line: int, message: str) -> None:
    with pytest.raises(ProbeFormatError) as caught:
        set_of(tmp_path, P1=entry)
    assert str(caught.value).startswith(f"{tmp_path / 'set.json'}:{line}: {message}")


def test_default_sets() -> None:
    assert default_template_set(load_probe("mini")) == "calprobe"
    assert default_template_set(probe_of("x")) == "native"


@pytest.mark.parametrize("name", ["bear", "mini"])
def test_a_folder_keeps_its_own_templates_whatever_its_name(tmp_path: Path, name: str) -> None:
    folder = load_probe(write(tmp_path / name, {"P1": ENTRY}, {"P1": [ROW, OTHER]}))
    assert folder.name == name
    assert default_template_set(folder) == "native"


@pytest.mark.proof
def test_the_fetched_bear_has_the_projects_templates_and_bear_big_its_own(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CALPROBE_DATA", str(shared))
    assert default_template_set(load_probe("bear")) == "calprobe"
    assert default_template_set(load_probe("bear-big")) == "native"
    assert default_template_set(load_probe(shared / "bear" / "BEAR")) == "native"


@pytest.mark.parametrize("name", ["atlas", "bear", "mini"])
def test_the_projects_set_goes_by_a_folders_relations(name: str) -> None:
    of_mini = load_template_set("calprobe", probe_of(name, capital=(), month=()))
    assert of_mini == load_template_set("calprobe", load_probe("mini"))
    assert "P30" in load_template_set("calprobe", probe_of(name, P30=(), P36=())).templates


def test_own_set_of_mini_covers_its_relations() -> None:
    probe = load_probe("mini")
    names = [relation.name for relation in probe.relations]
    own = load_template_set("calprobe", probe)
    assert select_templates(own, "all", names) == tuple(range(12))
    assert select_templates(own, "paraphrases", names) == (0, 1, 2, 3, 4)


def test_unknown_set() -> None:
    with pytest.raises(
        UsageError, match=r"no template set 'mine.json'; give calprobe, native, kissling2026 or the path"
    ):
        load_template_set("mine.json", probe_of(P1=()))


def test_paper_set_is_found_where_it_was_fetched(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALPROBE_DATA", str(shared))
    templates = load_template_set("kissling2026", probe_of(P30=()))
    names = list(templates.templates)
    assert len(names) == 60
    assert select_templates(templates, "paraphrases", names) == (0, 1, 2, 3, 4)
    assert select_templates(templates, "verbal,numeric", names) == (5, 6, 7, 8, 9, 10, 11)
    assert [template.marker for template in templates.templates["P30"][5:]] == [
        "possibly", "certainly", "0", "25", "50", "75", "100",
    ]  # fmt: skip
    monkeypatch.setenv("CALPROBE_DATA", str(tmp_path))
    with pytest.raises(DataMissingError, match="run `calprobe fetch kissling2026`"):
        load_template_set("kissling2026", probe_of(P30=()))


@pytest.mark.parametrize(
    ("spec", "numbers"),
    [
        ("0", (0,)),
        ("2,0,2", (0, 2)),
        ("0-2", (0, 1, 2)),
        ("1-1,verbal", (1, 3, 4)),
        (" 2-3 , 0-1", (0, 1, 2, 3)),
        ("paraphrases", (0, 1, 2)),
        (" 0 , verbal", (0, 3, 4)),
        ("all", tuple(range(10))),
    ],
)
def test_select(tmp_path: Path, spec: str, numbers: tuple[int, ...]) -> None:
    assert select_templates(set_of(tmp_path, P1=KEYED, P2=FLAT), spec, ["P1", "P2"]) == numbers


@pytest.mark.parametrize(
    ("spec", "relations", "message"),
    [
        (
            "0,many",
            ["P1"],
            "'many' is neither a number, a range such as 0-4, nor one of paraphrases, verbal",
        ),
        ("4-0", ["P1"], "range 4-0 goes down; write 0-4$"),
        ("0-10", ["P1"], "range 0-10 goes beyond template 9, the last of set .*; write 0-9$"),
        ("0-999999999", ["P1"], "range 0-999999999 goes beyond template 9"),
        ("0-2", ["P1", "short"], "has no template 2 for short; all relations have 0, 1$"),
        ("0-", ["P1"], "'0-' is neither a number"),
        ("1-2-3", ["P1"], "'1-2-3' is neither a number"),
        ("-1", ["P1"], "'-1' is neither a number"),
        ("", ["P1"], "'' is neither a number"),
        ("²", ["P1"], "'²' is neither a number"),
        ("2", ["P1", "short"], "has no template 2 for short; all relations have 0, 1$"),
        ("12", ["P1"], "has no template 12 for P1; all relations have 0, 1, 2, 3, 4, 5, 6, 7, 8, 9$"),
        ("all", ["P1", "short"], "has no template 2 for short"),
        ("verbal", ["short"], "has no verbal templates; choose numbers"),
        ("0", ["P1", "gone", "away"], "has no templates for gone, away; choose another --template-set or other --rel"),
        ("0", ["P1", "odd"], "template 0 of set .* differs in kind: paraphrase in P1, possibly in odd"),
    ],
)
def test_select_says_what_is_wrong(tmp_path: Path, spec: str, relations: list[str], message: str) -> None:
    templates = set_of(tmp_path, P1=KEYED, short={"templates": PARAPHRASES[:2]}, odd={"templates": VERBAL})
    with pytest.raises(UsageError, match=message):
        select_templates(templates, spec, relations)


def test_many_lacking_relations_are_counted(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="for R0, R1, R2, R3, R4 and 3 more relations; choose"):
        select_templates(set_of(tmp_path, P1=KEYED), "0", [f"R{n}" for n in range(8)])
    with pytest.raises(UsageError, match="for R0, R1, R2, R3, R4 and 1 more relation; choose"):
        select_templates(set_of(tmp_path, P1=KEYED), "0", [f"R{n}" for n in range(6)])


def test_template_by_number(tmp_path: Path) -> None:
    templates = set_of(tmp_path, P1=KEYED)
    assert templates.template("P1", 3) == Template(3, VERBAL[0], "verbal", "possibly")
    for relation, number in (("P1", 10), ("P2", 0)):
        with pytest.raises(KeyError):
            templates.template(relation, number)


def test_fingerprint_is_of_the_chosen_texts_alone(tmp_path: Path) -> None:
    first = set_of(tmp_path, P1=KEYED, P2=FLAT)
    second = set_of(tmp_path, P2=FLAT | {"templates": [*PARAPHRASES, "[X]; [Y]."]}, P1=FLAT)
    assert first.fingerprint(["P1", "P2"], [0, 1]) == second.fingerprint(["P2", "P1"], [1, 0, 1])
    assert first.fingerprint(["P1"], range(10)) == second.fingerprint(["P1"], range(10))
    assert first.fingerprint(["P2"], [3]) != second.fingerprint(["P2"], [3])
    assert first.fingerprint(["P1"], [0]) != first.fingerprint(["P1"], [1])
    assert first.fingerprint(["P1"], [0]) != first.fingerprint(["P2"], [0])
