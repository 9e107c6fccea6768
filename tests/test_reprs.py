"""What Python shows of results: one line each, and frames with a row for each number."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from run_samples import write_run

import calprobe
from calprobe.analysis import ReportOptions
from calprobe.confidence import Distributions, estimate, uncertainties
from calprobe.errors import DataMissingError
from calprobe.interop.exports import candidate_tables
from calprobe.metrics import Resampling
from calprobe.probes import load_probe
from calprobe.runs import Run, open_run

QUICK = ReportOptions(resampling=Resampling(0))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return open_run(write_run(tmp_path_factory.mktemp("runs") / "mine"))


def test_reprs_fit_a_line(run: Run) -> None:
    report, table, probe = calprobe.report(run, QUICK), run.table(), load_probe("mini")
    shown = [run, run.manifest, table, report, report.runs[0], probe, probe.relations[0]]
    shown += [Distributions.from_table(table), estimate(table)["base"]]
    for thing in shown:
        assert repr(thing).startswith(f"<{type(thing).__name__}"), thing
        assert len(repr(thing)) < 100 + len(str(run.path))
    assert repr(run) == f"<Run {run.path}: tiny on made-up, 9 instances in 3 relations, 2 templates>"
    assert repr(table) == "<ScoreTable: 9 instances in 3 relations, 2 templates>"
    assert repr(probe) == "<Probe mini: 583 instances in 17 relations>"


def test_a_folder_is_taken_wherever_a_run_is(run: Run) -> None:
    frame = calprobe.confidences(run)
    assert frame.equals(calprobe.confidences(run.path))
    assert frame.equals(calprobe.confidences(str(run.path)))
    assert frame.equals(calprobe.confidences(run.table()))
    assert uncertainties(run.path).equals(uncertainties(run))
    for reads in (calprobe.confidences, uncertainties):
        with pytest.raises(DataMissingError):
            reads(Path("no-run"))


def test_the_frame_of_a_report_has_every_number(run: Run) -> None:
    report = calprobe.report(run, ReportOptions(resampling=Resampling(10)))
    frame = report.frame()
    assert list(frame) == ["run", "model", "estimator", "metric", "value", "low", "high"]
    assert len(frame) == sum(len(estimator.metrics) for estimator in report.runs[0].estimators)
    base = frame[(frame["estimator"] == "base") & (frame["metric"] == "accuracy")].iloc[0]
    accuracy = report.runs[0].accuracy
    assert accuracy is not None
    assert (base["value"], base["low"], base["high"]) == (accuracy.value, accuracy.low, accuracy.high)


def test_the_frame_of_scores_is_the_export(run: Run) -> None:
    table, exported = run.table("mean"), pa.concat_tables(candidate_tables(run)).to_pandas()
    frame = table.frame()
    keys = ["relation", "template", "instance", "candidate"]
    assert frame[keys].astype(str).equals(exported[keys].astype(str))
    np.testing.assert_array_equal(frame["score"], exported["mean"])
    np.testing.assert_array_equal(frame["is_answer"], exported["candidate"] == exported["answer_idx"])
