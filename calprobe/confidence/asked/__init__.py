"""Confidence in answers that a model gave: label probabilities, stated confidence, samples; a row for each answer."""

from calprobe.answers.reading import Reading
from calprobe.confidence.asked.label_masses import LabelMasses, off_label_mass
from calprobe.confidence.asked.read_cell import Read, WayToRead
from calprobe.confidence.asked.readings import Answers, read_answers
from calprobe.confidence.asked.reply_estimators import asked_estimators
from calprobe.confidence.asked.reply_table import ReplyTable, Row, reply_tables

__all__ = [
    "Answers",
    "LabelMasses",
    "Read",
    "Reading",
    "ReplyTable",
    "Row",
    "WayToRead",
    "asked_estimators",
    "off_label_mass",
    "read_answers",
    "reply_tables",
]
