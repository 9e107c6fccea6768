"""Covariates from files: what is read, which facts it is of, and the groups that its values make."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from calprobe.errors import CalprobeError, DataMissingError, ProbeFormatError, UsageError
from calprobe.measures.covariates import Covariate, groups_of, quantile_groups, read_covariate

ROWS = "relation,instance,count,kind\nP30,0,12,old\nP30,1,,new\nP36,0,3.5,old\n"


def file_of(folder: Path, text: str, name: str = "facts.csv") -> str:
    (folder / name).write_text(text, "utf-8")
    return str(folder / name)


def test_a_column_of_each_kind_of_file(tmp_path: Path) -> None:
    path = file_of(tmp_path, ROWS)
    frame = pd.read_csv(path)
    frame.to_parquet(tmp_path / "facts.parquet")
    frame.to_json(tmp_path / "facts.jsonl", orient="records", lines=True)
    for name in ("facts.csv", "facts.parquet", "facts.jsonl"):
        found = read_covariate(f"{tmp_path / name}:count", 3)
        assert (found.name, found.file, found.key, found.numeric) == ("count", name, ("relation", "instance"), True)
        assert found.values == {("P30", "0"): 12.0, ("P36", "0"): 3.5}
        assert found.groups == 3
        texts = read_covariate(f"{tmp_path / name}:kind")
        assert not texts.numeric
        assert list(texts.values.values()) == ["old", "new", "old"]


def test_which_columns_say_what_a_row_is_of(tmp_path: Path) -> None:
    for header, key in (
        ("relation,subject,instance,x", ("relation", "instance")),
        ("relation,subject,x", ("relation", "subject")),
        ("subject,x", ("subject",)),
        ("question,set,x", ("set", "question")),
        ("question,x", ("question",)),
    ):
        row = ",".join("7" for _ in header.split(","))
        assert read_covariate(file_of(tmp_path, f"{header}\n{row}\n")).key == key
    parquet = tmp_path / "floats.parquet"  # where a column of line numbers has a gap, pandas makes it one of floats
    pd.DataFrame({"relation": ["a"], "instance": [3.0], "x": [True]}).to_parquet(parquet)
    found = read_covariate(str(parquet))
    assert found.values == {("a", "3"): "True"}


@pytest.mark.parametrize(
    ("text", "column", "error", "message"),
    [
        (ROWS, "", UsageError, "name one of its columns"),
        (ROWS, ":cuont", UsageError, "did you mean count"),
        ("a,b\n1,2\n", "", ProbeFormatError, "no column says what its rows are of"),
        ("subject,x\nA,1\nA,2\n", "", ProbeFormatError, "csv:3: A is there twice, with another x"),
        ("subject,x\n,1\n", "", ProbeFormatError, "csv:2: subject is empty"),
        ("subject,x\nA,\n", "", UsageError, "has no values"),
        ("subject\nA\n", "", UsageError, "no further column"),
        ("subject,x\n" + "".join(f"{n},t{n}\n" for n in range(101)), "", UsageError, "101 different texts"),
    ],
)
def test_what_a_file_cannot_be(
    tmp_path: Path, text: str, column: str, error: type[CalprobeError], message: str
) -> None:
    with pytest.raises(error, match=message):
        read_covariate(file_of(tmp_path, text) + column)


def test_files_that_are_not_there_or_no_tables(tmp_path: Path) -> None:
    for named in ("none.csv", "none.csv:x"):
        with pytest.raises(DataMissingError, match="no such file"):
            read_covariate(str(tmp_path / named))
    (tmp_path / "facts.txt").write_text("x")
    with pytest.raises(ProbeFormatError, match="not a table"):
        read_covariate(str(tmp_path / "facts.txt"))


def test_unknown_ids_are_named_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    values = {("P1", str(line)): float(line) for line in range(7)}
    covariate = Covariate("x", "f.csv", ("relation", "instance"), values, numeric=True)
    assert covariate.of([("P1", "2"), ("P9", "0")], "runs/a", complete=False) == (2.0, None)
    assert caplog.messages == ["f.csv: 6 rows of 7 ignored; runs/a does not have their relation/instance"]
    with pytest.raises(UsageError, match=r"runs/a has no relation/instance P1/0, P1/1, P1/3, .. \(6 unknown rows of 7"):
        covariate.of([("P1", "2")], "runs/a", complete=True)
    with pytest.raises(UsageError, match="7 unknown rows of 7"):
        covariate.of([("P9", "0")], "runs/a", complete=False)
    entities = Covariate("x", "f.csv", ("subject",), {("A",): 1.0, ("B",): 2.0}, numeric=True)
    assert entities.of([("A",)], "runs/a", complete=True) == (1.0,)  # a list of entities may be longer than a probe


@given(st.lists(st.integers(0, 12), min_size=1, max_size=60), st.integers(1, 6))
@example([0, 0, 0, 1, 2, 3], 3)  # the least number is an edge, too: pandas.qcut would drop that edge and join 0 and 1
def test_groups_are_those_of_pandas(values: list[int], groups: int) -> None:
    found = quantile_groups(values, groups)
    if len(set(values)) > groups:
        numbers = pd.Series(values, dtype=float)
        edges = np.unique(numbers.quantile(np.arange(1, groups) / groups))
        # Bins (edge, edge]; those that ties leave empty are counted, and the partition is the same.
        expected = pd.cut(numbers, [-np.inf, *edges, np.inf], labels=False)
        partition = [frozenset(np.flatnonzero(expected == code)) for code in sorted(set(expected))]
    else:
        partition = [frozenset(np.flatnonzero(np.array(values) == value)) for value in sorted(set(values))]
    assert [frozenset(np.flatnonzero(group.kept)) for group in found] == partition
    assert [(group.low, group.high) for group in found] == [
        (min(values[place] for place in own), max(values[place] for place in own)) for own in partition
    ]
    assert len({group.name for group in found}) == len(found)


def test_a_number_on_an_edge_is_in_the_group_below() -> None:
    found = quantile_groups([0, 0, 0, 1, 2, 3], 3)  # edges 0 and 4/3
    assert [np.flatnonzero(group.kept).tolist() for group in found] == [[0, 1, 2], [3], [4, 5]]


def test_names_of_ranges_have_the_digits_that_they_need() -> None:
    assert [group.name for group in quantile_groups([1200, 3400, 5600, 7800], 2)] == [
        "1,200 to 3,400",
        "5,600 to 7,800",
    ]
    assert [group.name for group in quantile_groups([0.1234, 0.1235, 0.5, 0.75], 2)] == [
        "0.1234 to 0.1235",
        "0.5 to 0.75",
    ]
    assert [group.name for group in quantile_groups([1.0, 1.0 + 1e-9], 2)] == ["1.0", "1.000000001"]


def test_what_has_no_value_is_the_last_group() -> None:
    texts = Covariate("kind", "f.csv", ("subject",), {}, numeric=False)
    found = groups_of(texts, ["b10", None, "b9", "b10"])
    assert [(group.name, group.kept.tolist()) for group in found] == [
        ("b9", [False, False, True, False]),
        ("b10", [True, False, False, True]),
        ("no kind", [False, True, False, False]),
    ]
    found = groups_of(texts, ["no kind", None, "b"])  # two groups of one name would be one in JSON
    assert [(group.name, int(group.kept.sum())) for group in found] == [("b", 1), ("no kind", 1), ("(no kind)", 1)]
    numbers = Covariate("n", "f.csv", ("subject",), {}, numeric=True, groups=2)
    found = groups_of(numbers, [1.0, 2.0, None])
    assert [(group.name, group.low, group.high) for group in found] == [("1", 1, 1), ("2", 2, 2), ("no n", None, None)]


@pytest.mark.parametrize("values", [[np.inf], [[1.0]]])
def test_numbers_that_cannot_be_grouped(values: list[float]) -> None:
    with pytest.raises(ValueError, match="values must"):
        quantile_groups(values)


def test_numbers_too_large_for_a_float_are_categories(tmp_path: Path) -> None:
    path = file_of(tmp_path, f'{{"question": "1", "x": 1{"0" * 400}}}\n{{"question": "2", "x": 3}}', "facts.jsonl")
    found = read_covariate(path)
    assert (found.numeric, found.values["2",]) == (False, "3")


def test_lines_of_a_json_file_are_counted_in_errors(tmp_path: Path) -> None:
    rows = [{"question": "1", "x": 1}, {"question": "1", "x": 2}]
    path = file_of(tmp_path, "\n".join(map(json.dumps, rows)), "facts.jsonl")
    with pytest.raises(ProbeFormatError, match=r"facts.jsonl:2: 1 is there twice"):
        read_covariate(path)


def test_a_column_called_subject_beside_questions(tmp_path: Path) -> None:
    found = read_covariate(file_of(tmp_path, "question,subject\nq1,law\nq2,art\n") + ":subject")
    assert (found.key, found.values) == (("question",), {("q1",): "law", ("q2",): "art"})
    with pytest.raises(UsageError, match="no 'topic' among its columns, and there is no other"):
        read_covariate(file_of(tmp_path, "question\nq1\n") + ":topic")
