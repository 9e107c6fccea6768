"""Slices of a run and the paper's numbers as tables: every number is there, with what has to be known of it."""

from __future__ import annotations

import csv
from dataclasses import replace

import pytest
from compared_runs import run_of, with_model

from calprobe.analysis import Report, ReportOptions, SliceOptions, compare_reductions, report
from calprobe.metrics import Resampling
from calprobe.show.tables import Table, best_cells, latex, markdown, tidy_csv
from calprobe.studies.scored.against import against
from calprobe.studies.scored.paper_figures import paper_figures
from calprobe.studies.scored.reductions_table import reductions_tables
from calprobe.studies.scored.report_tables import report_tables

QUICK = ReportOptions(resampling=Resampling(6), slices=SliceOptions("domain"))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    return run_of(tmp_path_factory.mktemp("runs") / "gpt2", change=with_model(name="gpt2"))


@pytest.fixture(scope="module")
def found(path: str) -> Report:
    return against(report(path, QUICK), paper_figures())


def lines(tables: tuple[Table, ...]) -> list[dict[str, str]]:
    return list(csv.DictReader(tidy_csv(tables).splitlines()))


def test_slices_in_a_tidy_file(found: Report) -> None:
    slices = found.runs[0].slices
    assert slices is not None
    rows = [line for line in lines(report_tables(found)) if line["domain"]]
    for part in slices.slices:
        own = {(row["estimator"], row["metric"]): float(row["value"]) for row in rows if row["domain"] == part.name}
        expected = {
            (name, key): part.estimators[name][key].value
            for name in part.estimators
            for key in ("ace", "ace_if_calibrated", "brier")
        }
        expected["", "instances"] = part.instances
        expected["", "mean_candidates"] = part.mean_candidates
        expected["", "chance_accuracy"] = part.chance_accuracy
        assert part.accuracy is not None
        expected["base", "accuracy"] = part.accuracy.value
        assert own == expected


def test_the_papers_figures_in_a_tidy_file(found: Report) -> None:
    own = found.runs[0].against
    assert own is not None
    rows = [line for line in lines(report_tables(found)) if line["quantity"]]
    keys = ("paper_table", "estimator", "metric", "of")
    papers = {tuple(row[key] for key in keys): float(row["value"]) for row in rows if row["quantity"] == "paper"}
    ours = {tuple(row[key] for key in keys): float(row["value"]) for row in rows if row["quantity"] == "ours"}
    figures = {(r.figure.table, r.figure.estimator, r.figure.metric, r.figure.of or ""): r for r in own.rows}
    assert papers == {key: row.figure.value for key, row in figures.items()}
    assert ours == {key: row.ours.value for key, row in figures.items()}
    assert len(papers) == len(own.rows)


def test_departures_are_printed(found: Report, path: str) -> None:
    tables = report_tables(found)
    assert "DIFFERENT FROM THE PAPER: probe made-up, the paper's is BEAR; " in markdown(tables)
    uncommented = [line for line in latex(tables).splitlines() if not line.startswith("%")]
    assert any("DIFFERENT FROM THE PAPER: probe made-up, " in line for line in uncommented)
    options = replace(QUICK, slices=None)
    reductions = reductions_tables(against(compare_reductions(path, options), paper_figures()))
    assert "DIFFERENT FROM THE PAPER: probe made-up, the paper's is BEAR; " in markdown(reductions)


def test_nothing_is_the_best_of_slices_or_of_a_comparison(found: Report) -> None:
    _, slices, paper = report_tables(found)
    assert not best_cells(slices)
    assert not best_cells(paper)
    assert [row.note for row in slices.rows] == ["22, K 3.5", "18, K 4.4"]
