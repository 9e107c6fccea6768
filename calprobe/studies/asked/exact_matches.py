"""How many answers exact matching calls wrong though an accepted text stands in them, and the warning of that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from calprobe.confidence.asked import Answers
from calprobe.messages import counted

WARN_ABOVE = 0.05  # share of the answers


@dataclass(frozen=True, slots=True)
class ExactMatches:
    """Answers to open questions that exact matching graded, under the reader that confidences go by."""

    graded: int
    right: int
    contain: int  # of the wrong ones, those that contain an accepted text as complete words and do not deny it
    sentences: int = 0  # of the wrong ones, those longer by three words or more than every accepted text

    @property
    def warning(self) -> str:
        """What a reader of the accuracy has to know; empty where that is 5 % of the answers or fewer.

        >>> ExactMatches(graded=1000, right=241, contain=50).warning
        ''
        """
        if not self.graded or self.contain <= WARN_ABOVE * self.graded:
            return ""
        share, accuracy = self.contain / self.graded, self.right / self.graded
        sentences = f"; {self.sentences:,} of the wrong answers {_are(self.sentences)}" if self.sentences else ""
        return (
            f"{self.contain:,} of {counted(self.graded, 'answer')} ({100 * share:.0f} %) are wrong by exact matching "
            f"and contain an accepted text; accuracy is {accuracy:.3f}, or {accuracy + share:.3f} if these were "
            f"right{sentences}. "
            "Grade them by `calprobe grade RUN --grader contains`, or by a model: `calprobe grade RUN --judge MODEL`"
        )


def exact_warnings(sets: Mapping[str, ExactMatches]) -> Iterator[str]:
    """The warning of each set that has one, behind the name of the set."""
    yield from (f"{name}: {matches.warning}" for name, matches in sets.items() if matches.warning)


def _are(count: int) -> str:
    return "is a sentence" if count == 1 else "are sentences"


def exact_matches(cells: Iterable[Answers]) -> ExactMatches | None:
    """Of the cells of a set; None where exact matching graded no answer.

    An answer that says it does not know was compared, too, and is left out: it contains no answer.
    """
    grades = [grade for answers in cells for grade in answers.grades if grade.rule == "exact"]
    if not grades:
        return None
    right = sum(grade.correct for grade in grades)
    contain, sentences = (sum(getattr(grade, name) for grade in grades) for name in ("contains", "sentence"))
    return ExactMatches(len(grades), right, contain, sentences)
