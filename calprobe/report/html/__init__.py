"""Reports as one HTML page that needs nothing else: tables, figures, definitions and manifests in a single file."""

from __future__ import annotations

from calprobe.report.html.compare_view import comparison_page
from calprobe.report.html.contents import ReportContents, RunContents, gather
from calprobe.report.html.report_view import report_page

__all__ = ["ReportContents", "RunContents", "comparison_page", "gather", "report_page"]
