"""The options of grading."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from calprobe.answers.graders import OPEN_GRADERS, ROUGE_THRESHOLD, GradeRules, Target
from calprobe.errors import UsageError
from calprobe.messages import did_you_mean
from calprobe.prompts import PromptSet
from calprobe.words import GRADE_BY

NUMBER = "number"


@dataclass(frozen=True, slots=True)
class GradeOptions:
    """How answers are graded. Raises UsageError for an unknown word and a threshold outside of (0, 1]."""

    # A name in GRADE_BY; None: judge where there is one, else exact of open questions and number of numbers.
    grader: str | None = None
    target: Target = (
        "all"  # the accepted texts that an answer is compared with: all, or the best one, which is the first
    )
    rouge_threshold: float = ROUGE_THRESHOLD  # right from this ROUGE-L on
    judge_prompts: str | Path | PromptSet = "judge"  # a name, a JSON file, or a set; the first variant asks
    quiet: bool = False  # no progress on stderr

    def __post_init__(self) -> None:
        if self.grader is not None and self.grader not in GRADE_BY:
            near = did_you_mean(self.grader, GRADE_BY)
            raise UsageError(f"--grader {self.grader}: choose one of {', '.join(GRADE_BY)}{near}")
        _ = self.rules

    @property
    def rules(self) -> GradeRules:
        """The rules of open questions, before a judge."""
        grader = self.grader if self.grader in OPEN_GRADERS else "exact"
        return GradeRules(grader, self.target, self.rouge_threshold)
