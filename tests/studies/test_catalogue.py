"""Lists of runs: state, headline, filters, order."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from asked_samples import write_asked
from run_samples import write_run

from calprobe.analysis import report
from calprobe.cells.asked_folder import asked_of
from calprobe.measures.options import ReportOptions
from calprobe.metrics import Resampling
from calprobe.runs import lock, open_asked, open_scores
from calprobe.runs.listing import FailedRun, list_runs
from calprobe.studies.asked.report_asked import report_asked
from calprobe.studies.overview.catalogue import REMEMBERED, Catalogue, Filters, catalogue
from calprobe.studies.overview.headlines import RunHeadline, asked_headline, headline_of


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A scored run, a part of one, and a run of replies; the cache is empty."""
    monkeypatch.setenv("CALPROBE_CACHE", str(tmp_path / "cache"))
    runs = tmp_path / "runs"
    write_run(runs / "tiny" / "whole")
    part = write_run(runs / "tiny" / "part", numbers=(0,))
    (part / "shards" / "P30.t0.parquet").unlink()
    write_asked(runs / "toy" / "sums")
    return runs


ALL = Filters()


def listed(folder: Path, filters: Filters = ALL, **options: object) -> Catalogue:
    return catalogue(list_runs(folder), {}, filters, **options)  # type: ignore[arg-type]


def names(found: Catalogue) -> list[str]:
    return [Path(run.path).name for run in found.runs]


def test_headlines_are_the_numbers_of_the_report(folder: Path) -> None:
    run = open_scores(folder / "tiny" / "whole")
    (own,) = report(str(run.path), ReportOptions(resampling=Resampling(0))).runs
    base = next(estimator for estimator in own.estimators if estimator.name == "base")
    headline = headline_of(run)
    assert (headline.n, headline.accuracy, headline.of) == (9, base.metrics["accuracy"].value, "base")
    assert headline.ace == pytest.approx(base.metrics["ace"].value)
    asked = asked_of("toy", open_asked(folder / "toy" / "sums"))
    options = ReportOptions(resampling=Resampling(0))
    cells = list(report_asked([asked], options).runs[0].reports())
    found = asked_headline(asked, options)
    (direct, _) = cells
    assert (found.of, found.left_out) == ("label", ("steps",)), "the report leaves steps out of means"
    label = direct.estimators["label"]
    assert (found.accuracy, found.ace, found.n) == (
        label.metrics["accuracy"].value,
        label.metrics["ace"].value,
        label.rows,
    )


def test_states_go_by_the_folder_its_owner_and_the_sweep(folder: Path) -> None:
    gone = str(folder / "gone" / "whole")
    failures = {
        gone: FailedRun("score", "gone", "bear", "no such model"),
        str(folder / "tiny" / "part"): FailedRun("score", "tiny", "made-up", "out of memory"),
        str(folder / "tiny" / "whole"): FailedRun("score", "tiny", "made-up", "an earlier attempt"),
    }
    with lock.locked(folder / "toy" / "sums"):
        found = {run.path: run for run in catalogue(list_runs(folder), failures, Filters(), headlines=False).runs}
    assert {Path(path).name if path != gone else "gone": run.state for path, run in found.items()} == {
        "gone": "failed",
        "whole": "complete",
        "part": "failed",
        "sums": "running",
    }
    assert (found[gone].model, found[gone].of, found[gone].kind, found[gone].run) == ("gone", "bear", "scored", None)
    assert found[str(folder / "tiny" / "part")].why == "out of memory"
    assert all(run.bytes > 1000 for path, run in found.items() if path != gone)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters(model="ti"), ["part", "whole"]),
        (Filters(model="TO?"), ["sums"]),
        (Filters(probe="made*"), ["part", "whole"]),
        (Filters(questions="sum"), ["sums"]),
        (Filters(probe="sums"), []),
        (Filters(states=("partial",)), ["part"]),
        (Filters(kind="asked"), ["sums"]),
        (Filters(since_s=60), []),
    ],
)
def test_filters(folder: Path, filters: Filters, expected: list[str]) -> None:
    found = listed(folder, filters, headlines=False)
    assert names(found) == expected
    assert found.left_out == 3 - len(expected)


def test_only_the_folders_of_listed_runs_are_walked_and_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    walked: list[str] = []

    def walk(top: object, *rest: object, **options: object) -> object:
        walked.append(str(top))
        return real(top, *rest, **options)  # type: ignore[call-overload]

    real = os.walk
    monkeypatch.setattr("calprobe.studies.overview.catalogue.os.walk", walk)
    assert names(listed(folder, Filters(model="toy"))) == ["sums"]
    assert [path for path in walked if (Path(path) / "manifest.json").is_file()] == [str(folder / "toy" / "sums")]


def test_what_is_sorted_by_comes_first_and_what_has_it_not_last(folder: Path) -> None:
    found = listed(folder, order="accuracy")
    values = [run.headline.accuracy for run in found.runs if run.headline]
    assert values == sorted(values, reverse=True)  # type: ignore[type-var]
    assert names(listed(folder, order="size"))[-1] == min(found.runs, key=lambda run: run.bytes).path.split("/")[-1]
    assert [run.state for run in listed(folder, order="state", headlines=False).runs] == ["complete"] * 2 + ["partial"]


def test_headlines_are_remembered_until_a_file_changes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = listed(folder)
    asked: list[str] = []

    def counting(run: object) -> RunHeadline:
        asked.append(str(run.path))  # type: ignore[attr-defined]
        return RunHeadline(1, 0.5, None, None, "ace", None, None, "base")

    monkeypatch.setattr("calprobe.studies.overview.catalogue.headline_of", counting)
    assert [run.headline for run in listed(folder).runs] == [run.headline for run in first.runs]
    assert asked == []
    (folder / "tiny" / "part" / "shards" / "P36.t0.parquet").unlink()
    assert 0.5 in [run.headline.accuracy for run in listed(folder).runs if run.headline]
    assert asked == [str(folder / "tiny" / "part")]
    # A damaged file is none.
    (folder.parent / "cache" / REMEMBERED).write_text("{")
    listed(folder)
    assert len(asked) == 4
    assert json.loads((folder.parent / "cache" / REMEMBERED).read_text())["values"]


def test_a_run_without_readable_questions_has_no_numbers(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    (folder / "toy" / "sums" / "questions.json").unlink()
    found = listed(folder, Filters(kind="asked"))
    assert [run.headline for run in found.runs] == [None]
    assert "no numbers" in caplog.text
