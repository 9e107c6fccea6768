"""ROUGE-L: how much of two texts is a common subsequence of words."""

from __future__ import annotations

import re

_WORD = re.compile(r"[^\W_]+")


def rouge_l(text: str, reference: str) -> float:
    """The F1 of ROUGE-L (Lin 2004) of two texts, in [0, 1], 1 for the same words; 0 where one has none.

    With m words of the text, n of the reference and a longest common subsequence of l: `2 l / (m + n)`, the harmonic
    mean of `l / m` and `l / n`. Words are runs of letters and digits in lower case, not stemmed: of texts in ASCII
    those of the package rouge_score, which has no other letters.

    >>> rouge_l("the city of Paris", "Paris"), rouge_l("nurture", "nature")
    (0.4, 0.0)
    """
    words, reference_words = _words(text), _words(reference)
    if not words or not reference_words:
        return 0.0
    return 2 * _longest_common(words, reference_words) / (len(words) + len(reference_words))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _longest_common(words: list[str], references: list[str]) -> int:
    """The length of the longest common subsequence, by rows of the usual table."""
    row = [0] * (len(references) + 1)
    for word in words:
        before = row
        row = [0]
        for place, reference in enumerate(references):
            row.append(before[place] + 1 if word == reference else max(before[place + 1], row[place]))
    return row[-1]
