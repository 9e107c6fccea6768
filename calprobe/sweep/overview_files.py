"""What a sweep shows at its end: its runs side by side, task by task, and what of them is missing."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from calprobe.errors import UsageError
from calprobe.messages import printable_json, shown
from calprobe.runs.atomic import write_text
from calprobe.runs.file_names import file_name
from calprobe.runs.manifest_file import FILE_NAME as MANIFEST
from calprobe.sweep.definition import Job, Sweep
from calprobe.sweep.job_record import FILE_NAME, Record

if TYPE_CHECKING:
    from calprobe.measures.options import ReportOptions
    from calprobe.studies.asked.asked_report import AskedReport
    from calprobe.studies.overview.overviews import Overview, Task
    from calprobe.studies.scored.results import Report

log = logging.getLogger(__name__)

PAGE, FOLDER = "report.html", "report"  # in a sweep's folder


def show_side_by_side(sweep: Sweep, record: Record) -> Overview | None:
    """Write pages and tables over all runs; None where that fails, which the log says and which fails no sweep."""
    from calprobe.heap import keep_freed_memory
    from calprobe.measures.options import DEFAULT_OPTIONS

    keep_freed_memory()
    page = sweep.out / PAGE
    try:
        overview = _write_overview(sweep.out, tasks_of_sweep(sweep, record), DEFAULT_OPTIONS)
    except Exception as error:  # noqa: BLE001 - the runs are there, whatever is wrong with their report
        log.warning("%s: not written: %s\n  calprobe report %s takes all runs there, too", page, error, sweep.out)
        return None
    log.info("wrote %s, and %s/ with a page for each task and tables as CSV and JSON", page, sweep.out / FOLDER)
    return overview


def is_shown(sweep: Sweep) -> bool:
    """Whether the page is there, and newer than the sweep's file, its record and its runs; said where it is."""
    page = sweep.out / PAGE
    if sweep.path is None or not page.is_file():
        return False
    runs = (path for job in sweep.jobs if job.out.is_dir() for path in job.out.rglob("*") if path.is_file())
    sources = [path for path in (sweep.path, sweep.out / FILE_NAME, *runs) if path.exists()]
    if max(path.stat().st_mtime_ns for path in sources) > page.stat().st_mtime_ns:
        return False
    log.info("%s: shows all of them; to make it again, delete it and run the same command again", page)
    return True


def tasks_of_sweep(sweep: Sweep, record: Record) -> list[Task]:
    """The jobs grouped by what they ask or score; a job without a run says why it has none."""
    from calprobe.studies.overview.overviews import Task

    runs: dict[str, dict[str, str]] = {}
    missing: dict[str, dict[str, str]] = {}
    for job in sweep.jobs:
        model, _, name = job.name.partition("/")
        its_runs, its_missing = runs.setdefault(name, {}), missing.setdefault(name, {})
        if why := _why_not(job, record):
            its_missing[model] = why
        else:
            its_runs[model] = str(job.out)
    return [Task(name, its_runs, missing[name]) for name, its_runs in runs.items()]


def _why_not(job: Job, record: Record) -> str:
    """Why the job has no run to show; empty if it has one, complete or not."""
    last = record.attempts.get(job.name)
    if last is None:
        return "not made yet"
    has_run = (job.out / MANIFEST).is_file()
    if has_run and not last.is_of(job):
        return "made with other options, and not again yet"
    if has_run and last.exit_code != UsageError.exit_code:
        return ""
    words = last.said.splitlines()
    why = words[0].removeprefix("calprobe: ") if words else f"exit code {last.exit_code}"
    # A wrong usage that only the run shows: what is there is of other options, or of another model.
    return f"{why}; delete {job.out} to make it anew, or rename its table" if has_run else why


def _write_overview(out: Path, tasks: list[Task], options: ReportOptions) -> Overview:
    """Write `report.html` over all tasks; `report/` has a page for each with all of its numbers, and the tables."""
    from calprobe.presentation.overview_page import overview_page
    from calprobe.show.tables import tidy_csv
    from calprobe.studies.overview.overview_tables import difference_tables, overview_tables
    from calprobe.studies.overview.overviews import overview, report_task

    folder = out / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    links, rows = {}, []
    for task in tasks:
        reported = report_task(task, options)
        rows.append(reported.overview)
        if reported.report is not None and (page := _write_page(task, reported.report, options, folder)):
            links[task.name] = f"{FOLDER}/{quote(page.name)}"
    summary = overview(shown(str(out)), rows, options)
    write_text(folder / "overview.csv", tidy_csv(overview_tables(summary)) + "\n")
    content = json.dumps(summary.to_json(), indent=2, allow_nan=False, ensure_ascii=False)
    write_text(folder / "overview.json", printable_json(content) + "\n")
    if differences := [table for task in summary.tasks for table in difference_tables(task, in_files=True)]:
        write_text(folder / "differences.csv", tidy_csv(differences) + "\n")
    write_text(out / PAGE, overview_page(summary, options, links))
    return summary


def _write_page(task: Task, report: Report | AskedReport, options: ReportOptions, folder: Path) -> Path | None:
    """The page of a task; None where it cannot be made: one odd run must cost no more than the page that it is on."""
    from calprobe.presentation.overview_page import task_page

    path = folder / f"{file_name(task.name)}.html"
    try:
        write_text(path, task_page(report, options))
    except Exception as error:  # noqa: BLE001 - see above
        log.warning("%s: not written: %s", path, error)
        return None
    return path
