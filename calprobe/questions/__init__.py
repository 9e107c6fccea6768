"""Questions: what is asked of a model, read from question files, public sets and probes."""

from calprobe.questions.types import Question, QuestionKind, QuestionSet, SetSource

__all__ = ["Question", "QuestionKind", "QuestionSet", "SetSource"]
