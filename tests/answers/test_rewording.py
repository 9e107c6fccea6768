"""The question in a reply, whatever a model puts around it."""

from __future__ import annotations

import pytest

from calprobe.answers.rewording import read_rewording


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("Who led Norway?", "Who led Norway?"),
        ('"Who led Norway?"', "Who led Norway?"),
        ("'Who led Norway?'", "Who led Norway?"),
        ("**Who led Norway?**", "Who led Norway?"),
        ("1. Who led Norway?\n2. Norway was led by whom?", "Who led Norway?"),
        ("Here is a question in other words:\n\nWho led Norway?", "Who led Norway?"),
        ("**New question:** Who led Norway?", "Who led Norway?"),
        ("Rephrased version: 'Who led Norway?'", "Who led Norway?"),
        ("\n\nWho led Norway?\n\nIt was Michelsen.", "Who led Norway?"),
        ("Here is one:", "Here is one:"),
        ("Who's 1.5 metres tall?", "Who's 1.5 metres tall?"),
        ("   \n ", ""),
        ("'", "'"),
    ],
)
def test_what_stands_around_a_question_is_taken_away(reply: str, said: str) -> None:
    assert read_rewording(reply) == said


def test_a_question_of_several_lines_keeps_them() -> None:
    assert read_rewording("Of course:\nTom has 2 cats.\nHow many?", several_lines=True) == "Tom has 2 cats. How many?"
