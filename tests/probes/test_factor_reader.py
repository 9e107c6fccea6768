"""FACTOR's files: columns, order of the candidates, what is refused; and the real expert set."""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from calprobe.errors import DataMissingError, ProbeFormatError, UsageError
from calprobe.probes import load_probe
from calprobe.probes.factor import COMPLETIONS, CONTEXT, read_factor

MADE_UP = Path(__file__).resolve().parent.parent / "data" / "factor" / "made_up.csv"
HEADER = f"{CONTEXT},{','.join(COMPLETIONS)}\n"


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def test_a_file_is_one_relation_of_instances_with_their_own_candidates() -> None:
    probe = load_probe(MADE_UP)
    (relation,) = probe.relations
    assert (probe.name, relation.name, probe.own_templates, probe.notes) == ("made_up", "made_up", None, ())
    assert (relation.scored, relation.templates, relation.candidates) == ("completion", ("[X] [Y]",), ())
    assert (relation.n_candidates, relation.n_statements, relation.cardinality) == (4, 20, "1:1")
    rows = rows_of(MADE_UP)
    assert [instance.index for instance in relation.instances] == list(range(len(rows)))
    for instance, row in zip(relation.instances, rows, strict=True):
        assert instance.subject == row[CONTEXT]
        found = relation.candidates_of(instance)
        assert found[instance.answer_idx] == row["completion"].lstrip(" ")
        assert sorted(found) == sorted(row[column].lstrip(" ") for column in COMPLETIONS)


def test_the_order_of_candidates_is_that_of_the_row_number(tmp_path: Path) -> None:
    rows = "".join(f"context {row},right,wrong one,wrong two,wrong three\n" for row in range(400))
    (relation,) = read_factor(write(tmp_path / "a.csv", HEADER + rows), "a").relations
    places = Counter(instance.answer_idx for instance in relation.instances)
    assert all(70 <= places[place] <= 130 for place in range(4))  # 100 expected, standard deviation 8.7
    assert len({instance.candidates for instance in relation.instances}) == 24
    # The first rows by hand, from sha256 of 0/row/column: a new order would make runs of old and new differ.
    assert [instance.answer_idx for instance in relation.instances[:8]] == FIRST_PLACES
    fewer = read_factor(write(tmp_path / "b.csv", HEADER + rows[: rows.index("context 9,")]), "b").relations[0]
    assert fewer.instances == relation.instances[:9]


FIRST_PLACES = [1, 2, 1, 2, 1, 0, 0, 1]


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", " the file is empty; give FACTOR's CSV"),
        ("full_prefix,completion\n", f"1: column '{CONTEXT}' is missing; add it"),
        ("subject,answer\nFrance,Paris\n", "1: none of FACTOR's columns"),
        (HEADER.replace("contradiction_2", "contradiction_1"), "1: column 'contradiction_1' is there 2 times; leave"),
        (HEADER.replace("contradiction_2", "other"), "1: column 'contradiction_2' is missing; add it"),
        (HEADER, "1: no row below the header; give one"),
        (HEADER + 'a,b,c,d,e\n"x\ny",b,c,d,e\na, ,c,d,e\n', "5: completion is empty; give a text or remove the row"),
        (HEADER + '"\n",b,c,d,e\n', f"2: {CONTEXT} is empty; give a text or remove the row"),
        (HEADER + "a,b,c,d\n", "2: 4 fields, 5 in the header; fix the line"),
        (HEADER + '"x\ny",b,c,d,e\n"a,b,c,d,e\n', "4: not CSV"),
        ((HEADER + "a,b,c,d,Malm\xf6\n").encode("latin-1"), "2: not UTF-8 (byte 0xf6); save the file as UTF-8"),
    ],
)
def test_errors_name_file_line_and_column(text: str | bytes, said: str, tmp_path: Path) -> None:
    path = write(tmp_path / "odd.csv", text)
    with pytest.raises(ProbeFormatError) as caught:
        load_probe(path)
    assert str(caught.value).startswith(f"{path}:{said}")


def test_a_byte_order_mark_and_blank_lines_are_no_matter(tmp_path: Path) -> None:
    text = f"\ufeff{HEADER}\na,b,c,d,e\n\nf,g,h,i,j\n"
    (relation,) = load_probe(write(tmp_path / "UPPER.CSV", text)).relations
    assert [(instance.index, instance.subject) for instance in relation.instances] == [(0, "a"), (1, "f")]


def test_a_completion_that_stands_twice_is_noted(tmp_path: Path) -> None:
    probe = load_probe(write(tmp_path / "twice.csv", HEADER + "a,b,c,d,e\na,b,c, b,e\n"))
    assert probe.notes == ("The same completion twice in rows (from 0) 1.",)


def test_fingerprints_are_of_the_texts(tmp_path: Path) -> None:
    text = HEADER + "a,b,c,d,e\nf,g,h,i,j\n"
    first = load_probe(write(tmp_path / "x.csv", text))
    (tmp_path / "other").mkdir()
    other = load_probe(write(tmp_path / "other" / "x.csv", "note," + text.replace("\n", "\n,")[:-1]))
    assert replace(other, path=first.path) == first
    assert other.path == str((tmp_path / "other" / "x.csv").resolve())
    for change in (
        text.replace("a,", "A,"),
        text.replace("j", "J"),
        text.replace("g,h", "h,g"),
        text[: -len("f,g,h,i,j\n")],
    ):
        assert load_probe(write(tmp_path / "other" / "x.csv", change)).fingerprint != first.fingerprint


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no probe '.*wiki\.csv': neither a folder nor .*, nor a CSV file"):
        load_probe(tmp_path / "wiki.csv")


def test_factor_is_found_below_the_data_root_or_missed_with_its_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CALPROBE_DATA", str(tmp_path))
    with pytest.raises(DataMissingError, match=r"factor/expert_factor\.csv.* run `calprobe fetch factor`") as caught:
        load_probe("factor")
    assert caught.value.exit_code == 3
    (tmp_path / "factor").mkdir()
    write(tmp_path / "factor" / "expert_factor.csv", HEADER + "a,b,c,d,e\n")  # not of the right size
    with pytest.raises(DataMissingError, match="missing or damaged"):
        load_probe("factor")


def test_the_expert_set(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALPROBE_DATA", str(shared))
    probe = load_probe("factor")
    (relation,) = probe.relations
    assert (probe.name, relation.name, len(relation.instances), probe.notes) == ("factor", "expert_factor", 236, ())
    rows = rows_of(shared / "factor" / "expert_factor.csv")
    assert [i.subject for i in relation.instances] == [row[CONTEXT] for row in rows]
    answers = [relation.candidates_of(i)[i.answer_idx] for i in relation.instances]
    assert answers == [row["completion"] for row in rows]
    assert min(Counter(i.answer_idx for i in relation.instances).values()) > 40
    assert load_probe(shared / "factor" / "expert_factor.csv").fingerprint == probe.fingerprint
