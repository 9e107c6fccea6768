"""Reports: the numbers of one run or several as frozen results, as JSON, and as a table.

`calprobe.report` is this package, always, and calling it calls its function `report`: Python puts an imported package
there, whoever imports it, so a function at that place would be there at one time and gone at another.
"""

from __future__ import annotations

import sys
from types import ModuleType

from calprobe.report.answer_options import AnswerOptions, answer_option_curve
from calprobe.report.compare_pairs import named_pairs
from calprobe.report.compare_results import CompareOptions, Comparison
from calprobe.report.compare_runs import compare
from calprobe.report.compute import report
from calprobe.report.curves.accuracy_ace import accuracy_ace
from calprobe.report.curves.accuracy_rejection import accuracy_rejection
from calprobe.report.curves.calibration import calibration
from calprobe.report.curves.exposure import exposure
from calprobe.report.curves.markers import markers
from calprobe.report.curves.options import options_curve
from calprobe.report.curves.results import CurveOptions, Curves
from calprobe.report.reductions import ReductionNumbers, ReductionsReport, RunReductions, compare_reductions
from calprobe.report.results import EstimatorReport, Report, ReportOptions, RunReport, SliceOptions
from calprobe.report.sensitivity import PromptSensitivity, prompt_sensitivity
from calprobe.report.slices import RunSlices, Slice
from calprobe.report.source import RunLike
from calprobe.report.uncertainty import MeanUncertainty

__all__ = [
    "AnswerOptions",
    "CompareOptions",
    "Comparison",
    "CurveOptions",
    "Curves",
    "EstimatorReport",
    "MeanUncertainty",
    "PromptSensitivity",
    "ReductionNumbers",
    "ReductionsReport",
    "Report",
    "ReportOptions",
    "RunLike",
    "RunReductions",
    "RunReport",
    "RunSlices",
    "Slice",
    "SliceOptions",
    "accuracy_ace",
    "accuracy_rejection",
    "answer_option_curve",
    "calibration",
    "compare",
    "compare_reductions",
    "exposure",
    "markers",
    "named_pairs",
    "options_curve",
    "prompt_sensitivity",
    "report",
]


class _CallablePackage(ModuleType):
    __call__ = staticmethod(report)


sys.modules[__name__].__class__ = _CallablePackage
