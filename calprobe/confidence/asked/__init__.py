"""Confidence in answers that a model gave: label probabilities and stated confidence, a row for each answer."""

from calprobe.confidence.asked.cell import Cell, Row, cells_of
from calprobe.confidence.asked.estimators import AskedEstimator, asked_estimators
from calprobe.confidence.asked.labels import LabelMasses, off_label_mass
from calprobe.confidence.asked.readings import Answers, read_answers
from calprobe.confidence.asked.types import AskedConfidence, Reading, WayToRead

__all__ = [
    "Answers",
    "AskedConfidence",
    "AskedEstimator",
    "Cell",
    "LabelMasses",
    "Reading",
    "Row",
    "WayToRead",
    "asked_estimators",
    "cells_of",
    "off_label_mass",
    "read_answers",
]
