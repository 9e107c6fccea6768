"""Prompt designs: the words that questions are asked in."""

from calprobe.prompts.types import PromptSet, Stated, Variant

__all__ = ["PromptSet", "Stated", "Variant"]
