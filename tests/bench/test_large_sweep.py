"""The simulation of a large sweep: sums by hand, and what failures of nodes cost."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import pytest
import simulate
from simulated import large_sweep
from simulated.large_sweep import Assumed, Work, seconds_of, simulated, works

from calprobe.sweep import Job, Planned
from calprobe.sweep.workloads import Cost

ASSUMED = Assumed(tflops=1e-3, gb_s=1.0, step_s=0.5, at_once=2.0, start_s=10.0, read_gb_s=1.0, kept_every_s=5.0)


def task(name: str, read: int, written: int = 0) -> Planned:
    return Planned(Job(name, "ask", "m", {}, Path(name), ()), 1, None, 0, Cost(read, written))


def work(name: str, seconds: float, cards: int = 1, *, fails: bool = False) -> Work:
    planned = Planned(Job(name, "ask", "m", {}, Path(name), ()), 1, round(seconds), 0, Cost(1))
    return Work(planned, cards, 10.0, seconds, fails)


def given(gpus: int = 2, each: int = 2, mtbf_h: float = 1e9) -> argparse.Namespace:
    return argparse.Namespace(gpus=gpus, gpus_each=each, node_mtbf_h=mtbf_h, seed=0)


def test_seconds_are_reading_and_steps() -> None:
    # 2 x 1e9 x 3 FLOP at 1e9 a second; two steps of two replies, each 0.5 s and 2 GB of weights at 1 GB/s.
    assert seconds_of(task("a", 3, 4), 1e9, 1, ASSUMED) == pytest.approx(6 + 2 * 2.5)
    assert seconds_of(task("a", 3, 4), 1e9, 2, ASSUMED) == pytest.approx(3 + 2 * 1.5)


def test_each_model_has_each_task_on_as_many_cards_as_its_weights_need() -> None:
    found = works(200, [task("x/a", 3), task("x/b", 5)], 0.0, Assumed(), seed=1)
    assert len({each.planned.job.name for each in found}) == 400
    assert {each.cards for each in found} == {1, 2}
    assert {each.cards for each in found if (each.planned.parameters or 0) > 35e9} == {2}


def test_without_failures_the_time_is_that_of_the_jobs() -> None:
    jobs = [work("a", 20), work("b", 90), work("c", 20), work("d", 20, fails=True)]
    longest, in_order, _ = (simulated(way, jobs, given(), ASSUMED) for way in large_sweep.WAYS)
    # Longest first: b to 100 s; beside it a and c to 60 s, d to 70 s, since it fails once loaded.
    assert longest.wall_h * 3600 == pytest.approx(100)
    assert in_order.wall_h * 3600 == pytest.approx(100)
    assert longest.card_h * 3600 == pytest.approx(100 + 30 + 30 + 10)
    assert longest.idle == pytest.approx(1 - 170 / 200)
    assert (longest.failed_jobs, longest.node_failures, longest.lost_h) == (1, 0, 0.0)


def test_a_job_of_several_cards_waits_for_one_node() -> None:
    found = simulated("longest first", [work("a", 20, 2), work("b", 10), work("c", 5)], given(2, 2), ASSUMED)
    assert found.wall_h * 3600 == pytest.approx(30 + 20)


def test_what_a_lost_node_had_written_is_not_done_again() -> None:
    jobs = [work(f"j{n}", 400) for n in range(8)]
    kept, _, anew = (simulated(way, jobs, given(4, 2, mtbf_h=0.1), ASSUMED) for way in large_sweep.WAYS)
    assert kept.node_failures > 0
    assert kept.lost_h < anew.lost_h
    for found in (kept, anew):
        assert found.card_h * 3600 == pytest.approx(8 * 410 + found.lost_h * 3600)


def test_the_command_counts_the_tasks_of_a_sweep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = tmp_path / "one.toml", tmp_path / "found.json"
    file.write_text(f'out = "{tmp_path}/out"\nmodels = ["tiny-clm"]\nprobes = ["mini"]\n')
    monkeypatch.setattr(
        sys, "argv", ["x", "sweep", "--tasks", str(file), "--models", "20", "--gpus", "8", "--out", str(out)]
    )
    simulate.main()
    assert "A SIMULATION" in capsys.readouterr().out
    figures = json.loads(out.read_text())
    assert figures["simulation"] is True
    assert figures["tasks"]["mini"]["counted"]
    assert [each["way"] for each in figures["outcomes"]] == list(large_sweep.WAYS)
