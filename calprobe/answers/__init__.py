"""Answers: text in, values out. Extraction, grading and stated confidence, without a model."""

from calprobe.answers.answer_type import ANSWER_TYPES, answer_type
from calprobe.answers.comparing import comparable
from calprobe.answers.graders import GRADERS, Grade, GradeRules, grade
from calprobe.answers.on_scale import closed_replies, read_on_scale
from calprobe.answers.readers import READERS, Reader, read, readers_of
from calprobe.answers.reading import STATUSES, Reading
from calprobe.answers.refusals import abstains
from calprobe.answers.rouge import rouge_l
from calprobe.answers.short import read_short
from calprobe.answers.stated import PARSERS, read_stated
from calprobe.answers.stated_line import read_stated_line

__all__ = [
    "ANSWER_TYPES",
    "GRADERS",
    "PARSERS",
    "READERS",
    "STATUSES",
    "Grade",
    "GradeRules",
    "Reader",
    "Reading",
    "abstains",
    "answer_type",
    "closed_replies",
    "comparable",
    "grade",
    "read",
    "read_on_scale",
    "read_short",
    "read_stated",
    "read_stated_line",
    "readers_of",
    "rouge_l",
]
