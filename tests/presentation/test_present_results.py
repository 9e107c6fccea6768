"""Results in Python: one name for both kinds of runs, tables in a notebook, figures in one call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from compared_runs import run_of
from pandas.testing import assert_frame_equal
from sources import ROOT

import calprobe
from calprobe.confidence import confidences as score_confidences
from calprobe.curves import KINDS
from calprobe.errors import UsageError
from calprobe.measures.options import CompareOptions, SliceOptions
from calprobe.metrics import Resampling
from calprobe.presentation.reporting import ASKED_CURVES
from calprobe.show.tables.html import html
from calprobe.show.tables.types import Column, Row, Table
from calprobe.studies.four_ways.way_options import FourWaysOptions

NONE = Resampling(0)
ASKED = str(ROOT / "tests" / "golden" / "runs" / "audit")  # a run folder as it was written once
VALUES = calprobe.ReportOptions(resampling=NONE)
CURVES = calprobe.CurveOptions(VALUES)


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(run_of(tmp_path_factory.mktemp("scored") / "run"))


def test_one_name_takes_runs_of_both_kinds(scored: str) -> None:
    assert_frame_equal(calprobe.confidences(scored), score_confidences(scored))
    assert_frame_equal(calprobe.confidences(ASKED), calprobe.asked_confidences(ASKED))
    assert_frame_equal(calprobe.answers(ASKED), calprobe.replies(ASKED))
    assert type(calprobe.compare([scored], CompareOptions(scores=VALUES))).__name__ == "Comparison"
    assert type(calprobe.compare({"a": ASKED, "b": ASKED})).__name__ == "AskedComparison"
    for kind in ASKED_CURVES:
        assert set(calprobe.curve(ASKED, kind, CURVES).frame()["estimator"])
    assert set(calprobe.curve(scored, "calibration", CURVES).frame()["run"]) == {scored}
    assert ASKED_CURVES.keys() <= KINDS.keys()


def test_what_does_not_fit_is_refused(scored: str) -> None:
    with pytest.raises(UsageError, match="exposure"):
        calprobe.curve(ASKED, "exposure")
    with pytest.raises(UsageError, match="FourWaysOptions are of runs of both kinds together"):
        calprobe.compare([scored], FourWaysOptions())
    with pytest.raises(ValueError, match="options must be ReportOptions, got CompareOptions"):
        calprobe.report(ASKED, CompareOptions())  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="options must be CompareOptions or FourWaysOptions, got ReportOptions"):
        calprobe.compare(ASKED, VALUES)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="options must be CurveOptions, got ReportOptions"):
        calprobe.curve(ASKED, "utility", VALUES)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="--by: no 'domian'; did you mean domain"):
        SliceOptions("domian")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="result must be one of Report, AskedReport"):
        calprobe.figures("runs/a", "figures")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ({"ties": "First"}, "--ties: no 'First'; did you mean first"),
        ({"cluster": "relations"}, "--cluster: no 'relations'; did you mean relation"),
        ({"calibrate": "isotone"}, "--calibrate: no 'isotone'; did you mean isotonic"),
        ({"reduction": "median"}, "--reduction: no 'median'; did you mean mean"),
    ],
)
def test_a_word_that_an_option_lacks_is_refused(scored: str, word: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        calprobe.ReportOptions(**word)
    with pytest.raises(UsageError, match="--correction: no 'bonferroni'; give some of holm, max-t"):
        CompareOptions(correction="bonferroni")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="--accuracy: no 'bases'; did you mean base"):
        calprobe.CurveOptions(accuracy="bases")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="ties must be one of draw, first, got 'First'"):
        calprobe.confidences(scored, ties="First")  # type: ignore[arg-type]


def test_arguments_of_the_other_kind_of_run_are_refused(scored: str) -> None:
    for given in ({"reduction": "mean"}, {"compat": "kissling2026"}, {"ties": "first"}):
        fix = r"give options=ReportOptions\(compat=" if "compat" in given else "leave it out"
        with pytest.raises(UsageError, match=f"decides nothing of a run of replies; {fix}"):
            calprobe.confidences(ASKED, **given)
    for given in ({"estimator": "label"}, {"template": 0}, {"reduction": "mean"}, {"probe": "mini"}):
        with pytest.raises(UsageError, match="decides nothing of a run of replies"):
            calprobe.answers(ASKED, **given)
    for of_run in (calprobe.confidences, calprobe.answers):
        with pytest.raises(UsageError, match="options decides nothing of a run of scores; give reduction"):
            of_run(scored, options=calprobe.ReportOptions("mean"))


def test_rules_of_a_paper_on_the_other_kind_are_refused(scored: str) -> None:
    of_replies = calprobe.ReportOptions(compat="audit2026")
    of_scores = calprobe.ReportOptions(compat="kissling2026")
    with pytest.raises(UsageError, match="--compat audit2026 is of runs of replies"):
        calprobe.compare([scored], CompareOptions(scores=of_replies))
    said = "--compat kissling2026 is of scores; for runs of replies there is"
    with pytest.raises(UsageError, match=said):
        calprobe.compare({"a": ASKED, "b": ASKED}, CompareOptions(scores=of_scores))
    for of_run in (calprobe.readings, calprobe.replies, calprobe.asked_confidences):
        with pytest.raises(UsageError, match=said):
            of_run(ASKED, of_scores)
    with pytest.raises(UsageError, match="--compat: no 'kissling'; did you mean kissling2026"):
        calprobe.ReportOptions(compat="kissling")  # type: ignore[arg-type]


def test_a_notebook_shows_the_first_look_and_figures_are_one_call(scored: str, tmp_path: Path) -> None:
    for result, label in ((calprobe.report(scored, VALUES), scored), (calprobe.report(ASKED, VALUES), ASKED)):
        shown = result._repr_html_()
        assert label in shown
        assert "<table>" in shown
        assert "--tables" not in shown  # which can be typed on a terminal alone
    assert len(calprobe.figures(calprobe.report(ASKED, VALUES), tmp_path / "figures")) >= 4
    compared = calprobe.compare([scored], CompareOptions(scores=VALUES))
    assert [path.name for path in calprobe.figures(compared, tmp_path)] == ["differences.png", "differences.svg"]


def test_names_in_tables_stay_text() -> None:
    row = Row("<b>row</b>", cells=(1.0,), note="<i>", group="<u>")
    table = Table("<caption>", "label", "<stub>", (Column("<th>"),), (row,), heading=("<script>",), notes=("<p>",))
    written = html([table])
    for text in ("<b>row", "<i>", "<u>", "<caption><caption>", "<stub>", "<th><th>", "<script>", "<p><p>"):
        assert text not in written
