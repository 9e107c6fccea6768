"""Questions: what is asked of a model, read from question files, public sets and probes."""

from __future__ import annotations

from calprobe.questions.named_sets import NAMED_SETS, NamedSet
from calprobe.questions.options import QuestionOptions
from calprobe.questions.question_file import read_question, read_question_file
from calprobe.questions.question_loading import load_questions
from calprobe.questions.question_records import question_of_record, question_record
from calprobe.questions.turning import balanced, turned
from calprobe.questions.types import Question, QuestionKind, QuestionSet, SetSource

__all__ = [
    "NAMED_SETS",
    "NamedSet",
    "Question",
    "QuestionKind",
    "QuestionOptions",
    "QuestionSet",
    "SetSource",
    "balanced",
    "load_questions",
    "question_of_record",
    "question_record",
    "read_question",
    "read_question_file",
    "turned",
]
