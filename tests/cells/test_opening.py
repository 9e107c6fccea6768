"""Runs of either kind from their paths."""

from __future__ import annotations

from pathlib import Path

import pytest
from compared_runs import run_of

from calprobe.analysis import ReportOptions
from calprobe.cells.opening import (
    are_asked,
    asked_runs,
    named_runs,
    of_replies,
    of_scores,
    open_runs,
    open_scored_runs,
)
from calprobe.errors import UsageError
from calprobe.runs import Run


@pytest.fixture
def path(tmp_path: Path) -> str:
    return run_of(tmp_path / "run")


def test_runs_are_called_by_their_key_or_path(path: str) -> None:
    assert named_runs(path) == {path: path}
    assert named_runs([Path(path)]) == {path: Path(path)}
    assert named_runs({"mine": path}) == {"mine": path}
    opened = open_runs({"mine": path})
    assert named_runs(opened["mine"]) == {path: opened["mine"]}  # type: ignore[arg-type]
    for none in ([], {}):
        with pytest.raises(UsageError, match="name one run or more, each once"):
            named_runs(none)
    for odd in (3, None, [3], {"a": None}):
        with pytest.raises(UsageError, match="is no run: give folders of runs, or runs that are open"):
            named_runs(odd)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="run is named twice"):
        named_runs([path, path])


def test_kinds_are_told_apart(path: str) -> None:
    opened = open_runs({"mine": path})
    assert not are_asked(opened)
    assert list(of_scores(opened)) == ["mine"]
    assert of_replies(opened) == {}
    with pytest.raises(UsageError, match="mine: a run of scores, not of replies; report it by itself"):
        asked_runs({"mine": path})


def test_shards_are_let_go_with_what_was_read_of_them(path: str) -> None:
    opened = open_runs(path)[path]
    assert isinstance(opened, Run)
    (run,) = open_scored_runs(opened, ReportOptions())
    assert len(run.instances)
    assert "pieces" not in vars(opened)
    assert opened.complete_relations  # reads them
    assert opened.unread() is opened
