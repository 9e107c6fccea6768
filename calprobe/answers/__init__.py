"""Answers: text in, values out. Extraction, grading and stated confidence, without a model."""

from calprobe.answers.grading import GRADERS, Grade, grade
from calprobe.answers.on_scale import read_on_scale
from calprobe.answers.readers import READERS, Reader, read, readers_of
from calprobe.answers.stated import PARSERS, read_stated
from calprobe.answers.types import STATUSES, Reading

__all__ = [
    "GRADERS",
    "PARSERS",
    "READERS",
    "STATUSES",
    "Grade",
    "Reader",
    "Reading",
    "grade",
    "read",
    "read_on_scale",
    "read_stated",
    "readers_of",
]
