"""calprobe: what a language model knows, and whether it knows that it knows it.

The public functions load on first use, so that `import calprobe` costs nothing and reading a run never imports torch.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from calprobe.version import __version__

if TYPE_CHECKING:
    from calprobe.analysis import CompareOptions as CompareOptions
    from calprobe.analysis import CurveOptions as CurveOptions
    from calprobe.analysis import FourWaysOptions as FourWaysOptions
    from calprobe.analysis import ReportOptions as ReportOptions
    from calprobe.analysis import SetOptions as SetOptions
    from calprobe.analysis import StakesOptions as StakesOptions
    from calprobe.analysis import Threshold as Threshold
    from calprobe.analysis import answer_sets as answer_sets
    from calprobe.analysis import answers as answers
    from calprobe.analysis import asked_confidences as asked_confidences
    from calprobe.analysis import compare as compare
    from calprobe.analysis import compare_ways as compare_ways
    from calprobe.analysis import confidences as confidences
    from calprobe.analysis import curve as curve
    from calprobe.analysis import figures as figures
    from calprobe.analysis import readings as readings
    from calprobe.analysis import replies as replies
    from calprobe.analysis import report as report
    from calprobe.analysis import stakes as stakes
    from calprobe.asking import AskOptions as AskOptions
    from calprobe.asking import ask as ask
    from calprobe.backends import BackendOptions as BackendOptions
    from calprobe.entrance import sweep as sweep
    from calprobe.grading import GradeOptions as GradeOptions
    from calprobe.grading import grade as grade
    from calprobe.models import LoadOptions as LoadOptions
    from calprobe.models import load_model as load_model
    from calprobe.probes import load_probe as load_probe
    from calprobe.questions import QuestionOptions as QuestionOptions
    from calprobe.runs import open_run as open_run
    from calprobe.scoring import ScoreOptions as ScoreOptions
    from calprobe.scoring.score import preview as preview
    from calprobe.scoring.score import score as score
    from calprobe.sweep import SweepOptions as SweepOptions

_HOME = {
    "AskOptions": "calprobe.asking",
    "BackendOptions": "calprobe.backends",
    "FourWaysOptions": "calprobe.analysis",
    "GradeOptions": "calprobe.grading",
    "LoadOptions": "calprobe.models",
    "QuestionOptions": "calprobe.questions",
    "ReportOptions": "calprobe.analysis",
    "ScoreOptions": "calprobe.scoring",
    "SetOptions": "calprobe.analysis",
    "StakesOptions": "calprobe.analysis",
    "SweepOptions": "calprobe.sweep",
    "Threshold": "calprobe.analysis",
    "answer_sets": "calprobe.analysis",
    "answers": "calprobe.analysis",
    "asked_confidences": "calprobe.analysis",
    "ask": "calprobe.asking",
    "CompareOptions": "calprobe.analysis",
    "CurveOptions": "calprobe.analysis",
    "compare": "calprobe.analysis",
    "compare_ways": "calprobe.analysis",
    "confidences": "calprobe.analysis",
    "curve": "calprobe.analysis",
    "figures": "calprobe.analysis",
    "grade": "calprobe.grading",
    "load_model": "calprobe.models",
    "load_probe": "calprobe.probes",
    "open_run": "calprobe.runs",
    "preview": "calprobe.scoring",
    "readings": "calprobe.analysis",
    "replies": "calprobe.analysis",
    "report": "calprobe.analysis",
    "score": "calprobe.scoring",
    "stakes": "calprobe.analysis",
    "sweep": "calprobe.entrance",
}
__all__ = [
    "AskOptions",
    "BackendOptions",
    "CompareOptions",
    "CurveOptions",
    "FourWaysOptions",
    "GradeOptions",
    "LoadOptions",
    "QuestionOptions",
    "ReportOptions",
    "ScoreOptions",
    "SetOptions",
    "StakesOptions",
    "SweepOptions",
    "Threshold",
    "__version__",
    "answer_sets",
    "answers",
    "ask",
    "asked_confidences",
    "compare",
    "compare_ways",
    "confidences",
    "curve",
    "figures",
    "grade",
    "load_model",
    "load_probe",
    "open_run",
    "preview",
    "readings",
    "replies",
    "report",
    "score",
    "stakes",
    "sweep",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'calprobe' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__


class _Package(ModuleType):
    """This package: a public function keeps its name when the stage of that name is imported (`answers`)."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
