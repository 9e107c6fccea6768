"""How long jobs are expected to take, by those that have ended."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from run_samples import write_run

from calprobe.runs.run_progress import Progress, write_progress
from calprobe.sweep import Attempt, Job, Planned, Record
from calprobe.sweep.rates import Rate, Rates, measured_rates
from calprobe.sweep.workloads import Cost


def planned(out: Path, name: str, tokens: int, parameters: int | None, command: str = "score") -> Planned:
    model = name.split("/")[0]
    job = Job(name, command, model, {"model": model}, out / name, ())  # type: ignore[arg-type]
    return Planned(job, 10, parameters, 0, Cost(tokens))


def test_a_job_takes_as_long_as_those_of_the_nearest_model() -> None:
    rates = Rates(
        (
            Rate("score", "small", 100, 5.0, 0.01),
            Rate("score", "large", 10_000, 50.0, 0.001),
            Rate("ask", "small", 100, 7.0, 1.0),
        )
    )
    out = Path("out")
    assert rates.seconds(planned(out, "small/a", 30, 100)) == pytest.approx(5 + 30 * 100 * 0.01)
    assert rates.seconds(planned(out, "other/a", 30, 5000)) == pytest.approx(50 + 30 * 5000 * 0.001)
    assert rates.seconds(planned(out, "large/a", 30, 10_000, "ask")) == pytest.approx(7 + 30 * 10_000)
    assert rates.seconds(planned(out, "unknown/a", 30, None)) == pytest.approx(27.5 + 30 * 0.0055)
    assert not Rates(())
    with pytest.raises(ValueError, match="no job has ended"):
        Rates(()).seconds(planned(out, "small/a", 30, 100))


def test_models_as_near_on_both_sides_count_alike_and_many_jobs_are_quick() -> None:
    both = Rates((Rate("score", "small", 100, 1.0, 0.01), Rate("score", "large", 400, 3.0, 0.03)))
    assert both.seconds(planned(Path("out"), "other/a", 5, 200)) == pytest.approx(2 + 5 * 200 * 0.02)
    many = Rates(tuple(Rate("score", f"m{n}", 1000 + n, 1.0, 0.1) for n in range(3000)))
    left = [planned(Path("out"), f"other{n}/a", 5, 1000 + n) for n in range(3000)]
    began = time.process_time()
    assert many.seconds(left[7]) == pytest.approx(1 + 5 * 1007 * 0.1)
    assert all(many.seconds(each) > 1 for each in left)
    assert time.process_time() - began < 1


def test_rates_are_of_complete_runs_alone(tmp_path: Path) -> None:
    done, resumed, found, partial, missing, changed = (
        planned(tmp_path, f"m/{name}", 1000, 10)
        for name in ("done", "resumed", "found", "partial", "missing", "changed")
    )
    for each in (done, resumed, found, partial, changed):
        write_run(each.job.out)
        write_progress(each.job.out, 0, Progress(load_s=2.0, score_s=8.0, wall_s=8.0))
    next((partial.job.out / "shards").iterdir()).unlink()
    record = Record(
        {
            "m/done": Attempt(done.job.arguments, 0, 20.0, ""),  # 8 s of computing, the rest to begin
            "m/resumed": Attempt(resumed.job.arguments, 0, 3.0, ""),  # the last attempt did but a part of it
            "m/partial": Attempt(partial.job.arguments, 1, 9.0, ""),
            "m/changed": Attempt((*changed.job.arguments, "--limit=3"), 0, 9.0, ""),
        }
    )
    rates = measured_rates([done, resumed, found, partial, missing, changed], record)
    assert [rate.begin_s for rate in rates.of_jobs] == pytest.approx([12.0, 2.0, 2.0])
    assert [rate.seconds_a_unit for rate in rates.of_jobs] == pytest.approx([8 / 10_000] * 3)
