"""Texts that bring a careless pattern to its knees: long runs of what patterns repeat."""

from __future__ import annotations

from collections.abc import Iterator

UNITS = {
    "spaces": " ",
    "lines": "\n",
    "digits": "7",
    "commas and digits": "1,",
    "points and digits": "1.",
    "minus signs": "-",
    "stars": "*",
    "brackets": "(",
    "markers": "Answer: ",
    "markers and spaces": "the answer is      ",
    "labels": "A ",
    "labels and stops": "B. ",
    "bold": "**",
    "questions": "\nQuestion: ",
    "percent": "0.5 % ",
    "out of": "5 out of ",
    "fractions": "1/2/",
    "boxes": "\\boxed{",
    "equals": "= 1 ",
    "yes": "yes no ",
    "number words": "seven ",
    "ones": "one of ",
    "ranges": "three or 4 to ",
    "letters": "a",
    "astral": "\U0001f600\u0301",
}


def hostile_texts(length: int) -> Iterator[tuple[str, str]]:
    """Name and text, each of that many characters."""
    for name, unit in UNITS.items():
        yield name, (unit * (length // len(unit) + 1))[:length]
