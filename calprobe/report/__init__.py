"""Reports: the numbers of one run or several as frozen results, as JSON, and as a table.

The package can be called as its function: once it is imported, Python puts it where `calprobe.report`, the public
function, would stand, and `calprobe.report(run)` has to work all the same.
"""

from __future__ import annotations

import sys
from types import ModuleType

from calprobe.report.compute import RunLike, report
from calprobe.report.results import EstimatorReport, Report, ReportOptions, RunReport

__all__ = ["EstimatorReport", "Report", "ReportOptions", "RunLike", "RunReport", "report"]


class _CallablePackage(ModuleType):
    __call__ = staticmethod(report)


sys.modules[__name__].__class__ = _CallablePackage
