"""The texts that say what a reply claims with a token, and what it would claim with each of its alternatives."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Sequence
from typing import Literal

Alternatives = Sequence[tuple[str, float]]  # of a token: texts with log-probabilities, the one that was generated first
Context = Literal["sentence", "token"]
CONTEXTS: tuple[Context, ...] = ("sentence", "token")
_AROUND = string.whitespace + string.punctuation
_SENTENCE_END = re.compile(r"[.!?][\"')\]]*\s+|\n+")


def ccp_pairs(tokens: Sequence[Alternatives], context: Context = "sentence") -> list[tuple[str, str]]:
    """The different texts that a judge has to compare for `calprobe.confidence.samples.ccp`, in both directions.

    `sentence`: the reply's sentence up to the token, with the token and with its alternative. `token`: the two tokens
    alone, without white space and punctuation around them, as the study of science questions does it.

    >>> ccp_pairs([[(" Paris", -0.1), (" Rome", -2.5)]])
    [('Paris', 'Rome'), ('Rome', 'Paris')]
    """
    pairs: dict[tuple[str, str], None] = {}
    for first, second in (pair for comparisons in compared(tokens, context) for pair in comparisons):
        if first != second:
            pairs |= {(first, second): None, (second, first): None}
    return list(pairs)


def compared(tokens: Sequence[Alternatives], context: Context) -> Iterator[list[tuple[str, str]]]:
    """For each token, the text with the token beside the text with each of its alternatives, itself the first."""
    before = ""  # of the sentence
    for alternatives in tokens:
        if context == "token":
            texts = [text.strip(_AROUND) for text, _ in alternatives]
        else:
            texts = [(before + text).strip() for text, _ in alternatives]
        yield [(texts[0], text) for text in texts]
        before = _SENTENCE_END.split(before + alternatives[0][0])[-1] if alternatives else before
