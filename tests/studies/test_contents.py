"""What is gathered for pages and figures: the very curves that are computed alone, and nothing that is not wanted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from compared_runs import SHAPES, run_of

from calprobe.analysis import (
    CurveOptions,
    Curves,
    ReportOptions,
    SliceOptions,
    accuracy_ace,
    accuracy_rejection,
    calibration,
    exposure,
    markers,
    report,
)
from calprobe.cells.opening import open_runs
from calprobe.confidence import Headline, headline
from calprobe.metrics import Resampling
from calprobe.presentation.present_scores import present_scores
from calprobe.presentation.presentation import ReportChoice
from calprobe.runs import Manifest, TemplateRecord
from calprobe.studies.scored import contents
from calprobe.studies.scored.contents import ReportContents, Wanted, gather

NUMBERS = (0, 1, 2, 5)
EXPOSURES = {name: [place % 5 for place in range(n)] for name, n, _ in SHAPES}
OPTIONS = [
    ReportOptions(resampling=Resampling(8, 7), ace_bins=5),
    ReportOptions(resampling=Resampling(8), cluster="relation"),
]


def marked(manifest: Manifest) -> Manifest:
    paraphrases = [TemplateRecord(number, "paraphrase") for number in NUMBERS[:-1]]
    return replace(manifest, templates=(*paraphrases, TemplateRecord(5, "verbal", "possibly")))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("runs")
    return [run_of(folder / name, seed, marked, numbers=NUMBERS) for seed, name in enumerate("ab")]


@pytest.fixture(scope="module", params=OPTIONS, ids=["instances", "relations"])
def found(request: pytest.FixtureRequest, runs: list[str]) -> ReportContents:
    return gather(report(runs, request.param), Wanted(headline(Headline.PAPER)), dict.fromkeys(runs, EXPOSURES))


def test_curves_are_those_computed_alone(found: ReportContents) -> None:
    """Values from the report have the intervals that the curves' own resamples give."""
    options = CurveOptions(found.report.options)
    for label, own in found.runs.items():
        same(own.curves["calibration"], calibration(label, options))
        same(own.curves["accuracy-rejection"], accuracy_rejection(label, options))
        same(own.curves["markers"], markers(label, options))
        same(own.curves["exposure"], exposure(label, EXPOSURES, options))


def test_curves_of_several_runs_are_put_together_from_those_of_each(found: ReportContents, runs: list[str]) -> None:
    options = CurveOptions(found.report.options)
    same(found.across["accuracy-ace"], accuracy_ace(runs, options))
    same(found.across["accuracy-rejection"], accuracy_rejection(runs, options))


def test_figures_of_a_run_are_all_kinds_that_say_something_of_one(found: ReportContents, runs: list[str]) -> None:
    drawn = list(found.runs[runs[0]].figures())
    assert [curves.kind for curves in drawn] == ["accuracy-rejection", "calibration", "markers", "exposure"]
    assert estimators(drawn[1]) == ["base", "margin", "average_vote_2", "average_min"]
    assert [curves.kind for curves in found.joint_figures()] == ["accuracy-rejection", "markers"]
    assert list(found.left_out()) == [("accuracy-ace", 4)]  # the fewest runs that its figure needs


@pytest.mark.parametrize(
    ("wanted", "kinds"),
    [
        (("entropy",), ["accuracy-rejection", "calibration", "markers", "exposure"]),
        (("chance",), ["accuracy-rejection", "markers", "exposure"]),  # an order, which has no calibration
        (("margin", "base"), ["accuracy-rejection", "calibration", "markers", "exposure"]),
    ],
)
def test_figures_are_of_the_estimators_asked_for(runs: list[str], wanted: tuple[str, ...], kinds: list[str]) -> None:
    choice = ReportChoice(estimators=wanted, figures=True, page=True)
    drawn = [figure.name for figure in present_scores(open_runs(runs[:1]), OPTIONS[0], choice).figures()]
    assert [name.rpartition(".")[2] for name in drawn] == [kind for kind in kinds if kind != "exposure"]
    found = gather(report(runs[:1], OPTIONS[0]), Wanted(wanted), dict.fromkeys(runs, EXPOSURES))
    own = list(found.runs[runs[0]].figures(wanted))
    assert [curves.kind for curves in own] == kinds
    for curves in own:
        if curves.kind in ("accuracy-rejection", "calibration"):
            assert estimators(curves) == list(wanted)
    assert wanted[0] in present_scores(open_runs(runs[:1]), OPTIONS[0], choice).page()


def same(one: Any, other: Any) -> None:
    """Equal to the last bit; NaN, which is None in JSON, is itself."""
    assert one.to_json() == other.to_json()


def test_runs_that_do_not_compare_are_named(runs: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    other = run_of(tmp_path / "other", shapes=SHAPES[:1])
    gather(report([*runs, other], ReportOptions(resampling=Resampling(0))), Wanted())
    assert caplog.messages == [f"{other}: not the same probe or instances as {runs[0]}: the two do not compare"]


def test_only_what_is_wanted_is_there_in_the_order_asked(runs: list[str]) -> None:
    quick = report(runs[0], ReportOptions(resampling=Resampling(3)))
    own = gather(quick, Wanted(("average_min", "base", "nothing"), ("domain",))).runs[runs[0]]
    assert estimators(own.curves["accuracy-rejection"]) == ["average_min", "base"]
    assert estimators(own.only(("base", "margin")).curves["calibration"]) == ["base"]
    assert [slices.by for slices in own.slices] == ["domain"]
    assert Wanted(("a", "b")) | Wanted(("b", "c"), ("relation",)) == Wanted(("a", "b", "c"), ("relation",))


def estimators(curves: Curves) -> list[str]:
    """Those of its lines, in their order."""
    return [line["estimator"] for line in curves.to_json()["lines"]]


def test_slices_at_hand_need_no_others(runs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    options = ReportOptions(resampling=Resampling(3), slices=SliceOptions("domain"))
    found = report(runs[0], options)
    monkeypatch.setattr(contents, "slice_run", lambda *_: pytest.fail("computed anew"))
    assert gather(found, Wanted((), ("domain",))).runs[runs[0]].slices == (found.runs[0].slices,)
