"""The same tokens are a label in a complete vocabulary and in a window."""

from __future__ import annotations

import math

import numpy as np
import pytest

from calprobe.backends.local.label_tokens import LOCAL_LABEL_RULE, LabelVocabulary
from calprobe.runs.replies import LABEL_RULE, LABEL_RULE_OF_WINDOW, said_label
from calprobe.runs.window import Step, WindowToken, window_label_scores

TOKENS = ("A", " A", "\nA", "A ", "a", "B", "AB", "B\n")
LABELS = ("A", "B")
OWN = {"A": (0, 1, 2), "B": (5,)}


class Vocabulary:
    """A tokenizer of these tokens, as far as a vocabulary is read."""

    backend_tokenizer = property(lambda self: self)

    def __len__(self) -> int:
        return len(TOKENS)

    def decode_batch(self, rows: list[list[int]], skip_special_tokens: bool) -> list[str]:
        return ["".join(TOKENS[token] for token in row) for row in rows]


def test_the_complete_vocabulary() -> None:
    found = LabelVocabulary(None, Vocabulary(), len(TOKENS)).forms(LABELS)  # type: ignore[arg-type]  # no text is asked for
    assert found.stored() == (OWN["A"], OWN["B"])


def test_a_window_takes_the_same_tokens() -> None:
    masses = np.arange(1, len(TOKENS) + 1) / 100
    window = [WindowToken(text, math.log(mass), n) for n, (text, mass) in enumerate(zip(TOKENS, masses, strict=True))]
    scores = window_label_scores(LABELS, [Step(window[3], window)], "A ")
    assert scores.forms == (OWN["A"], OWN["B"])
    expected = [math.log(masses[list(own)].sum()) for own in OWN.values()]
    assert scores.logprobs[0] == pytest.approx(expected)


def test_a_label_with_a_blank_behind_it_is_no_place_of_a_label() -> None:
    steps = [Step(WindowToken(text, -1.0), [WindowToken(text, -1.0)]) for text in ("So", " A ", " B")]
    assert window_label_scores(LABELS, steps, "So A  B").positions.tolist() == [0, 2]


def test_every_backend_names_the_rule() -> None:
    assert LOCAL_LABEL_RULE.startswith(LABEL_RULE)
    assert LABEL_RULE_OF_WINDOW.startswith(LABEL_RULE)
    assert [said_label(token) for token in (" A", "A ")] == ["A", "A "]
