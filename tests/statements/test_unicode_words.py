"""Words by UAX 29: cases from the standard's rules, and what must hold for any text."""

from __future__ import annotations

import pytest
from call_counts import python_calls
from hypothesis import given
from hypothesis import strategies as st

from calprobe.statements.unicode_words import words_of_characters

# A bar is a boundary. WB3 to WB16 in order, each rule with what it joins and what it does not.
CASES = {
    "line breaks": "a|\r\n|\n|\r|b|\u2028|c",
    "emoji sequences": "👨\u200d👩\u200d👧|👨|👩|a\u200d👩|👩",
    "runs of spaces": "a|  |b| \u0301| |c|\u3000 |d|\t|\t|e",
    "marks and format characters go with what they follow": "e\u0301t\u00ade|.\u0301|\u200b",
    "but not with a line break": "\u0301|a|\n|\u0301\u0301|b",
    "letters": "Paris|東|京|で|す|한국어|東",
    "marks within words": "can't| |l’eau| |U.S|.| |a:b|:|:|a·b| |a|;|b| |a|.|.|b",
    "quotes beside words": "'|Abidjan|'|’|ist| |d'Ivoire|,| |'|a",
    "hebrew": 'א\'|.|א"א| |א|"| |א|"|a| |a|\'',
    "numbers": "3.14| |1,000|.| |3a4| |5|,|b| |1'2| |1;2| |1|:|2",
    "katakana": "カタカナ|あ|ｶﾀ|a",
    "underscores": "a_1_カ_|-|__",
    "flags": "🇩🇪|🇫🇷|🇬|a|🇬|.|🇩\u0301🇪|🇫",
    "hyphens and brackets": "U.S|.|-|based|(|x|)",
}


def cut(texts: list[str]) -> list[list[str]]:
    """The words of each text."""
    words = words_of_characters(texts).tolist()
    found: list[list[str]] = []
    for text in texts:
        parts: list[str] = []
        for place, letter in enumerate(text):
            if place and words[place] == words[place - 1]:
                parts[-1] += letter
            else:
                parts.append(letter)
        found.append(parts)
        words = words[len(text) :]
    assert words == []
    return found


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_boundaries_are_those_of_the_standard(case: str) -> None:
    parts = case.split("|")
    assert cut(["".join(parts)]) == [parts]


TEXTS = st.lists(st.text(st.sampled_from("ab1. ,'\":_-é東カ\u0301\u200d\r\n🇩🇪👩א"), max_size=9), max_size=6)


@given(TEXTS)
def test_the_words_of_a_text_do_not_depend_on_its_company(texts: list[str]) -> None:
    assert cut(texts) == [cut([text])[0] for text in texts]


@given(TEXTS)
def test_no_word_spans_two_texts_and_numbers_rise(texts: list[str]) -> None:
    words = words_of_characters(texts).tolist()
    assert words == sorted(words)
    of_text = [set(words[:0])]
    for text in texts:
        of_text.append(set(words[: len(text)]))
        words = words[len(text) :]
    assert len(set().union(*of_text)) == sum(map(len, of_text))


def test_no_text_has_no_words() -> None:
    assert words_of_characters([]).tolist() == words_of_characters(["", ""]).tolist() == []


def test_lone_surrogates_are_characters_too() -> None:
    assert cut(["a\ud800b"]) == [["a", "\ud800", "b"]]


def test_python_runs_once_a_text_at_most_and_never_once_a_character() -> None:
    texts = [f"The capital of Côte d'Ivoire {number} is Paris." for number in range(20_000)]
    few = python_calls(words_of_characters, texts[:100])
    assert python_calls(words_of_characters, texts) <= len(texts) + 2 * few
