"""What is printed and written of an overview of many runs, by `calprobe report DIR`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from calprobe.cli.output import in_format, print_result, write_page

if TYPE_CHECKING:
    from calprobe.analysis.overview import OverviewOptions, Task


def report_overview(title: str, tasks: Sequence[Task], options: OverviewOptions, form: str, page: Path | None) -> None:
    """Print the runs of all tasks side by side, and write a page of them where it is wanted."""
    from calprobe.analysis.html import overview_page
    from calprobe.analysis.overview import overview, report_task
    from calprobe.analysis.tables.overview import overview_tables

    found = overview(title, [report_task(task, options).overview for task in tasks], options)
    print_result(in_format(form, found, overview_tables, overview_tables))
    if page is not None:
        write_page(overview_page(found, options, {}), page)
