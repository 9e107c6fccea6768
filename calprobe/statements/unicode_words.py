"""The words of a text by Unicode's rules, whatever tokenizer a model has: UAX 29, section 4, default word boundaries.

`regex` knows the Word_Break property of every character. Its own boundaries (`(?w)\\b`) are not used: they differ from
the standard's at an apostrophe before a vowel and after a single regional indicator (seen with 2026.11.15).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import regex

_Bits = npt.NDArray[np.uint32]
_PROPERTIES = {
    name: 1 << bit
    for bit, name in enumerate(
        (
            *("CR", "LF", "Newline", "WSegSpace", "Extend", "Format", "ZWJ", "Regional_Indicator"),
            *("ALetter", "Hebrew_Letter", "Katakana", "Numeric", "ExtendNumLet"),
            *("MidLetter", "MidNum", "MidNumLet", "Single_Quote", "Double_Quote"),
        )
    )
}
_PICTOGRAPHIC = 1 << len(_PROPERTIES)
_ANY = (1 << 32) - 1
_OTHER = 1 << 31  # every character has it, so that `_ANY` holds for each


def _bits(*names: str) -> int:
    return sum(_PROPERTIES[name] for name in names)


_LINE_BREAK = _bits("CR", "LF", "Newline")
_IGNORED = _bits("Extend", "Format", "ZWJ")
_HEBREW, _SINGLE_QUOTE, _DOUBLE_QUOTE = _bits("Hebrew_Letter"), _bits("Single_Quote"), _bits("Double_Quote")
_LETTER, _NUMBER, _KATAKANA = _bits("ALetter", "Hebrew_Letter"), _bits("Numeric"), _bits("Katakana")
_IN_LETTERS, _IN_NUMBERS = (_bits("MidNumLet", "Single_Quote", mid) for mid in ("MidLetter", "MidNum"))
_JOINER = _bits("ExtendNumLet")

# No boundary stands between the second and the third of these, with the first before and the fourth behind them.
_TOGETHER = (
    (_ANY, _LETTER | _NUMBER, _LETTER | _NUMBER, _ANY),  # WB5, WB8, WB9, WB10
    (_ANY, _LETTER, _IN_LETTERS, _LETTER),  # WB6
    (_LETTER, _IN_LETTERS, _LETTER, _ANY),  # WB7
    (_ANY, _HEBREW, _SINGLE_QUOTE, _ANY),  # WB7a
    (_ANY, _HEBREW, _DOUBLE_QUOTE, _HEBREW),  # WB7b
    (_HEBREW, _DOUBLE_QUOTE, _HEBREW, _ANY),  # WB7c
    (_NUMBER, _IN_NUMBERS, _NUMBER, _ANY),  # WB11
    (_ANY, _NUMBER, _IN_NUMBERS, _NUMBER),  # WB12
    (_ANY, _KATAKANA, _KATAKANA, _ANY),  # WB13
    (_ANY, _LETTER | _NUMBER | _KATAKANA | _JOINER, _JOINER, _ANY),  # WB13a
    (_ANY, _JOINER, _LETTER | _NUMBER | _KATAKANA, _ANY),  # WB13b
)


def words_of_characters(texts: Sequence[str]) -> npt.NDArray[np.int64]:
    """A number for each character's word, [characters of all texts, laid end to end], non-decreasing, with gaps.

    Words are all segments between boundaries: `can't` and `3.14` are one each, `based.` is two, a space is one as well.
    Two texts share no word.

    >>> words_of_characters(["It's 9.", "No"]).tolist()
    [1, 1, 1, 1, 2, 3, 4, 6, 6]
    """
    # A line break before each text: it counts as a start of text, and nothing joins across it (WB3a, WB3b).
    joined = "".join("\n" + text for text in texts)
    begins = np.cumsum([0] + [len(text) + 1 for text in texts])[:-1]
    is_text = np.ones(len(joined), np.bool_)
    is_text[begins] = False
    return (np.cumsum(_boundaries(_properties(joined)), dtype=np.int64) - 1)[is_text]


def _properties(text: str) -> _Bits:
    """The properties of each character, [characters], a bit each."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    highest = int(codes.max(initial=0))
    occurs = np.zeros(highest + 1, np.bool_)
    occurs[codes] = True
    distinct = "".join(map(chr, np.flatnonzero(occurs).tolist()))
    table = np.full(highest + 1, _OTHER, np.uint32)
    patterns = [(f"Word_Break={name}", bit) for name, bit in _PROPERTIES.items()]
    for name, bit in (*patterns, ("Extended_Pictographic", _PICTOGRAPHIC)):
        found = [ord(letter) for letter in regex.findall(rf"\p{{{name}}}", distinct)]
        table[found] |= np.uint32(bit)
    return table[codes]


def _boundaries(here: _Bits) -> npt.NDArray[np.bool_]:
    """Whether a word begins at each character, [characters]."""
    before = _shifted(here, 1)
    ignored = _has(here, _IGNORED) & ~_has(before, _LINE_BREAK)  # WB4: goes with what stands before it
    ignored[:1] = False
    together = ignored.copy()
    together |= _has(before, _bits("CR")) & _has(here, _bits("LF"))  # WB3
    together |= _has(before, _bits("ZWJ")) & _has(here, _PICTOGRAPHIC)  # WB3c
    together |= _has(before, _bits("WSegSpace")) & _has(here, _bits("WSegSpace"))  # WB3d
    together[~ignored] |= _joined(here[~ignored])
    return ~together


def _joined(here: _Bits) -> npt.NDArray[np.bool_]:
    """The rules that look past ignored characters: whether each of the others joins the one before it."""
    around = (_shifted(here, 2), _shifted(here, 1), here, _shifted(here, -1))
    joined = np.zeros(len(here), np.bool_)
    for rule in _TOGETHER:
        holds = [_has(bits, wanted) for bits, wanted in zip(around, rule, strict=True) if wanted != _ANY]
        joined |= np.logical_and.reduce(holds)
    indicator = _has(here, _bits("Regional_Indicator"))
    if indicator.any():  # WB15, WB16: flags are pairs of them
        place = np.arange(len(here))
        last_other = np.maximum.accumulate(np.where(indicator, -1, place))
        joined |= indicator & ((place - last_other) % 2 == 0)
    return joined


def _has(here: _Bits, bits: int) -> npt.NDArray[np.bool_]:
    return (here & np.uint32(bits)).astype(np.bool_)


def _shifted(here: _Bits, by: int) -> _Bits:
    """What stands `by` places before each (behind, where negative); nothing beyond the ends."""
    shifted = np.zeros_like(here)
    if by > 0:
        shifted[by:] = here[:-by]
    else:
        shifted[:by] = here[-by:]
    return shifted
