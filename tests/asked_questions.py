"""Questions that tests of prompts and readers ask."""

from __future__ import annotations

from string import ascii_uppercase

from calprobe.questions import Question


def choice(*options: str, labels: tuple[str, ...] = (), answer: int = 0, text: str = "Which one?") -> Question:
    """A question with letters as labels, unless others are given."""
    own = labels or tuple(ascii_uppercase[: len(options)])
    return Question("q", text, "choice", options, own, answer=answer)


def lettered(count: int) -> Question:
    """A question with that many options, A, B, .."""
    return choice(*(f"option number {place}" for place in range(count)))


def worded(*words: str, answer: int = 0, text: str = "How is it?") -> Question:
    """A question with options that are their own labels."""
    return choice(*words, labels=words, answer=answer, text=text)


def number(value: float, unit: str | None = None, text: str = "How many?") -> Question:
    return Question("n", text, "number", number=value, unit=unit)


def free(*accepted: str, text: str = "Who?") -> Question:
    return Question("o", text, "open", accepted=accepted)
