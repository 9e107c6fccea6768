"""What is printed and written of an overview of many runs, by `calprobe report DIR` and at the end of a sweep."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from calprobe.cli.output import in_format, print_result, printed_json, tables_text, write_page
from calprobe.messages import shown

if TYPE_CHECKING:
    from calprobe.analysis.overview import OverviewOptions, Task

log = logging.getLogger(__name__)

PAGE, FOLDER = "report.html", "report"  # in a sweep's folder


def report_overview(title: str, tasks: Sequence[Task], options: OverviewOptions, form: str, page: Path | None) -> None:
    """Print the runs of all tasks side by side, and write a page of them where it is wanted."""
    from calprobe.analysis.html import overview_page
    from calprobe.analysis.overview import overview, report_task
    from calprobe.analysis.tables.overview import overview_tables

    found = overview(title, [report_task(task, options).overview for task in tasks], options)
    print_result(in_format(form, found, overview_tables, overview_tables))
    if page is not None:
        write_page(overview_page(found, options, {}), page)


def write_overview(out: Path, tasks: Sequence[Task], options: OverviewOptions) -> str:
    """Write the pages and tables of a sweep into its folder; give its runs side by side, as text.

    `report.html` is over all tasks; `report/` has a page for each with all of its numbers, and `overview.csv`,
    `overview.json` and `differences.csv`. A page that cannot be made is left out, and the log says why.
    """
    from calprobe.analysis.html import overview_page, task_page
    from calprobe.analysis.overview import overview, report_task
    from calprobe.analysis.tables import tidy_csv
    from calprobe.analysis.tables.overview import difference_tables, overview_tables
    from calprobe.runs.atomic import write_text
    from calprobe.runs.file_names import file_name

    folder = out / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    links: dict[str, str] = {}
    every = []
    for task in tasks:
        reported = report_task(task, options)
        every.append(reported.overview)
        if reported.report is None:
            continue
        path = folder / f"{file_name(task.name)}.html"
        try:
            write_text(path, task_page(reported.report, options))
        except Exception as error:  # noqa: BLE001 - one odd run must cost no more than the page that it is on
            log.warning("%s: not written: %s", path, error)
        else:
            links[task.name] = f"{FOLDER}/{quote(path.name)}"
    found = overview(shown(str(out)), every, options)
    tables = overview_tables(found)
    write_text(folder / "overview.csv", tidy_csv(tables) + "\n")
    write_text(folder / "overview.json", printed_json(found) + "\n")
    if differences := [table for task in every for table in difference_tables(task, in_files=True)]:
        write_text(folder / "differences.csv", tidy_csv(differences) + "\n")
    write_text(out / PAGE, overview_page(found, options, links))
    return tables_text(tables)
