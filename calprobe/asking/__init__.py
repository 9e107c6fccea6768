"""Asks questions of a model through a backend: plan, identity of requests, journal, resume, progress."""

from __future__ import annotations

from calprobe.asking.ask import ask, preview
from calprobe.asking.ask_options import STUDIES, AskOptions, Study
from calprobe.asking.ask_progress import AskProgress
from calprobe.asking.paraphrasing import Paraphrased, ParaphraseOptions, paraphrase
from calprobe.asking.plan_of_options import plan_of
from calprobe.asking.preview import AskPreview
from calprobe.interrupts import Interrupted

__all__ = [
    "STUDIES",
    "AskOptions",
    "AskPreview",
    "AskProgress",
    "Interrupted",
    "ParaphraseOptions",
    "Paraphrased",
    "Study",
    "ask",
    "paraphrase",
    "plan_of",
    "preview",
]
