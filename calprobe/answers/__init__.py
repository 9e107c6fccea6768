"""Answers: text in, values out. Extraction, grading and stated confidence, without a model."""

from calprobe.answers.types import Reading

__all__ = ["Reading"]
