"""Tables in Markdown: what is escaped, what is marked, how lines align."""

from __future__ import annotations

import pytest

from calprobe.metrics import Difference, Estimate
from calprobe.show.tables import Column, Row, Table, markdown
from calprobe.show.tables.markdown import escape

TABLE = Table(
    caption="ACE of a_b | c.",
    label="x",
    stub="estimator",
    columns=(Column("ACE", "smaller"), Column("vote", heading="a|b"), Column("hidden", printed=False)),
    rows=(
        Row("base", (Estimate(0.25, 0.1, 0.4), "<i>", 0.5), group="intrinsic: templates 0-4 and 5"),
        Row("vote_2", (Estimate(0.125), 7731, 0.5), group="intrinsic: templates 0-4 and 5", note="3 failed"),
        Row("none", (Estimate(float("nan")), None, 0.5)),
        Row("difference", (Difference(-0.125, -0.2, 0.1), Difference(0.0), 0.5), ranked=False),
    ),
    heading=("1. runs/<x>: complete", "model *m*"),
    notes=("- Smaller is better.", "Two."),
)


def test_a_table() -> None:
    assert markdown([TABLE]).splitlines() == [
        r"1\. runs/&lt;x&gt;: complete" + "\\",
        r"model \*m\*",
        "",
        r"**ACE of a_b \| c.**",
        "",
        r"| estimator         |                      ACE | a\|b vote |",
        "| ----------------- | -----------------------: | --------: |",
        "| *intrinsic: templates 0-4 and 5* |                          |           |",
        "| base              |       0.2500 (.100-.400) | &lt;i&gt; |",
        "| vote_2 (3 failed) |               **0.1250** |     7,731 |",
        "| none              |                undefined |         - |",
        "| difference        | -0.1250 (-.200 to +.100) |   +0.0000 |",
        "",
        r"- \- Smaller is better.",
        "- Two.",
        "- Bold: best value of its column; values that print alike share the mark.",
    ]


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a_b_c", "a_b_c"),  # no emphasis within a word
        ("_a_ __b", r"\_a\_ \_\_b"),
        ("a|b\\|c", r"a\|b\\\|c"),
        ("<script>&amp;", "&lt;script&gt;&amp;amp;"),
        ("[x](y) `c` ~~d~~ $e$ *f*", r"\[x\](y) \`c\` \~\~d\~\~ \$e\$ \*f\*"),
        ("two\nlines\r\n\tmore\u2028end", "two lines more end"),
        ("שלום 🙂 é", "שלום 🙂 é"),
    ],
)
def test_escaping(text: str, escaped: str) -> None:
    assert escape(text) == escaped


@pytest.mark.parametrize(
    ("text", "line"), [("# x", r"\# x"), ("-x", r"\-x"), ("12) x", r"12\) x"), ("../x", "../x"), ("12 x", "12 x")]
)
def test_no_line_begins_a_heading_or_a_list(text: str, line: str) -> None:
    table = Table("Caption.", "x", "run", (), (), heading=(text,))
    assert markdown([table]).splitlines()[0] == line


def test_every_line_of_a_table_has_as_many_cells() -> None:
    lines = [line.replace(r"\|", "") for line in markdown([TABLE]).splitlines() if line.startswith("|")]
    assert {line.count("|") for line in lines} == {4}
