"""A run opened for analysis: read once and computed once for all that a command shows of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from compared_runs import NUMBERS, SHAPES, run_of

from calprobe.analysis import ReportOptions
from calprobe.arrays import Floats, Ints
from calprobe.cells.opening import open_scored_runs
from calprobe.cells.scored import ScoredRun
from calprobe.cli.app import cli
from calprobe.confidence import distributions, estimate
from calprobe.confidence.temperature import FOLDS
from calprobe.runs import open_run
from calprobe.runs.score_records import ScoreRecords


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    return run_of(tmp_path_factory.mktemp("runs") / "run")


@pytest.fixture
def run(path: str) -> ScoredRun:
    (found,) = open_scored_runs(path, ReportOptions(cluster="relation"))
    return found


def softmax_of(scores: Floats, _: Ints) -> str:
    """A fold, which a temperature is fitted to, has the scores of one template alone."""
    return "softmax" if len(scores) == len(NUMBERS) else "softmax of a fold"


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often shards are read, by relation and template, and the softmax taken of a run or a fold of it."""
    counter: Counter[str] = Counter()

    def counted(function: Callable[..., Any], name: Callable[..., str]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            counter[name(*arguments)] += 1
            return function(*arguments)

        return call

    read = counted(ScoreRecords.read, lambda _, __, piece: f"{piece.relation}.{piece.template}")
    monkeypatch.setattr(ScoreRecords, "read", read)
    monkeypatch.setattr(distributions, "softmax", counted(distributions.softmax, softmax_of))
    return counter


@pytest.mark.parametrize("by", [pytest.param((), marks=pytest.mark.proof), ("--by", "domain")])
def test_report_page_and_figures_read_a_run_once(
    path: str, tmp_path: Path, calls: Counter[str], by: tuple[str, ...]
) -> None:
    drawn = ["--html", str(tmp_path / "page.html"), "--plots", str(tmp_path / "figures")]
    result = CliRunner().invoke(cli, ["report", path, "--bootstrap", "0", *by, *drawn])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "page.html").exists()
    shards = {f"{name}.{number}": 1 for name, _, _ in SHAPES for number in NUMBERS}
    assert calls == shards | {"softmax": 1, "softmax of a fold": FOLDS}


def test_compared_runs_are_read_once(path: str, tmp_path: Path, calls: Counter[str]) -> None:
    other = run_of(tmp_path / "other", seed=1)
    result = CliRunner().invoke(cli, ["compare", path, other, "--bootstrap", "0", "--by-domain"])
    assert result.exit_code == 0, result.output
    assert set(calls.values()) == {2}  # one a run


def test_confidences_are_computed_once_and_are_those_of_the_scores(run: ScoredRun, path: str) -> None:
    expected = estimate(open_run(path).table())
    assert list(run.confidences()) == list(expected)
    for name, found in run.confidences().items():
        np.testing.assert_array_equal(found.confidence, expected[name].confidence)
        assert run.confidence(name) is found


def test_a_released_run_keeps_what_reports_and_figures_read(run: ScoredRun) -> None:
    released = run.released()
    assert released.facts == run.facts
    np.testing.assert_array_equal(released.right_shares, run.right_shares)
    for name, found in run.confidences().items():
        np.testing.assert_array_equal(released.confidence(name).correct, found.correct)
        assert released.confidence(name).probabilities is None
    with pytest.raises(ValueError, match="no scores of candidates, or they were released"):
        _ = released.table


def test_a_part_of_a_run_is_that_of_its_scores(run: ScoredRun) -> None:
    rows, places = np.array([2, 0]), np.array([29, 3, 4])
    part = run.restricted(rows, places)
    assert part.table.templates == (run.table.templates[2], run.table.templates[0])
    assert part.instances.group.tolist() == run.instances.group[places].tolist()
    assert part.widths.tolist() == run.widths[places].tolist()
    assert part.clusters is not None
    assert part.clusters.tolist() == part.instances.group.tolist()
    for place, former in enumerate(places):
        own, theirs = (slice(*table.offsets[at : at + 2]) for table, at in ((part.table, place), (run.table, former)))
        np.testing.assert_array_equal(part.table.scores[:, own], run.table.scores[rows, theirs])
    everything = np.arange(len(run.instances))
    assert run.restricted(np.arange(3), everything) is run
