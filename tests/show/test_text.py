"""Tables as text: what fits a width, what is said once, what a terminal and a pipe get."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from printed_tables import printed
from rich.console import Console

from calprobe.metrics import Difference, Estimate
from calprobe.show.tables import Column, Row, Table
from calprobe.show.tables.text import print_tables

NAN = float("nan")
TABLE = Table(
    caption="Caption.",
    label="x",
    stub="estimator",
    columns=(
        Column("ACE", "smaller", keys={"metric": "ace"}, priority=1),
        Column("a longer title", keys={"metric": "long"}, printed=False, priority=2),
        Column("Brier", "smaller", keys={"metric": "brier"}, priority=0),
        Column("in files alone", printed=False),
    ),
    rows=(
        Row("base", (Estimate(0.5, 0.1, 0.9), Estimate(0.25), Estimate(NAN), 1), group="plain: template 0"),
        Row("vote_2", (Estimate(0.25, 0.2, 0.3), None, Estimate(0.5, 0.4, 0.6), 1), group="votes", note="2 failed"),
    ),
    heading=("runs/[red]x[/red]: PARTIAL, 1 of 3 relations", "model tiny"),
    lead=("Before.",),
    notes=("After.",),
    general=("For all.",),
    directions=True,
    keys={"run": "runs/[red]x[/red]"},
)


def test_a_table() -> None:
    assert printed([TABLE]).splitlines() == [
        "runs/[red]x[/red]: PARTIAL, 1 of 3 relations",
        "model tiny",
        "Before.",
        "",
        "estimator        ACE a longer title     Brier",
        "plain: template 0",
        "  base        0.5000         0.2500 undefined",
        "           .100-.900",
        "votes",
        "  vote_2     *0.2500              -    0.5000",
        "  2 failed .200-.300                .400-.600",
        "After.",
        "",
        "For all.",
        "Smaller is better: ACE, Brier.",
        "*: best value of its column; values that print alike share the mark.",
    ]


@pytest.mark.parametrize(
    ("width", "titles", "hidden"),
    [(44, ["ACE", "Brier"], "long"), (45, ["ACE", "a", "longer", "title", "Brier"], ""), (20, ["Brier"], "ace, long")],
)
def test_columns_fit_by_their_priority(width: int, titles: list[str], hidden: str) -> None:
    lines = printed([TABLE], width).splitlines()
    (head,) = (line for line in lines if line.startswith("estimator"))
    assert head.split()[1:] == titles
    assert all(len(line) <= width for line in lines)
    said = f"Only with --format json or csv, or on a wider terminal: {hidden}."
    assert (said in " ".join(lines)) == bool(hidden)


def test_columns_below_one_heading_go_together() -> None:
    columns = (
        Column("all"),
        *(Column(title, heading=name, priority=place) for place, name in enumerate("ab") for title in ("ACE", "Brier")),
    )
    table = replace(TABLE, columns=columns, rows=(Row("row", (0.5, *map(Estimate, (0.1, 0.2, 0.3, 0.4)))),))
    lines = printed([table]).splitlines()
    assert lines[4] == "                                   a                   b"
    assert lines[5] == "estimator    all       ACE     Brier       ACE     Brier"
    assert lines[6] == "row       0.5000    0.1000    0.2000    0.3000    0.4000"
    narrow = printed([table], 50)
    assert "estimator    all       ACE     Brier\n" in narrow
    assert "terminal: b." in " ".join(narrow.split())


def test_a_heading_wider_than_its_columns_has_a_gap_before_it() -> None:
    columns = (Column("a", heading="accuracy"), Column("b", heading="a long heading"))
    table = Table("", "", "row", columns, (Row("one", (0.5, 1)),), best_within=None)
    assert printed([table]).splitlines() == [
        "    accuracy a long heading",
        "row        a              b",
        "one   0.5000              1",
    ]


def test_intervals_of_one_column_stand_beside_the_values() -> None:
    table = Table("", "", "number", (Column("ours"), Column("A - B"), Column("inside")), (), best_within=None)
    rows = (Row("first", (Estimate(0.5, 0.25, 0.75), Difference(0.125), "yes")), Row("b", (Estimate(0.5), None, "")))
    assert printed([replace(table, rows=rows)]).splitlines() == [
        "number             ours   A - B  inside",
        "first  0.5000 .250-.750 +0.1250  yes",
        "b      0.5000                 -",
    ]


def test_a_significant_row_ends_in_a_star() -> None:
    rows = (Row("row", (Difference(-0.25, -1.0, 1.0), 0.0499), significant=True),)
    table = Table("", "", "", (Column("A - B"), Column("p")), rows, best_within=None)
    assert printed([table]).splitlines()[1] == "row -0.2500 -1.000 to +1.000 0.0499 *"


@given(
    st.lists(st.tuples(st.integers(1, 64), st.booleans(), st.booleans(), st.booleans()), min_size=1, max_size=5),
    st.integers(2, 5),
)
def test_labels_without_room_stand_above_their_numbers(rows: list[tuple[int, bool, bool, bool]], columns: int) -> None:
    table = Table(
        "",
        "",
        "tree",
        tuple(Column(f"c{at}") for at in range(columns)),
        tuple(
            Row("x" * length, (Estimate(0.5, 0.1, 0.9),) * columns, "group" * grouped, "n 9" * noted, significant=star)
            for length, grouped, noted, star in rows
        ),
    )
    lines = printed([table], 80).splitlines()
    assert max(map(len, lines)) <= 80  # five columns of 10 and a star leave room for a label of 20
    assert sum(line.split()[-columns:] == ["0.5000"] * columns for line in map(unstarred, lines)) == len(rows)
    for length, *_ in rows:
        assert any("x" * length in line for line in lines)


def unstarred(line: str) -> str:
    return line.removesuffix(" *")


def test_what_holds_for_several_tables_is_said_once() -> None:
    other = replace(TABLE, heading=(TABLE.heading[0], "model other"), lead=(), notes=())
    text = printed([TABLE, replace(TABLE, lead=(), notes=()), other])
    for line in (*TABLE.heading, "For all.", "Smaller is better: ACE, Brier."):
        assert text.count(f"{line}\n") == 1
    assert text.count("estimator ") == 3
    assert "\n\nmodel other\n\nCaption.\nestimator " in text


def test_each_of_several_tables_has_its_caption() -> None:
    plain = replace(TABLE, heading=(), lead=(), notes=(), general=(), directions=False)
    ece, other = (
        replace(plain, caption="ECE."),
        replace(plain, caption="Other.", columns=(Column("n"), *TABLE.columns[1:])),
    )
    lines = printed([plain, ece, other]).splitlines()
    assert [line for line in lines if line in ("Caption.", "ECE.", "Other.")] == ["Caption.", "ECE.", "Other."]
    assert lines[:2] == ["Caption.", "estimator        ACE a longer title     Brier"]
    assert "ECE." not in printed([ece])


def test_one_hidden_column_more_than_are_named() -> None:
    columns = (Column("n"), *(Column("x" * 30, keys={"metric": f"m{i}"}, priority=i) for i in range(12)))
    table = replace(TABLE, columns=columns, rows=(Row("row", (1, *[0.5] * 12)),))
    assert "m10 and 1 other." in " ".join(printed([table], 60).split())


def test_a_table_without_rows_has_no_head() -> None:
    assert "estimator" not in printed([replace(TABLE, rows=())])


def test_wide_characters_stay_in_their_columns() -> None:
    rows = (Row("漢字", (Estimate(0.5),)), Row("ab", (Estimate(0.25),)))
    lines = printed([Table("", "", "", (Column("ACE"),), rows)]).splitlines()
    assert lines[1:3] == ["漢字    0.5000", "ab      0.2500"]


def test_a_pipe_gets_plain_text() -> None:
    text = printed([TABLE])
    assert "\x1b" not in text
    assert not any(line != line.rstrip() for line in text.splitlines())


def test_a_terminal_gets_bold_for_the_best() -> None:
    out = io.StringIO()
    print_tables(
        [TABLE], Console(file=out, width=80, force_terminal=True, color_system="standard", legacy_windows=False)
    )
    assert "\x1b[1m0.2500\x1b[0m" in out.getvalue()
    assert "\x1b[1;31mPARTIAL, 1 of 3 relations" in out.getvalue()
    assert "*" not in out.getvalue()
    assert "Bold: best value of its column" in out.getvalue()
