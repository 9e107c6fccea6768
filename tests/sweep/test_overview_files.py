"""The runs of a sweep task by task: what is shown of each job, and when the page is up to date."""

from __future__ import annotations

import os
from pathlib import Path

from run_samples import write_run

from calprobe.sweep import Attempt, Sweep, add_attempt, read_record, read_sweep
from calprobe.sweep.definition import Known
from calprobe.sweep.overview_files import PAGE, is_shown, tasks_of_sweep

KNOWN: Known = {"score": {"model": False, "probe": False, "limit": False}, "ask": {}}


def sweep_of(folder: Path, limit: int) -> Sweep:
    """Two tasks of one model, of which the limit is an option of the first."""
    probes = {"months": {"limit": limit}, "days": {}}
    return read_sweep({"models": ["m"], "probes": probes}, KNOWN, folder)


def run_all(sweep: Sweep) -> None:
    for job in sweep.jobs:
        write_run(job.out)
        add_attempt(sweep.out, job, Attempt(job.arguments, 0, 0.1, "now"))


def test_no_numbers_of_a_run_with_other_options(tmp_path: Path) -> None:
    """The old run is another one: its job fails, and its numbers are not shown as the new job's."""
    run_all(sweep_of(tmp_path, 3))
    sweep = sweep_of(tmp_path, 4)
    job, other = sweep.jobs
    months, days = tasks_of_sweep(sweep, read_record(tmp_path))
    assert [months.missing, days.missing] == [{"m": "made with other options, and not again yet"}, {}]
    add_attempt(tmp_path, job, Attempt(job.arguments, 2, 0.1, "now", "calprobe: it contains a different run\nmore"))
    months, days = tasks_of_sweep(sweep, read_record(tmp_path))
    why = f"it contains a different run; delete {job.out} to make it anew, or rename its table"
    assert (months.name, months.missing, months.runs) == ("months", {"m": why}, {})
    assert days.runs == {"m": str(other.out)}
    # A job that failed in the middle has a partial run, which is shown as such.
    add_attempt(tmp_path, job, Attempt(job.arguments, 1, 0.1, "now", "calprobe: no"))
    assert tasks_of_sweep(sweep, read_record(tmp_path))[0].runs == {"m": str(job.out)}


def test_a_job_without_a_run_says_why(tmp_path: Path) -> None:
    sweep = sweep_of(tmp_path, 3)
    add_attempt(tmp_path, sweep.jobs[0], Attempt(sweep.jobs[0].arguments, -9, 0.1, "now"))
    missing = [task.missing for task in tasks_of_sweep(sweep, read_record(tmp_path))]
    assert missing == [{"m": "exit code -9"}, {"m": "not made yet"}]


def test_a_page_is_up_to_date_until_a_run_or_the_file_changes(tmp_path: Path) -> None:
    file = tmp_path / "paper.toml"
    file.write_text('models = ["m"]\nprobes = ["days"]\n')
    sweep = read_sweep(file, KNOWN, tmp_path / "out")
    sweep.out.mkdir()
    run_all(sweep)
    assert not is_shown(sweep)
    (sweep.out / PAGE).touch()
    assert is_shown(sweep)
    os.utime(file, (2**31, 2**31))
    assert not is_shown(sweep)
    # A dictionary has no time: the page may be of another one.
    assert not is_shown(read_sweep({"models": ["m"], "probes": ["days"]}, KNOWN, tmp_path / "out"))
