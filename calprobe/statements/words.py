"""The words of a text by Unicode's rules, whatever tokenizer a model has."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import regex

# The flag `w` gives \b the default word boundaries of Unicode Standard Annex 29.
_WORD_BOUNDARY = regex.compile(r"(?w)\b")
_BETWEEN = "\n"  # nothing joins across a line break (WB3a, WB3b), so many texts can be cut as one


def words_of_characters(texts: Sequence[str]) -> npt.NDArray[np.int64]:
    """A number for each character's word, [characters of all texts, laid end to end], non-decreasing, with gaps.

    Words are the segments between the default word boundaries of UAX 29, section 4.1: `can't` and `3.14` are one word
    each, `d'Ivoire,` is two, and every punctuation mark and run of spaces is one too. Two texts share no word.

    >>> words_of_characters(["It's 9.", "No"]).tolist()
    [2, 2, 2, 2, 3, 4, 5, 7, 7]
    """
    # The line break in front is for the first text: at the very start `regex` joins a lone mark to what follows.
    joined = _BETWEEN + "".join(text + _BETWEEN for text in texts)
    lengths = np.fromiter(map(len, _WORD_BOUNDARY.split(joined)), np.int64)
    segments = np.repeat(np.arange(len(lengths)), lengths)  # [characters of `joined`]
    ends = np.cumsum([0] + [len(text) + 1 for text in texts])
    is_text = np.ones(len(joined), np.bool_)
    is_text[ends] = False
    return segments[is_text]
