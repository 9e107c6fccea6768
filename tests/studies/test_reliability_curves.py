"""Curves of asked runs: which cells and rows they are of, and by whose rules they are read."""

from __future__ import annotations

import logging
from pathlib import Path

import asked_replies as made
import numpy as np
import pytest
from commands import calprobe
from sources import ROOT

from calprobe.cells.asked import Asked
from calprobe.curves.calibration_curve import CalibrationLine
from calprobe.errors import UsageError
from calprobe.measures.options import ReportOptions
from calprobe.metrics import Resampling
from calprobe.studies.asked.asked_curves import asked_calibration
from calprobe.studies.asked.report_asked import report_asked

BOTH = ("label", "stated_decimal")
GOLDEN = ROOT / "tests" / "golden" / "runs"


def run_of(stated: dict[str, list[str]], letters: dict[str, list[str]] | None = None) -> Asked:
    letters = letters or {name: ["A"] * len(said) for name, said in stated.items()}
    return made.asked(*made.answered(letters, [0] * len(next(iter(letters.values()))), stated))


def lines_of(asked: Asked, names: tuple[str, ...] = BOTH, **changes: object) -> dict[str, CalibrationLine]:
    options = ReportOptions(resampling=Resampling(0), **changes)  # type: ignore[arg-type]
    return {line.estimator: line for line in asked_calibration([asked], options, names).lines}


def test_a_cell_below_the_threshold_is_in_no_curve_of_the_figure_and_is_named(caplog: pytest.LogCaptureFixture) -> None:
    asked = run_of({"plain": ["0.9", "0.9", "unsure", "unsure", "unsure"], "other": ["0.5"] * 5})
    with caplog.at_level(logging.WARNING):
        found = lines_of(asked)
    assert {name: line.instances for name, line in found.items()} == {"label": 5, "stated_decimal": 5}
    assert found["stated_decimal"].ece.value.value == pytest.approx(0.5)  # of `other` alone: .5 of five right ones
    assert "fewer than 80%" in caplog.text
    assert "quiz, plain (stated_decimal 0.400)" in caplog.text
    assert "other" not in caplog.text


def test_curves_of_a_figure_are_of_the_rows_that_all_of_them_have() -> None:
    said = ["0.9"] * 8 + ["unsure"] * 2
    asked = run_of({"plain": said}, {"plain": ["A"] * 8 + ["B"] * 2})
    found = lines_of(asked)
    assert {name: line.instances for name, line in found.items()} == {"label": 8, "stated_decimal": 8}
    assert found["label"].ece.value.value == pytest.approx(1 - 0.6 / 0.9)  # the eight right ones, each sure by 2/3
    assert lines_of(asked, ("label",))["label"].instances == 10  # of one curve nothing is left out


def sampled(samples_of: list[int], *, alike: bool) -> Asked:
    """Questions with so many samples each, whose label probabilities are alike or each sample's own."""
    rng = np.random.default_rng(7)
    replies = []
    for at, samples in enumerate(samples_of):
        masses = rng.dirichlet(np.ones(4), size=samples).tolist()
        for sample in range(samples):
            scores = made.scores(masses[0 if alike else sample])
            replies.append(made.reply(f"q{at}", "A", sample=sample, label_scores=scores))
    return made.asked([made.choice(f"q{at}") for at in range(len(samples_of))], replies)


@pytest.mark.parametrize(
    ("samples", "alike", "rows"),
    [([3] * 20, True, 20), ([3] * 20, False, 60), ([1, 5] * 10, True, 60), ([1, 5] * 10, False, 60)],
)
def test_the_error_of_labels_in_samples_is_that_of_the_report(samples: list[int], alike: bool, rows: int) -> None:
    asked = sampled(samples, alike=alike)
    line = lines_of(asked, ("label",))["label"]
    (run,) = report_asked([asked], ReportOptions(resampling=Resampling(0))).runs
    reported = run.sets["quiz"].cells["plain"].estimators["label"].metrics["ece"].value
    assert line.ece.value.value == pytest.approx(reported)
    assert line.instances == rows  # alike samples stand once where that changes no number


def test_a_lower_threshold_takes_the_cell_in() -> None:
    asked = run_of({"plain": ["0.9", "0.9", "unsure", "unsure", "unsure"], "other": ["0.5"] * 5})
    found = lines_of(asked, threshold=0.4)
    assert {name: line.instances for name, line in found.items()} == {"label": 7, "stated_decimal": 7}


def test_where_no_cell_reaches_the_threshold_there_is_no_curve() -> None:
    asked = run_of({"plain": ["0.9"] + ["unsure"] * 4, "other": ["unsure"] * 5})
    with pytest.raises(UsageError, match=r"plain \(.* 0.200\); .*other \(.* 0.000\); give a lower --parse"):
        lines_of(asked)
    assert lines_of(asked, ("label",))["label"].instances == 10


def test_the_papers_own_rules_read_curves_of_replies(tmp_path: Path) -> None:
    """The audit pairs a label's confidence with the letter read by the first character, as in its tables."""
    asked = run_of({"plain": ["0.9"] * 4}, {"plain": ["A", "A", "A", "It is A"]})
    own, paper = (lines_of(asked, ("label",), compat=compat)["label"] for compat in (None, "audit2026"))
    assert (own.ece.bins.accuracy[own.ece.bins.count > 0] == 1).all()
    assert (paper.ece.bins.accuracy * paper.ece.bins.count)[paper.ece.bins.count > 0].sum() == 3
    out = tmp_path / "figure4.csv"
    typed = ("--kind", "calibration", "--estimator", "label,stated_decimal_01", "--bootstrap", "0", "--out", out)
    done = calprobe("curve", GOLDEN / "audit", *typed, "--compat", "audit2026")
    assert done.returncode == 0, done.stderr
    for compat, said in (
        ("stated2025", "--compat stated2025: changes errors in tables, and no curve; leave it out"),
        ("kissling2026", "--compat kissling2026 is of scores; for runs of replies there is"),
    ):
        done = calprobe("curve", GOLDEN / "audit", *typed, "--compat", compat)
        assert done.returncode == 2
        assert said in " ".join(done.stderr.split())


def test_rules_of_replies_are_refused_for_scores(tmp_path: Path) -> None:
    typed = ("curve", GOLDEN / "clm", "--kind", "calibration", "--out", tmp_path / "f.csv")
    for option, said in (
        (("--compat", "audit2026"), "--compat audit2026 is of runs of replies; leave it out"),
        (("--parse-threshold", "0.5"), "--parse-threshold applies to runs of replies, and "),
    ):
        done = calprobe(*typed, *option)
        assert done.returncode == 2
        assert said in " ".join(done.stderr.split())
