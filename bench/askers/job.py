"""What one child process is asked, and the questions as every contestant gets them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from calprobe.prompts import fill, load_prompts
from calprobe.questions import QuestionOptions, load_questions

SHOTS = 3  # of the variant with examples
LETTERS = ("A", "B", "C", "D")


@dataclass(frozen=True)
class AskJob:
    """One contestant on one task."""

    scorer: str  # a name of `contestants.CONTESTANTS`
    task: str  # labels: probabilities of the letters; replies: greedy text
    folder: str  # weights and tokenizer as save_pretrained wrote them
    prompts: tuple[str, ...]  # the user's turns
    max_new_tokens: int
    batch_sizes: tuple[int, ...]  # tried on a sample, the fastest is timed; empty: the contestant's own choice
    sample: int  # prompts of that sample
    threads: int

    def write(self, path: Path) -> None:
        """As JSON."""
        path.write_text(json.dumps(asdict(self)), "utf-8")

    @classmethod
    def read(cls, path: Path) -> AskJob:
        """What `write` wrote."""
        content = json.loads(path.read_text("utf-8"))
        return cls(**content | {name: tuple(content[name]) for name in ("prompts", "batch_sizes")})

    def thinned(self) -> tuple[str, ...]:
        """The sample: evenly spread."""
        n_prompts = min(self.sample, len(self.prompts))
        return tuple(self.prompts[place * len(self.prompts) // n_prompts] for place in range(n_prompts))


def prompts_of(questions: str, n_questions: int, seed: int, design: str) -> tuple[str, ...]:
    """The user's turns for `n_questions` questions with four options, drawn from a set.

    Args:
        questions: as `calprobe ask --questions`: a name, FILE.jsonl, or NAME=FILE.
        n_questions: questions drawn.
        seed: of the draw.
        design: "audit", each question under the five variants of calprobe's own prompts, question by question; or the
            name of one of these variants.
    """
    (found,) = load_questions([questions], QuestionOptions(seed=seed, draw=n_questions, shots=SHOTS))
    prompts = load_prompts("audit")
    variants = [each for each in prompts.variants if design in ("audit", each.name)]
    asked = [question for question in found.questions if len(question.options) == len(LETTERS)]
    filled = (fill(variant, question, found.shots, prompts) for question in asked for variant in variants)
    return tuple(only.text for (only,) in filled)
