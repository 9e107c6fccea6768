"""What one child process is asked, and the questions as every contestant gets them."""

from __future__ import annotations

import gzip
import json
import random
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

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


def prompts_of(file: Path, n_questions: int, seed: int, shots: int = 0) -> tuple[str, ...]:
    """The user's turn of each of `n_questions` questions with four options, drawn from a JSONL file (.gz or not).

    `shots` others of that file, the same for all, stand in front with their answers.
    """
    content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    # Not splitlines: texts have separators of other kinds in them.
    questions = [json.loads(line) for line in content.decode("utf-8").split("\n") if line]
    possible = [question for question in questions if len(question["options"]) == len(LETTERS)]
    drawn = random.Random(seed).sample(possible, n_questions + shots)
    examples = "".join(f"{_listed(each)} {LETTERS[each['answer']]}\n\n" for each in drawn[n_questions:])
    return tuple(f"{_INSTRUCTION}\n\n{examples}{_listed(each)}" for each in drawn[:n_questions])


_INSTRUCTION = "Read the question and choose the one option that answers it. Give the letter of that option first."


def _listed(question: dict[str, Any]) -> str:
    options = (f"{letter}. {option}" for letter, option in zip(LETTERS, question["options"], strict=True))
    return "\n".join([question["question"], *options, "Answer:"])
