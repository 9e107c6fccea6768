"""Models of one family, by their names: those that differ in nothing but a size."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

# Words for sizes, in their order; a model without a word, such as gpt2, is as small as "base" or "small".
_WORDS = {"tiny": 0, "mini": 1, "small": 2, "base": 2, "medium": 3, "large": 4, "xl": 5, "xxl": 6}
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)([mb])")  # 350m, 1.3b


def families(models: Iterable[str]) -> list[list[str]]:
    """The models of each family of two or more, the smaller ones first; families in the order of their first models.

    >>> families(["gpt2-xl", "opt-1.3b", "google-bert/bert-base-cased", "gpt2", "opt-350m", "gpt2-medium"])
    [['gpt2', 'gpt2-medium', 'gpt2-xl'], ['opt-350m', 'opt-1.3b']]

    Models of one size, such as one model under two precisions, are in no family: no order joins them.
    """
    by_family: dict[str, dict[str, float]] = {}
    for model in models:
        family, size = _family(model)
        by_family.setdefault(family, {})[model] = size
    groups = [sizes for sizes in by_family.values() if len(sizes) > 1 and max(Counter(sizes.values()).values()) == 1]
    return [sorted(sizes, key=lambda model: sizes[model]) for sizes in groups]


def family_of(model: str) -> str:
    """The name without its size: models of one family share it.

    >>> family_of("Qwen/Qwen2.5-7B-Instruct"), family_of("gpt2-xl")
    ('qwen2.5-instruct', 'gpt2')
    """
    return _family(model)[0]


def _family(model: str) -> tuple[str, float]:
    """The name without its size, and the size: parameters in millions, or a word's place."""
    words: list[str] = []
    size = 2.0
    for word in model.rstrip("/").rpartition("/")[2].lower().split("-"):
        if number := _NUMBER.fullmatch(word):
            size = float(number[1]) * (1000 if number[2] == "b" else 1)
        elif word in _WORDS and words:
            size = float(_WORDS[word]) if size == 2.0 else size
        else:
            words.append(word)
    return "-".join(words), size
