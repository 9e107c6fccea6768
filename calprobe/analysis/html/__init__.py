"""Reports as one HTML page that needs nothing else: tables, figures, definitions and manifests in a single file."""

from __future__ import annotations

from calprobe.analysis.html.asked_view import asked_page
from calprobe.analysis.html.comparison_view import comparison_page
from calprobe.analysis.html.overview_view import overview_page, task_page
from calprobe.analysis.html.report_view import page_wants, report_page

__all__ = ["asked_page", "comparison_page", "overview_page", "page_wants", "report_page", "task_page"]
