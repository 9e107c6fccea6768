"""`calprobe.sweep` from Python: a dictionary for a file, the plan of a dry run, what became of jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from run_samples import write_run

import calprobe
from calprobe.errors import UsageError
from calprobe.sweep import Attempt, Job, Local, OnThisMachine, SweepOptions, SweepPlan, SweepResult
from calprobe.sweep.commands import Commands, Task
from calprobe.sweep.sweeping import run_sweep
from calprobe.sweep.workloads import Cost, Workload

DEFINITION = {"models": ("a", "b"), "probes": {"mini": {"limit": 3}}}


def task(job: Job) -> Task:
    """A job has 7 statements; the limit 9 is refused."""
    if job.options["limit"] == 9:
        raise UsageError("9 are too many")
    return Task(Workload(7, lambda: "made", lambda model: Cost(1), lambda kind: Cost(5, counted=False)))


MADE = Commands({"score": {"model": False, "probe": False, "limit": False}, "ask": {}}, task)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALPROBE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of jobs that were begun. Each makes a small run at once; those of the model b fail."""
    names: list[str] = []

    def run_here(engine: Any, jobs: Any, out: Path, started: Any, ended: Any) -> None:
        for planned in jobs:
            started(planned.job)
            names.append(planned.job.name)
            if planned.job.model != "b":
                write_run(planned.job.out)
            code, words = (1, "calprobe: no b\nand more") if planned.job.model == "b" else (0, "")
            ended(planned.job, Attempt(planned.job.arguments, code, 0.1, "now", words))

    monkeypatch.setattr(Local, "run", run_here)
    return names


def swept(out: Path, definition: Any = DEFINITION, dry_run: bool = False) -> SweepPlan | SweepResult:
    options = SweepOptions(report=False, quiet=True)
    return run_sweep(definition, out, OnThisMachine(), options, MADE, dry_run=dry_run)


def test_a_plan_has_each_job_and_writes_nothing(tmp_path: Path) -> None:
    plan = swept(tmp_path / "out", dry_run=True)
    assert isinstance(plan, SweepPlan)
    assert [(job.job.name, job.units, job.cost) for job in plan.jobs] == [
        (f"{model}/mini", 7, Cost(5, counted=False)) for model in ("a", "b")
    ]
    assert (plan.states, plan.times, plan.misfits) == ({"a/mini": "to do", "b/mini": "to do"}, {}, ())
    assert f"calprobe score --model=a --probe=mini --limit=3 --out={tmp_path}/out/a/mini" in str(plan).splitlines()
    assert not (tmp_path / "out").exists()


def test_a_result_says_what_is_complete_and_why_the_others_failed(tmp_path: Path, begun: list[str]) -> None:
    for _ in range(2):
        result = swept(tmp_path / "out")
        assert isinstance(result, SweepResult)
        assert [job.name for job in result.complete] == ["a/mini"]
        assert (result.failed, result.overview) == ({"b/mini": "calprobe: no b"}, None)
        assert repr(result) == f"<SweepResult {tmp_path / 'out'}: 1 run of 2 complete>"
    assert begun == ["a/mini", "b/mini", "b/mini"]
    plan = swept(tmp_path / "out", dry_run=True)
    assert isinstance(plan, SweepPlan)
    assert plan.states == {"a/mini": "done", "b/mini": "failed (1)"}
    assert [job.job.name for job in plan.jobs] == ["b/mini", "a/mini"]


def test_what_a_command_refuses_is_said_with_its_tables(tmp_path: Path) -> None:
    many = {"models": ["a"], "probes": {"mini": {"limit": 9}}}
    with pytest.raises(UsageError, match=r"^the sweep: \[models\.a\] \[probes\.mini\]: 9 are too many$"):
        swept(tmp_path / "out", many)


def test_the_public_function_has_the_commands_there_are(tmp_path: Path) -> None:
    questions = {"mini": {"as": "choice", "limit": 2, "collect": ["labels"], "variants": ["implicit_framing"]}}
    plan = calprobe.sweep({"models": ["tiny-chat"], "questions": questions}, tmp_path / "out", dry_run=True)
    assert isinstance(plan, SweepPlan)
    assert [(job.job.arguments[0], job.units) for job in plan.jobs] == [("ask", 2)]
    assert plan.jobs[0].cost is not None
    assert plan.jobs[0].cost.counted
    with pytest.raises(UsageError, match="a masked model cannot answer"):
        calprobe.sweep({"models": ["tiny-mlm"], "questions": questions}, tmp_path / "out")
    with pytest.raises(UsageError, match="Invalid value for '--limit': 'few' is not a valid integer"):
        calprobe.sweep({"models": ["tiny-clm"], "probes": {"mini": {"limit": "few"}}}, tmp_path / "out")
