"""Which tokens are a label: one rule, for complete vocabularies and for windows of the most probable tokens."""

from __future__ import annotations

LABEL_RULE = "all tokens that are the label after leading white space is stripped, case-sensitive"
LABEL_RULE_OF_WINDOW = f"{LABEL_RULE}, of those in the window"


def said_label(token: str) -> str:
    """What a token's text says, to be compared with labels: blanks in front of it do not count, others do.

    A token that ends in a blank is the beginning of a word after the label ("A plant"), not the label.

    >>> said_label(" A"), said_label("A "), said_label("a")
    ('A', 'A ', 'a')
    """
    return token.lstrip()
