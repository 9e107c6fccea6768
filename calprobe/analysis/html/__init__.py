"""Reports as one HTML page that needs nothing else: tables, figures, definitions and manifests in a single file."""

from __future__ import annotations

from calprobe.analysis.html.comparison_pages import asked_comparison_page, comparison_page, four_ways_page
from calprobe.analysis.html.overview_page import overview_page, task_page
from calprobe.analysis.html.report_pages import asked_page, page_wants, report_page

__all__ = [
    "asked_comparison_page",
    "asked_page",
    "comparison_page",
    "four_ways_page",
    "overview_page",
    "page_wants",
    "report_page",
    "task_page",
]
