"""Which tables results make: their rows and columns, what they say of partial runs, what is marked where."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from compared_runs import run_of
from printed_tables import printed

from calprobe.analysis import (
    CompareOptions,
    Comparison,
    Report,
    ReportOptions,
    RunReport,
    compare,
    compare_reductions,
    report,
)
from calprobe.metrics import Difference, Estimate, Resampling
from calprobe.runs import Manifest
from calprobe.show.tables import best_cells, tidy_csv
from calprobe.show.tables.comparison import comparison_tables, pair_tables
from calprobe.show.tables.types import PValue
from calprobe.studies.scored.reductions_table import reductions_tables
from calprobe.studies.scored.report_tables import report_sections, report_tables

QUICK = ReportOptions(resampling=Resampling(6))
NAN = float("nan")
METRICS = ("Brier", "ACE")
FIRST = ("base", "margin", "average_min")
FOUR = ("base", "margin", "average_vote_2", "average_min")
PRINTED = ["accuracy", "coverage", "mean conf", "ACE", "ACE if cal.", "ACE p", "Brier", "AUROC"]


def partial(run: RunReport) -> RunReport:
    return replace(run, facts=replace(run.facts, relations=2))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("runs")
    return [run_of(folder / name, seed) for seed, name in enumerate("ab")]


@pytest.fixture(scope="module")
def found(runs: list[str]) -> Report:
    return report(runs, QUICK)


@pytest.fixture(scope="module")
def comparison(runs: list[str]) -> Comparison:
    return compare(runs, CompareOptions(by_domain=True, scores=QUICK))


def one(found: Report) -> Report:
    return replace(found, runs=found.runs[:1])


def test_one_run_is_one_table_of_all_its_numbers(found: Report) -> None:
    (table,) = report_tables(one(found))
    (run,) = one(found).runs
    assert [column.title for _, column in table.printed_columns] == PRINTED
    rows = [row for row in table.rows if not row.of]
    assert [row.label for row in rows] == [estimator.name for estimator in run.estimators]
    for row, estimator in zip(rows, run.estimators, strict=True):
        cells = dict(zip((c.keys["metric"] for c in table.columns), row.cells, strict=True))
        there = {name: cell for name, cell in cells.items() if cell is not None}
        reported = {**estimator.metrics, "coverage": estimator.coverage}
        p_values = {name: float(cell) for name, cell in there.items() if isinstance(cell, PValue)}
        assert p_values == {name: reported[name].value for name in p_values}
        assert there | p_values == reported | p_values
    assert table.heading[0].startswith(f"{run.label}: complete; path padded, dtype float32, start token not known")
    assert table.caption.endswith(": 30 instances in 3 relations.")


def test_accuracy_is_not_marked(found: Report) -> None:
    (table,) = report_tables(one(found))
    marked = {table.columns[column].title for _, column in best_cells(table)}
    assert {"ACE", "ECE", "Brier", "AUROC"} <= marked
    assert not {"accuracy", "mean conf"} & marked


def test_several_runs_have_a_summary_first(found: Report) -> None:
    summary, first, second = report_tables(found)
    assert [(c.heading, c.title) for c in summary.columns] == [
        ("", "accuracy"),
        ("", "mean accuracy"),
        *(("ACE", name) for name in FOUR),
        *(("ACE if cal.", name) for name in FOUR),  # they are of fewer than 1,000 instances
        *(("Brier", name) for name in (*FOUR, "consistency_vote_2", "consistency_min")),
        *(("coverage", name) for name in ("average_vote_2", "consistency_vote_2")),
    ]
    assert [row.label for row in summary.rows] == ["a", "b"]
    estimators = {estimator.name: estimator.metrics for estimator in found.runs[1].estimators}
    assert summary.rows[1].cells[:3] == (found.runs[1].accuracy, found.runs[1].bear_score, estimators["base"]["ace"])
    assert summary.rows[1].cells[-3] == estimators["consistency_min"]["brier"]
    assert (first.label, second.label) != ("", "")
    assert len(summary.heading) == 2


def test_a_summary_points_to_intervals_only_where_there_are_some(found: Report) -> None:
    note = "The tables of the runs have the intervals."
    assert note in report_tables(found)[0].notes
    without = replace(found, options=replace(found.options, resampling=Resampling(0)))
    assert note not in report_tables(without)[0].notes


def test_a_summary_marks_only_runs_of_the_same_instances(found: Report, runs: list[str], tmp_path: Path) -> None:
    assert best_cells(report_tables(found)[0])
    first, second = found.runs
    table = report_tables(replace(found, runs=(first, partial(second))))[0]
    assert best_cells(table) == frozenset()
    names = ("P1376", "P30", "P36")
    as_many = run_of(tmp_path / "as-many", shapes=tuple(zip(names, (8, 10, 12), (5, 3, 4), strict=True)))
    other_answers = run_of(tmp_path / "answers", edit=lambda piece: replace(piece, answer_idx=piece.answer_idx * 0))
    other_probe = run_of(
        tmp_path / "probe", change=lambda made: replace(made, probe=replace(made.probe, fingerprint="dd"))
    )
    for odd in (as_many, other_answers, other_probe):
        table = report_tables(report([runs[0], odd], found.options))[0]
        assert best_cells(table) == frozenset()
        assert "No best is marked: not all runs have the same instances." in table.notes


def test_a_partial_run_says_so_everywhere(found: Report) -> None:
    first, second = found.runs
    tables = report_tables(replace(found, runs=(first, partial(second))))
    assert "b: partial run, 2 of 3 relations." in tables[0].notes
    assert "PARTIAL, 2 of 3 relations" in tables[0].heading[1]
    assert "PARTIAL, 2 of 3 relations" in tables[2].heading[0]
    assert tables[2].caption.endswith("(partial run, 2 of 3 relations).")
    lines = list(csv.DictReader(tidy_csv(tables).splitlines()))
    assert {(line["run"], line["partial"]) for line in lines} == {(first.label, "false"), (second.label, "true")}


def test_what_a_run_has_not_is_missing(found: Report) -> None:
    bare = replace(found.runs[1], accuracy=None, bear_score=None, estimators=())
    summary, _, table = report_tables(replace(found, runs=(found.runs[0], bare)))
    assert summary.rows[1].cells == (None,) * 18
    assert table.rows == ()
    assert table.lead[-1].startswith("No mean accuracy over paraphrases and no estimators over them: ")


def test_tidy_columns_and_numbers(found: Report) -> None:
    text = tidy_csv(report_tables(found))
    lines = list(csv.DictReader(text.splitlines()))
    columns = ["run", "model", "estimator", "metric", "value", "low", "high", "best"]
    assert text.split("\n", 1)[0].split(",") == [
        *columns,
        "probe",
        "partial",
        "path",
        "dtype",
        "start_token",
        "limited",
    ]
    of_estimators = [estimator for run in found.runs for estimator in run.estimators]
    assert len(lines) == len(found.runs) + sum(
        len(estimator.metrics) + 1 + len(estimator.answered) for estimator in of_estimators
    )
    for run in found.runs:
        mine = {(line["estimator"], line["metric"]): line for line in lines if line["run"] == run.label}
        brier = run.estimators[1].metrics["brier"]
        line = mine[run.estimators[1].name, "brier"]
        assert (float(line["value"]), float(line["low"]), float(line["high"])) == (brier.value, brier.low, brier.high)
        assert run.bear_score is not None
        assert float(mine["", "bear_score"]["value"]) == run.bear_score.value


def test_reductions(runs: list[str]) -> None:
    found = compare_reductions(runs[0], QUICK)
    (table,) = reductions_tables(found)
    assert [row.label for row in table.rows] == ["sum", "mean", "sum_answer", "mean_answer"]
    best = {
        table.rows[row].label for row, column in best_cells(table) if table.columns[column].title == "harmonic mean"
    }
    assert found.runs[0].best in best
    assert table.rows[0].cells[2] == Estimate(found.runs[0].reductions[0].harmonic_mean)
    assert table.lead == ("Base: template 0.",)


def test_comparisons(comparison: Comparison) -> None:
    everything, domains = comparison_tables(comparison)
    (pair,) = comparison.pairs
    contrasts = pair.everything.contrasts
    assert [(c.heading, c.title) for c in everything.columns] == [
        ("", "mean accuracy"),
        *((name, metric) for name in FIRST for metric in ("Brier", "ACE")),
    ]
    assert [row.label for row in everything.rows] == ["a", "b", "difference", "p", "Holm p"]
    assert everything.rows[0].cells == tuple(contrast.first for contrast in contrasts)
    assert everything.rows[1].cells == tuple(contrast.second for contrast in contrasts)
    assert everything.rows[4].cells == tuple(contrast.p_holm for contrast in contrasts)
    assert {everything.rows[row].label for row, _ in best_cells(everything)} <= {"a", "b"}
    assert [row.group for row in domains.rows[::5]] == [
        "a and b, Arts: 22 instances in 2 relations",
        "a and b, Politics: 18 instances in 2 relations",
    ]
    line = next(csv.DictReader(tidy_csv([everything]).splitlines()))
    assert line | {"first": pair.first, "second": pair.second, "domain": "", "quantity": "first"} == line
    assert (line["metric"], line["first_partial"], line["second_path"]) == ("accuracy", "false", "padded")


def test_pairs_have_a_row_a_number(comparison: Comparison) -> None:
    (table,) = pair_tables(comparison)
    (pair,) = comparison.pairs
    assert [column.title for column in table.columns] == ["A", "B", "A - B", "p", "Holm p"]
    contrasts = [contrast for scope in pair.scopes for contrast in scope.contrasts]
    by_chance = [row for row in table.rows if row.label.endswith(("ACE if cal.", "ACE p"))]
    assert len(by_chance) == 2 * sum(contrast.metric == "ace" for contrast in contrasts)
    numbers = [row for row in table.rows if row not in by_chance]
    for row, contrast in zip(numbers, contrasts, strict=True):
        difference = contrast.difference
        assert row.cells == (contrast.first, contrast.second, difference, difference.p_value, contrast.p_holm)
        assert row.significant == contrast.significant
    names = [row.label for row in numbers if row.group.startswith("all relations")]
    assert names == ["mean accuracy", *(f"{name} {metric}" for name in FIRST for metric in METRICS)]
    assert [note.split(": base: same answer 0.")[0] for note in table.notes] == [
        "all relations",
        "Arts",
        "Politics",
    ]
    lines = printed([table], 80).splitlines()[len(table.heading) :]
    assert max(map(len, lines)) <= 80


def test_a_pair_without_a_p_value_says_so(comparison: Comparison) -> None:
    (pair,) = comparison.pairs
    known, unknown = (replace(c, difference=Difference(0.5, 0.1, 0.9, 0.5)) for c in pair.everything.contrasts[:2])
    unknown = replace(unknown, difference=Difference(NAN), p_holm=NAN)
    scope = replace(pair.everything, contrasts=(replace(known, p_holm=0.0499), unknown))
    (table,) = pair_tables(replace(comparison, pairs=(replace(pair, everything=scope, domains=()),)))
    assert table.rows[0].significant
    assert table.rows[1].cells[3:] == (None, None)


def test_the_terminal_shows_each_run_in_its_sections(found: Report) -> None:
    summary, first, wording, *_ = tables = report_sections(found)
    assert [table.stub for table in tables] == ["run", "estimator", "", "estimator", ""]
    assert (summary.heading, summary.rows) == ((summary.caption,), report_tables(found)[0].rows)
    assert first == report_tables(found)[1]
    assert {row.group for row in wording.rows} == {"wording: templates 0-2"}
    text = printed(tables, 700)
    assert text.count("\nestimator ") == 2
    joined = f"{text} ".replace("\n", " ")
    assert [metric.title for metric in found.metrics if f" {metric.title} " not in joined] == []
    assert "Only with" not in text
    narrow = printed(tables, 80)
    shown = [metric.title for metric in found.metrics if f" {metric.title} " in narrow.replace("\n", " \n")]
    assert shown[:4] == ["accuracy", "mean conf", "ACE", "ACE if cal."]
    assert "Only with --format json or csv, or on a wider terminal: " in " ".join(narrow.split())


def test_without_resamples_there_is_no_p(runs: list[str]) -> None:
    tables = comparison_tables(compare(runs, CompareOptions(scores=ReportOptions(resampling=Resampling(0)))))
    assert [row.label for row in tables[0].rows] == ["a", "b", "difference"]
    bare = compare(runs, CompareOptions(scores=ReportOptions(resampling=Resampling(0))))
    assert [column.title for column in pair_tables(bare)[0].columns] == ["A", "B", "A - B"]


def test_what_all_runs_leave_out_is_said_once(tmp_path: Path) -> None:
    def limited(n_probe_relations: int) -> Callable[[Manifest], Manifest]:
        return lambda manifest: replace(manifest, n_probe_relations=n_probe_relations)

    def notes(*sizes: int) -> tuple[str, ...]:
        folder = tmp_path / "-".join(map(str, sizes))
        runs = [run_of(folder / f"{place}-{size}", change=limited(size)) for place, size in enumerate(sizes)]
        return report_tables(report(runs, ReportOptions(resampling=Resampling(0))))[0].notes

    assert [note for note in notes(60, 60) if "limited" in note] == ["All runs: limited: 3 of 60 relations."]
    assert [note for note in notes(60, 40) if "limited" in note] == [
        "0-60: limited: 3 of 60 relations.",
        "1-40: limited: 3 of 40 relations.",
    ]
