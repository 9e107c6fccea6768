"""What one child process is asked, and the questions as every contestant gets them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness.job import Job

from calprobe.prompts import fill, load_prompts
from calprobe.questions import QuestionOptions, load_questions

SHOTS = 3  # of the variant with examples
LETTERS = ("A", "B", "C", "D")


@dataclass(frozen=True)
class AskJob(Job):
    """One contestant on one kind of answer."""

    wanted: str  # labels: probabilities of the letters; replies: greedy text
    folder: str  # weights and tokenizer as save_pretrained wrote them
    prompts: tuple[str, ...]  # the user's turns
    max_new_tokens: int
    n_sample: int = 1  # prompts on which batch sizes are tried

    task: ClassVar[str] = "questions"

    @property
    def items(self) -> tuple[str, ...]:
        """See `Job`."""
        return self.prompts

    def sample(self) -> tuple[str, ...]:
        """Evenly spread."""
        n_prompts = min(self.n_sample, len(self.prompts))
        return tuple(self.prompts[place * len(self.prompts) // n_prompts] for place in range(n_prompts))


@dataclass(frozen=True)
class SampleJob(AskJob):
    """One contestant on several samples of each prompt; the sample of prompts is as large as the largest batch."""

    samples: int = 1  # of each prompt
    temperature: float = 1.0
    weights: str = ""  # the file that the folder is from

    task: ClassVar[str] = "samples"

    def sample(self) -> tuple[str, ...]:
        """The first prompts."""
        return self.prompts[: max(self.batch_sizes, default=2)]

    def count(self, items: Sequence[str]) -> int:
        """Samples."""
        return len(items) * self.samples


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
