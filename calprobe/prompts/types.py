"""A set of prompts: variants of one question, and what is asked after the reply."""

from __future__ import annotations

from dataclasses import dataclass

from calprobe.messages import counted

# What a number or expression that a model states stands for: its share of 1, of 100, of 10, or 1 minus it.
SCALES = ("x", "x/100", "x/10", "1 - x", "1 - x/100", "1 - x/10")


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to ask. Texts have placeholders: {input}, {question}, {options}, {label_list}, {fewshot_examples}, .."""

    name: str
    user: str  # the user's turn; of a raw prompt, all of it
    max_new_tokens: int
    system: str = ""  # a system turn; empty: none
    opening: str = ""  # what the assistant's turn begins with; empty: nothing
    shots: int = 0  # examples in {fewshot_examples}
    final: bool = False  # whether the label is asked for once more behind the reply, see `PromptSet.final_cue`


@dataclass(frozen=True, slots=True)
class Stated:
    """A question about the model's confidence in the reply that it has just given: the user's next turn."""

    name: str
    text: str
    scale: str  # one of SCALES, or the name of a map from expressions to numbers
    max_new_tokens: int


@dataclass(frozen=True, slots=True)
class PromptSet:
    """Prompts under one name."""

    name: str
    fingerprint: str  # SHA-256 (hex) of all of it
    variants: tuple[Variant, ...]
    stated: tuple[Stated, ...] = ()
    final_cue: str = ""  # continues the reply itself, so that the next token is the label: "\n\nFinal answer:"
    final_max_new_tokens: int = 4
    layout: str = "{label}. {option}"  # a line of {options}
    path: str | None = None  # of a user's file; None: calprobe's own

    def __repr__(self) -> str:
        return f"<PromptSet {self.name}: {counted(len(self.variants), 'variant')}, {len(self.stated)} stated>"
