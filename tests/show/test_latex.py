"""Tables in LaTeX: what is escaped, how it is set, and that pdflatex takes it, whatever is in a label."""

from __future__ import annotations

import shutil
import subprocess
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest
from compared_runs import run_of

from calprobe.analysis import (
    CompareOptions,
    Comparison,
    ReductionsReport,
    Report,
    ReportOptions,
    compare,
    compare_reductions,
    report,
)
from calprobe.cells.run_facts import RunFacts
from calprobe.metrics import Difference, Estimate, Resampling
from calprobe.show.tables import Column, Row, Table, latex
from calprobe.show.tables.comparison import comparison_tables
from calprobe.show.tables.latex_text import latex_text
from calprobe.studies.scored.reductions_table import reductions_tables
from calprobe.studies.scored.report_tables import report_tables

QUICK = ReportOptions(resampling=Resampling(6))
HARD = (
    r"""runs/a_b %&#$ {}~^\ "q" `b` <|im_start|> [opt] *x* --x ,, '' ?` !` @ /,;:.=+()""",
    "é ñ ü ç ş ő å Ø ß ł ő Ǆ ﬁ – — ≥ ≤ … × μ ’ “ ” ▁the → \u00a0 ½ №",
    "🙂🏳️‍🌈 שלום العربية 漢字 ไทย \u202eabc\u202c e\u0301\u0323 \u200b \ufeff",
    "line\nend\r\n\ttab\x00nul\x1b[31m\u2028sep^^M \\end{table} \\input{x} $x$ }{",
)


def compiled(body: str, folder: Path, texts: str = "", form: str = "") -> str:
    """The text of the PDF of a document around a body, or a skip where there is no pdflatex."""
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed: apt-get install texlive-latex-recommended")
    head = f"\\documentclass{form}{{article}}\n{texts}\\usepackage{{booktabs}}\n"
    document = f"{head}\\begin{{document}}\n{body}\n\\end{{document}}\n"
    (folder / "table.tex").write_text(document, "utf-8")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "table.tex"],
        cwd=folder,
        capture_output=True,
        check=False,
        timeout=60,
    )
    log = done.stdout.decode("utf-8", "replace")
    assert done.returncode == 0, log[-2000:]
    assert "Missing character" not in (folder / "table.log").read_text("latin-1")
    return log


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("runs")
    return [run_of(folder / name, seed) for seed, name in enumerate("ab")]


def named_after(facts: RunFacts) -> RunFacts:
    """With the run's label as its model's name."""
    manifest = replace(facts.manifest, model=replace(facts.manifest.model, name=facts.label))
    return replace(facts, recorded=replace(facts.recorded, manifest=manifest))


@pytest.fixture(scope="module")
def found(runs: list[str]) -> Report:
    found = report(runs, QUICK)
    named = [
        replace(run, facts=replace(run.facts, label=label)) for run, label in zip(found.runs * 2, HARD, strict=True)
    ]
    models = [replace(run, facts=named_after(run.facts)) for run in named]
    return replace(found, runs=tuple(models))


@pytest.fixture(scope="module")
def reductions(runs: list[str]) -> ReductionsReport:
    found = compare_reductions(runs, QUICK)
    named = [
        replace(run, facts=replace(run.facts, label=label)) for run, label in zip(found.runs * 2, HARD, strict=True)
    ]
    return replace(found, runs=tuple(named))


@pytest.fixture(scope="module")
def comparison(runs: list[str]) -> Comparison:
    found = compare(runs, CompareOptions(by_domain=True, scores=QUICK))
    labels = dict(zip(runs, HARD, strict=False))
    facts = tuple(replace(run, label=labels[run.label]) for run in found.runs)
    pairs = tuple(replace(pair, first=labels[pair.first], second=labels[pair.second]) for pair in found.pairs)
    return replace(found, runs=facts, pairs=pairs, unpaired={HARD[2]: HARD[3]})


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a_b 50%", r"a\_b 50\%"),
        ("& # $ { }", r"\& \# \$ \{ \}"),
        ("~^\\", r"\textasciitilde{}\textasciicircum{}\textbackslash{}"),
        ("<|s|>", "$<$$|$s$|$$>$"),
        ("[x]*", "{[}x{]}{*}"),
        ("--x ,, ''", "-{}-x ,{}, '{}'"),
        ("é à ñ ü ç ž ı ß", r"\'{e} \`{a} \~{n} \"{u} \c{c} \v{z} \i{} \ss{}"),
        ("– — ≥ …", r"-- --- $\geq$ \ldots{}"),
        ("🙂א漢", "{[}U+1F642{]}{[}U+05D0{]}{[}U+6F22{]}"),
        ("a\nb\x00c", "a b c"),
    ],
)
def test_escaping(text: str, escaped: str) -> None:
    assert latex_text(text) == escaped


def test_a_decomposed_accent_is_the_letter() -> None:
    assert latex_text(unicodedata.normalize("NFD", "é")) == r"\'{e}"


def test_output_is_ascii_without_comments_in_text() -> None:
    assert all(latex_text(text).isascii() for text in HARD)


TABLE = Table(
    caption="A_b.",
    label="x-y",
    stub="estimator",
    columns=(Column("ACE", "smaller", heading="of base"), Column("mean conf", heading="of base"), Column("count")),
    rows=(
        Row("base", (Estimate(0.25, 0.1, 0.4), 0.5, 7731), group="intrinsic"),
        Row("vote_2", (Estimate(0.125), -0.5, None), group="intrinsic", note="3 failed"),
        Row("difference", (Difference(-0.125, -0.2, 0.1), "a-b", 1), group="other", ranked=False),
    ),
    heading=("runs/x: PARTIAL, 1 of 3 relations",),
    notes=("Smaller is better.", "50 %."),
)


def test_a_table() -> None:
    lines = [line.strip() for line in latex([TABLE]).splitlines()]
    assert lines[:3] == [
        "% runs/x: PARTIAL, 1 of 3 relations",
        r"% In the preamble: \usepackage{booktabs}",
        r"\begin{table}[tbp]",
    ]
    assert {r"\caption{A\_b.}", r"\label{tab:x-y}", r"\begin{tabular}{lrrr}", r"\end{table}"} <= set(lines)
    rules = [line for line in lines if line.startswith((r"\toprule", r"\midrule", r"\bottomrule", r"\cmidrule"))]
    assert rules == [r"\toprule", r"\cmidrule(lr){2-3}", r"\midrule", r"\bottomrule"]
    body = lines[lines.index(r"\midrule") + 1 : lines.index(r"\bottomrule")]
    assert body == [
        r"\multicolumn{4}{l}{\textit{intrinsic}} \\",
        r"\enspace base & 0.2500 & 0.5000 & 7,731 \\[-2pt]",
        r"\enspace  & {\scriptsize .100--.400} &  &  \\",
        r"\enspace vote\_2 & \textbf{0.1250} & $-$0.5000 & -- \\[-2pt]",
        r"\enspace {\scriptsize 3 failed} &  &  &  \\",
        r"\addlinespace",
        r"\multicolumn{4}{l}{\textit{other}} \\",
        r"\enspace difference & $-$0.1250 & a-b & 1 \\[-2pt]",
        r"\enspace  & {\scriptsize $-$.200, +.100} &  &  \\",
    ]
    assert r"\begin{minipage}{\linewidth}\scriptsize Smaller is better. 50 \%. Bold: " in "".join(lines)


def test_a_table_compiles(tmp_path: Path) -> None:
    assert "Overfull" not in compiled(latex([TABLE]), tmp_path)


def test_long_names_are_broken_where_a_table_would_be_wider_than_a_page(tmp_path: Path) -> None:
    estimators = ("accuracy", "base", "margin", "average_vote_2", "average_min", "consistency_vote_2", "temperature")
    name = "a-rather-long-name-of-an-experiment-with-tiny-clm-and-seed-"
    rows = tuple(Row(f"{name}{seed}", (0.1234,) * 14) for seed in range(5))
    wide = replace(TABLE, columns=tuple(Column(title) for title in estimators * 2), rows=rows, notes=())
    text = latex([wide])
    assert r"\begin{table*}" in text
    assert r"\shortstack[l]{a-rather-" in text
    assert "Overfull" not in compiled(text, tmp_path, form="[twocolumn]")
    short = replace(wide, rows=(Row("a-b", (0.1234,) * 14),))
    assert "a-b &" in latex([short])


@pytest.mark.parametrize("encoding", ["", "\\usepackage[T1]{fontenc}\n"])
def test_every_character_compiles(tmp_path: Path, encoding: str) -> None:
    # Not every one of Unicode's: the first planes' letters and signs as far as any table of this module knows them.
    characters = [chr(code) for code in range(0x20, 0x2600) if unicodedata.category(chr(code)) not in ("Cc", "Cs")]
    words = [latex_text("".join(characters[start : start + 8])) for start in range(0, len(characters), 8)]
    compiled("\\tiny\n" + "\n\n".join(words), tmp_path, encoding)


def test_reports_compile_whatever_their_runs_are_called(found: Report, tmp_path: Path) -> None:
    compiled(latex(report_tables(found)), tmp_path)


def test_reductions_compile_whatever_their_runs_are_called(reductions: ReductionsReport, tmp_path: Path) -> None:
    compiled(latex(reductions_tables(reductions)), tmp_path)


def test_comparisons_compile_whatever_their_runs_are_called(comparison: Comparison, tmp_path: Path) -> None:
    compiled(latex(comparison_tables(comparison)), tmp_path)


def test_labels_differ(found: Report) -> None:
    labels = [table.label for table in report_tables(found)]
    assert len(set(labels)) == len(labels) == 7
    assert all(label.isascii() and not set(label) & set("_%&#$ {}~^\\") for label in labels)
