"""What stands below the page's figures."""

from __future__ import annotations

from dataclasses import replace

import curve_samples
import numpy as np

from calprobe.analysis import Report, ReportOptions
from calprobe.curves import KINDS
from calprobe.metrics import Estimate
from calprobe.presentation.figure_views import OF_A_RUN, figures_across, rejection, reliability_of_runs
from calprobe.show.palette import MAX_SERIES
from calprobe.studies.scored.contents import ReportContents


def test_a_correlation_has_its_sign_and_an_interval_that_reads() -> None:
    found = curve_samples.accuracy_ace(5, ("base",))
    known = replace(found.correlations[0], rho=Estimate(-0.9, -0.996, -0.169))
    report = Report((), (), ReportOptions())
    across = {found.kind: replace(found, correlations=(known,))}
    (figure,) = figures_across(ReportContents(report, across=across))
    assert figure.caption.endswith("Spearman's rank correlation: base -0.9000 (-.996 to -.169).")


def test_the_confidence_that_two_runs_have_is_drawn_by_run() -> None:
    of_run = curve_samples.calibration().lines
    other = replace(of_run[1], estimator="only here")
    (figure,) = reliability_of_runs({"base": of_run, "b": (other, of_run[1])}, "mini")
    assert figure.title == "Reliability of margin on mini"
    assert [(choice.name, choice.place) for choice in figure.choices] == [("base", 0), ("b", 1)]
    assert not list(reliability_of_runs({"a": of_run, "b": (other,)}, "mini"))
    assert not list(reliability_of_runs({str(at): of_run for at in range(MAX_SERIES + 1)}, "mini"))


def test_bands_are_named_where_they_are_drawn() -> None:
    found = curve_samples.rejection()
    bare = [
        replace(line, band=replace(line.band, low=line.band.low * np.nan, high=line.band.high * np.nan))
        for line in found.lines
    ]
    (drawn,), (without,) = rejection(found), rejection(replace(found, lines=tuple(bare)))
    assert "are rejected, with 95\u00a0% bands. Points" in drawn.caption
    assert "are rejected. Points" in without.caption


def test_every_kind_that_a_report_shows_of_a_run_is_on_the_page() -> None:
    assert set(OF_A_RUN) == {
        name for name, kind in KINDS.items() if kind.of_report is not None and kind.fewest_runs == 1
    }
