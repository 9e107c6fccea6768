"""The numbers of one run or several as frozen results: reports, comparisons, curves, slices."""

from __future__ import annotations

from calprobe.analysis.answer_frame import answers, show
from calprobe.analysis.answers import Answer, Shown, ShowOptions
from calprobe.analysis.asked.options import AskedOptions
from calprobe.analysis.asked.report import AskedReport
from calprobe.analysis.averages import Average, averages, reduction_averages
from calprobe.analysis.compare_pairs import named_pairs, named_run
from calprobe.analysis.compare_results import Comparison
from calprobe.analysis.compare_runs import compare
from calprobe.analysis.curves.accuracy_ace import accuracy_ace
from calprobe.analysis.curves.accuracy_rejection import accuracy_rejection
from calprobe.analysis.curves.answer_options import AnswerOptions, answer_option_curve
from calprobe.analysis.curves.calibration import calibration
from calprobe.analysis.curves.curve import CurveOptions, Curves
from calprobe.analysis.curves.exposure import exposure
from calprobe.analysis.curves.markers import markers
from calprobe.analysis.curves.options import options_curve
from calprobe.analysis.four_ways.compare_ways import compare_ways
from calprobe.analysis.four_ways.joint import FourWays
from calprobe.analysis.four_ways.options import FourWaysOptions
from calprobe.analysis.options import CompareOptions, ReportOptions, SliceOptions
from calprobe.analysis.reductions import ReductionNumbers, ReductionsReport, RunReductions, compare_reductions
from calprobe.analysis.reporting import asked_confidences, readings, report
from calprobe.analysis.results import EstimatorReport, Report, RunReport
from calprobe.analysis.sensitivity import PromptSensitivity, prompt_sensitivity
from calprobe.analysis.slices import RunSlices, Slice
from calprobe.analysis.uncertainty import MeanUncertainty
from calprobe.cells.opening import RunLike

__all__ = [
    "Answer",
    "AnswerOptions",
    "AskedOptions",
    "AskedReport",
    "Average",
    "CompareOptions",
    "Comparison",
    "CurveOptions",
    "Curves",
    "EstimatorReport",
    "FourWays",
    "FourWaysOptions",
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
    "ShowOptions",
    "Shown",
    "Slice",
    "SliceOptions",
    "accuracy_ace",
    "accuracy_rejection",
    "answer_option_curve",
    "answers",
    "asked_confidences",
    "averages",
    "calibration",
    "compare",
    "compare_reductions",
    "compare_ways",
    "exposure",
    "markers",
    "named_pairs",
    "named_run",
    "options_curve",
    "prompt_sensitivity",
    "readings",
    "reduction_averages",
    "report",
    "show",
]
