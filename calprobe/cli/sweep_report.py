"""What a sweep shows at its end: its runs side by side, task by task, and what of them is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calprobe.cli.output import print_result
from calprobe.cli.terminal_text import say

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


def tasks_of_sweep(sweep: Sweep, record: Record) -> list[Task]:
    """The jobs grouped by what they ask or score; a job without a run says why it has none."""
    from calprobe.analysis.overview import Task
    from calprobe.runs.manifest_file import FILE_NAME

    runs: dict[str, dict[str, str]] = {}
    missing: dict[str, dict[str, str]] = {}
    for job in sweep.jobs:
        model, _, task = job.name.partition("/")
        found = runs.setdefault(task, {}), missing.setdefault(task, {})
        if (job.out / FILE_NAME).is_file():
            found[0][model] = str(job.out)
        else:
            found[1][model] = _why(job, record)
    return [Task(name, own, missing[name]) for name, own in runs.items()]


def _why(job: Job, record: Record) -> str:
    last = record.attempts.get(job.name)
    if last is None:
        return "not made yet"
    said = last.said.splitlines()
    return said[0].removeprefix("calprobe: ") if said else f"exit code {last.exit_code}"
