"""What a sweep shows at its end: its runs side by side, task by task, and what of them is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calprobe.cli.output import print_result
from calprobe.cli.terminal_text import say
from calprobe.errors import UsageError

if TYPE_CHECKING:
    from calprobe.analysis.overview import Task
    from calprobe.sweep import Job, Record, Sweep


def report_sweep(sweep: Sweep, record: Record) -> None:
    """Print the runs side by side, and write pages and tables. What goes wrong is said; it does not fail the sweep."""
    from calprobe.analysis.overview import DEFAULTS
    from calprobe.cli.overview import FOLDER, PAGE, write_overview
    from calprobe.heap import keep_freed_memory

    keep_freed_memory()
    try:
        shown = write_overview(sweep.out, tasks_of_sweep(sweep, record), DEFAULTS)
    except Exception as error:  # noqa: BLE001 - the runs are there, whatever is wrong with their report
        say(f"{sweep.out / PAGE}: not written: {error}\n  calprobe report {sweep.out} takes all runs there, too")
        return
    print_result(shown)
    say(f"wrote {sweep.out / PAGE}, and {sweep.out / FOLDER}/ with a page for each task and tables as CSV and JSON")


def is_reported(sweep: Sweep) -> bool:
    """Whether the page is there, and newer than the sweep's file, its record and its runs; said where it is."""
    from calprobe.cli.overview import PAGE
    from calprobe.sweep.record import FILE_NAME

    page = sweep.out / PAGE
    if not page.is_file():
        return False
    runs = (path for job in sweep.jobs if job.out.is_dir() for path in job.out.rglob("*") if path.is_file())
    sources = [path for path in (sweep.path, sweep.out / FILE_NAME, *runs) if path.exists()]
    if max(path.stat().st_mtime_ns for path in sources) > page.stat().st_mtime_ns:
        return False
    say(f"{page}: shows all of them; to make it again, delete it and run the same command again")
    return True


def tasks_of_sweep(sweep: Sweep, record: Record) -> list[Task]:
    """The jobs grouped by what they ask or score; a job without a run says why it has none."""
    from calprobe.analysis.overview import Task

    runs: dict[str, dict[str, str]] = {}
    missing: dict[str, dict[str, str]] = {}
    for job in sweep.jobs:
        model, _, task = job.name.partition("/")
        found = runs.setdefault(task, {}), missing.setdefault(task, {})
        if why := _why_not(job, record):
            found[1][model] = why
        else:
            found[0][model] = str(job.out)
    return [Task(name, own, missing[name]) for name, own in runs.items()]


def _why_not(job: Job, record: Record) -> str:
    """Why the job has no run to show; empty if it has one, complete or not."""
    from calprobe.runs.manifest_file import FILE_NAME

    last = record.attempts.get(job.name)
    if last is None:
        return "not made yet"
    is_there = (job.out / FILE_NAME).is_file()
    if is_there and not last.is_of(job):
        return "made with other options, and not again yet"
    if is_there and last.exit_code != UsageError.exit_code:
        return ""
    said = last.said.splitlines()
    why = said[0].removeprefix("calprobe: ") if said else f"exit code {last.exit_code}"
    # A wrong usage that only the run shows: what is there is of other options, or of another model.
    return f"{why}; delete {job.out} to make it anew, or rename its table" if is_there else why
