"""Prompt designs: the words that questions are asked in. The words themselves are in `templates/prompts/`."""

from calprobe.prompts.choices import judged, labelled
from calprobe.prompts.filling import fill
from calprobe.prompts.overrides import Overrides, overridden, with_turns
from calprobe.prompts.prompt_sets import PROMPT_SETS, fingerprint_of, load_prompts, prompt_of
from calprobe.prompts.types import Message, PromptSet, Stated, Variant, form_of
from calprobe.questions.examples import SHOT_SEED, draw_shots

__all__ = [
    "PROMPT_SETS",
    "SHOT_SEED",
    "Message",
    "Overrides",
    "PromptSet",
    "Stated",
    "Variant",
    "draw_shots",
    "fill",
    "fingerprint_of",
    "form_of",
    "judged",
    "labelled",
    "load_prompts",
    "overridden",
    "prompt_of",
    "with_turns",
]
