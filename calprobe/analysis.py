"""The numbers of one run or several as frozen results: reports, comparisons, curves, slices."""

from __future__ import annotations

from calprobe.cells.opening import RunLike
from calprobe.curves.accuracy_ace import accuracy_ace
from calprobe.curves.accuracy_rejection import accuracy_rejection
from calprobe.curves.answer_option_curve import AnswerOptions, answer_option_curve
from calprobe.curves.calibration_curve import calibration
from calprobe.curves.curve import CurveOptions, Curves
from calprobe.curves.exposure import exposure
from calprobe.curves.markers import markers
from calprobe.curves.option_counts import options_curve
from calprobe.measures.compare_pairs import named_pairs, named_run
from calprobe.measures.compare_results import Comparison
from calprobe.measures.options import CompareOptions, ReportOptions, SliceOptions
from calprobe.measures.sensitivity import PromptSensitivity, prompt_sensitivity
from calprobe.measures.slices import RunSlices, Slice
from calprobe.measures.uncertainty import MeanUncertainty
from calprobe.presentation.present_results import figures
from calprobe.presentation.reporting import (
    answers,
    asked_confidences,
    compare,
    confidences,
    curve,
    readings,
    replies,
    report,
)
from calprobe.studies.asked.asked_report import AskedReport
from calprobe.studies.four_ways.compare_ways import compare_ways
from calprobe.studies.four_ways.joint import FourWays
from calprobe.studies.four_ways.way_options import FourWaysOptions
from calprobe.studies.scored.answer_frame import show
from calprobe.studies.scored.answers import Answer, Shown, ShowOptions
from calprobe.studies.scored.averages import Average, averages, reduction_averages
from calprobe.studies.scored.reductions import ReductionNumbers, ReductionsReport, RunReductions, compare_reductions
from calprobe.studies.scored.results import EstimatorReport, Report, RunReport
from calprobe.studies.sets.numbers import run_answer_sets as answer_sets
from calprobe.studies.sets.results import SetOptions, SetReport
from calprobe.studies.stakes.numbers import run_stakes as stakes
from calprobe.studies.stakes.results import StakesOptions, StakesReport
from calprobe.studies.threshold.threshold_file import Threshold

__all__ = [
    "Answer",
    "AnswerOptions",
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
    "SetOptions",
    "SetReport",
    "ShowOptions",
    "Shown",
    "Slice",
    "SliceOptions",
    "StakesOptions",
    "StakesReport",
    "Threshold",
    "accuracy_ace",
    "accuracy_rejection",
    "answer_option_curve",
    "answer_sets",
    "answers",
    "asked_confidences",
    "averages",
    "calibration",
    "compare",
    "compare_reductions",
    "compare_ways",
    "confidences",
    "curve",
    "exposure",
    "figures",
    "markers",
    "named_pairs",
    "named_run",
    "options_curve",
    "prompt_sensitivity",
    "readings",
    "reduction_averages",
    "replies",
    "report",
    "show",
    "stakes",
]
