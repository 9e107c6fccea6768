"""Numbers in a text: digits with groups, decimals, signs, exponents, fractions, percent, currency, units."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from calprobe.answers.units import WORDS_FOR_POWERS, is_unit

Form = Literal["plain", "fraction", "unclear"]

# Between two digits: a decimal point, or what separates groups. LaTeX writes {,} and \, for the latter.
_JOINT = r"(?:\{,\}|,?\\[!,]|[.,'’\u00a0\u2009\u202f])"
# Groups with blanks between them: two of three digits, or one of zeros or in front of one word at most, as
# `2 500 ml bottles` are two numbers.
_ONE_WORD = r"(?:\.[0-9]++)?[^\S\n]?(?:[%€£]|[A-Za-z]{1,15})?[*_)\]}$.,;:!?]{0,4}(?:\s{0,4}\Z|\n|(?<=[).,;:!?])\s)"
_SPACED = (
    rf"(?:[0-9]{{1,3}}(?:(?:[ ][0-9]{{3}}){{2,4}}|[ ]000)|(?<![0-9][ ])[1-9][0-9]{{0,2}}[ ][0-9]{{3}}(?={_ONE_WORD}))"
    r"(?![0-9]|[ ][0-9]{3}(?![0-9]))(?:\.[0-9]++)?"
)
_DIGITS = rf"(?:{_SPACED}|[0-9](?:[0-9]|{_JOINT}(?=[0-9]))*+|\.[0-9]++)"
_SIGN = r"(?:(?<![\w)\]}.])[-−–+])"
_CURRENCY = r"(?:\\?[$]|[€£¥₹])"
_EXPONENT = r"\{?[^\S\n]?(?P<power>[-−+]?[0-9]{1,4})\}?"
# The sign may be left out, as in `3.52 10^-19`.
_TIMES_TEN = (
    r"(?:[^\S\n]?(?:×|x|\*|·|\\times|\\cdot)[^\S\n]?|[$]?[^\S\n][$]?[^\S\n]?(?:\\mathrm\{)?(?=10[^\S\n]?(?:\^|\*\*)))10"
    rf"(?:[^\S\n]?(?:\^|\*\*)[^\S\n]?{_EXPONENT}|(?P<raised>[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]{{1,4}}))"
)
# Words and letters behind a number that multiply it; M and B only of money, since both are units, too.
_SCALES = WORDS_FOR_POWERS | {"k": 3, "m": 6, "mn": 6, "b": 9, "bn": 9}
_SCALE_WORD = r"(?:hundred|thousand|million|billion|trillion)\b(?!-[A-Za-z])"
_SCALE = (
    rf"(?P<scale>[^\S\n]?{_SCALE_WORD}"
    r"|(?:(?<=[0-9])k|(?P<money>[^\S\n]?(?:mn|bn|[MB])))\b)"
)
_VULGAR = "¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"
_MORE = (
    rf"{_SCALE}|[^\S\n]?(?P<vulgar>[{_VULGAR}])|(?P<superscript>[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]{{1,4}})"
    rf"|[eE](?P<exponent>[-−+]?[0-9]{{1,4}})(?!\w)|{_TIMES_TEN}"
    rf"|(?:[^\S\n](?P<above>[0-9]++))?/(?P<below>{_DIGITS})(?![/\w])"
    r"|(?P<odd>(?:\^[^\S\n]?\{?|\*\*|/)(?=[-−]?[0-9])(?:[-−0-9{}^]|[./*](?=[-−0-9]))*+)"
)
_NUMBER = re.compile(
    rf"(?:(?P<sign>{_SIGN})(?:[^\S\n](?={_CURRENCY}))?)?(?:{_CURRENCY}(?P<inner>[-−])?)?"
    rf"(?:\\[dt]?frac[^\S\n]?\{{(?P<upper>{_DIGITS})\}}\{{(?P<lower>{_DIGITS})\}}"
    rf"|(?<!\w)(?<![0-9][.,])(?P<digits>{_DIGITS})(?:{_MORE})?|(?<!\w)(?P<alone>[{_VULGAR}]))"
)
# Words behind a number that belong to it: 2 and a half million, 2 dozen. Scales with a capital in front of another one
# are names (2012 Thousand Oaks).
_PART = re.compile(
    r"[^\S\n]and[^\S\n](?:(?:a|one)[^\S\n](?P<part>half|third|quarter)|(?P<quarters>three[-\s]quarters))\b(?!-\w)"
    r"(?=(?P<behind>[^\S\n]?[^\W\d_]+)?)",
    re.IGNORECASE,
)
_TIMES = re.compile(rf"[^\S\n](?P<times>{_SCALE_WORD}|dozen\b(?!-)|(?i:{_SCALE_WORD}|dozen\b(?!-))(?![^\S\n][A-Z]))")
_SCALED = re.compile(
    r"(?:(?P<dozen>dozen)|(?:hundred|thousand|million|billion|trillion|[0-9]\s?(?:k|mn?|bn?)))\Z", re.IGNORECASE
)
# What may stand behind a half, beside units: no noun that it is the kind of (a third party), no "of" (a third of it).
_GOES_WITH_A_PART = re.compile(
    rf"dozen|{_SCALE_WORD}|[^\W\d_]{{2,}}(?<!s)s|people|percent|times|is|was|are|were|in|on|at|for|to|by|and|or|more|less|than|per|as"
    r"|because|so|from|since|when|that|which|but|if|with|about|not|long|tall|old|high|wide|deep|away|ago",
    re.IGNORECASE,
)
_PARTS = {"half": 1 / 2, "third": 1 / 3, "quarter": 1 / 4}
# One character for one, so that places stay: full-width signs, signs of Arabic numbers, the slash of fractions. A
# full-width comma separates words, too: only in groups of full-width digits it is part of a number.
_PLAIN_SIGNS = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F) if chr(code) != "，"} | str.maketrans(
    "٫٬⁄٪", ".,/%"
)
_WIDE_GROUPS = re.compile(r"(?<![\d，])[０-９]{1,3}(?:，[０-９]{3})+(?![\d，])")
_OTHER_DIGIT = re.compile(r"(?![0-9])\d")
_TEN_TO_THE = re.compile(r"(?:\^[^\S\n]?\{?|\*\*)([-−]?[0-9]{1,4})\}?")
# What stands in front of digits that are an exponent or a part of a name: m/s^2, mol^{-1}, mol-1, x**2, B-12.
# Two asterisks behind a blank set the number in bold: is **42**.
_OF_A_LETTER = re.compile(
    r"(?:[^\W\d_]|[°)}%])(?:[^\S\n]?\^[^\S\n]?[{(]?[^\S\n]?|\*\*[{(]?)[-−]?\Z|[^\W\d_][-−–]\Z|(?:√|\\sqrt\{)\Z"
)
_SIGN_CHARACTERS = 40
_BEFORE = 8  # characters in front of a number that this looks at
_CLOCK = re.compile(r":[0-9]{2}(?![0-9])")
_GROUPED = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})++(?:\.[0-9]++)?+")
_PLAIN = re.compile(r"[0-9]++(?:\.[0-9]++)?+|\.[0-9]++")
_GROUP_MARKS = re.compile(r"\{,\}|,?\\[!,]|['’ \u00a0\u2009\u202f]")
_SUPERSCRIPTS = str.maketrans("⁻⁺⁰¹²³⁴⁵⁶⁷⁸⁹", "-+0123456789")
# Beside a power in an equation.
_OPERATOR_IN_FRONT = re.compile(r"[=+*/×·√<>≈−-]\s{0,2}\Z")
_OPERATOR_BEHIND = re.compile(r"\s?[=+*/×·<>≈−-]")
# A factor or divisor that is no number in digits: 1 / e, 2 π, 3√2.
_SYMBOL = re.compile(
    r"[^\S\n]?(?:(?:/|\\cdot|\\times|\*)[^\S\n]?)?(?:\\(?:pi|sqrt|ln|log|exp)\b|π|√|sqrt\b|/[^\S\n]?e\b)"
)
# A sign in words; "minus" is one where nothing stands in front that it subtracts from.
_SIGN_WORD = re.compile(
    r"(?:\bnegative|(?:(?:\A|[^\w)\]}%°\s]|\n|\b(?:is|was|be|are|to|of|and|from|about|approximately|around|answer|equals?|gives"
    r"|get|at|between|say|think|guess|exactly|nearly|almost|roughly|reached|hit"
    r"|(?:it|that|this|there|here|he|she|what|answer|result|total|temperature)['’]s))\s{0,3}[*_]{0,2})\b(?P<minus>minus))[^\S\n]{1,2}\Z",
    re.IGNORECASE,
)
_ORDINAL = re.compile(r"(?:st|nd|rd|th)\b")


@dataclass(frozen=True, slots=True)
class Number:
    """A number where it stands; the span begins with sign or currency and ends before the unit."""

    value: float
    form: Form  # unclear: digits that are no number of a known form, such as 0,8 or 1.2.3; the value is NaN
    start: int
    end: int


def numbers_of(text: str, start: int = 0, end: int | None = None) -> Iterator[Number]:
    """The numbers of a text from left to right. Digits in a word (H2O, B-12), ordinals (3rd), times of day (7:30) and
    exponents of letters (m/s^2) are none.

    A comma groups digits in threes; `0,8` is unclear, as it is 0.8 in one country and no number in another. A fraction
    is one number, and so is a mixed one (`1 1/2`, `2½`, `2 and a half`). A minus is a sign unless something is
    subtracted (`5-3`). Digits are ASCII's: `with_plain_digits` makes them so.

    >>> [(number.value, number.form) for number in numbers_of("-$1,234.50 or 3/4 or 2.5e-3 or 0,8")]
    [(-1234.5, 'plain'), (0.75, 'fraction'), (0.0025, 'plain'), (nan, 'unclear')]
    """
    for match in _NUMBER.finditer(text, start, len(text) if end is None else end):
        if not _is_no_number(text, match):
            value, form = _value(match)
            end = match.start("scale") if _is_a_unit(match) else match.end()
            if _is_a_note(match):
                end = match.start("superscript")
            if form == "plain":
                value, end = with_part(text, value, end)
                form = "unclear" if math.isnan(value) else form
            if _SYMBOL.match(text, end):
                value, form = math.nan, "unclear"
            sign = None if match["sign"] or match["inner"] else sign_in_words(text, match.start(), start)
            yield Number(value, form, match.start(), end) if sign is None else Number(-value, form, sign, end)


def with_plain_digits(text: str) -> str:
    """The text with ASCII's digits for those of other scripts, and ASCII's signs for full-width ones; places stay.

    >>> with_plain_digits("４２％, ٤٢, ४२")
    '42%, 42, 42'
    """
    if text.isascii():
        return text
    plain = _WIDE_GROUPS.sub(lambda number: number[0].replace("，", ","), text).translate(_PLAIN_SIGNS)
    return _OTHER_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), plain)


def with_part(text: str, value: float, end: int) -> tuple[float, int]:
    """The number with the words behind it that belong to it, and where these end; NaN where it is uncertain what a half
    is of (a million and a half).

    >>> [with_part(text, 2.0, 1) for text in ("2 and a half million", "2 dozen eggs", "2 and a third of it")]
    [(2500000.0, 20), (24.0, 7), (2.0, 1)]
    """
    part, behind = _part(text, end)
    if part and (scaled := _SCALED.search(text[max(0, end - 9) : end])):
        return (value + 12 * part if scaled["dozen"] else math.nan), behind
    value, end = value + part, behind
    if times := _TIMES.match(text, end):
        word, end = times["times"].lower(), times.end()
        value *= 12 if word == "dozen" else 10 ** _SCALES[word]
        more, end = (0.0, end) if part else _part(text, end)
        value += 0.0 if not more else 12 * more if word == "dozen" else math.nan
    return value, end


def _part(text: str, end: int) -> tuple[float, int]:
    """The half, third or quarters that words behind a number add to it, 0 without, and where they end."""
    found = _PART.match(text, end)
    if found is None:
        return 0.0, end
    noun = (found["behind"] or "").strip()
    if noun and not _GOES_WITH_A_PART.fullmatch(noun) and not is_unit(noun):
        return 0.0, end
    return (0.75 if found["quarters"] else _PARTS[found["part"].lower()]), found.end()


def sign_in_words(text: str, place: int, start: int = 0) -> int | None:
    """Where a sign in words begins that stands in front of the place, not before `start`; None without one.

    >>> [sign_in_words(text, len(text)) for text in ("It is minus ", "negative ", "ten minus ", "It is ")]
    [6, 0, None, None]
    """
    match = _SIGN_WORD.search(text[max(0, place - _SIGN_CHARACTERS) : place])
    if match is None:
        return None
    begin = match.start("minus") if match["minus"] else match.start()
    begin += max(0, place - _SIGN_CHARACTERS)
    return begin if begin >= start else None


def _is_no_number(text: str, match: re.Match[str]) -> bool:
    begin, end = match.span()
    if _ORDINAL.match(text, end) or _OF_A_LETTER.search(text[max(0, begin - _BEFORE) : begin]):
        return True
    on_a_clock = text[begin - 1 : begin] == ":" and text[begin - 2 : begin - 1].isdigit()
    return on_a_clock or _CLOCK.match(text, end) is not None


def _value(match: re.Match[str]) -> tuple[float, Form]:
    sign = -1.0 if (match["sign"] or "+") in "-−–" or match["inner"] else 1.0
    if match["upper"]:
        return _fraction(sign, 0.0, _float(match["upper"]), _float(match["lower"]))
    if match["alone"]:
        return sign * unicodedata.numeric(match["alone"]), "fraction"
    digits = match["digits"]
    if match["vulgar"]:
        return sign * (_float(digits) + unicodedata.numeric(match["vulgar"])), "fraction"
    if match["below"]:
        whole, above = (_float(digits), float(match["above"])) if match["above"] else (0.0, _float(digits))
        return _fraction(sign, whole, above, _float(match["below"]))
    if match["scale"] and not _is_a_unit(match):
        return _scaled(match, sign, digits)
    exponent = match["exponent"] or match["power"] or (match["raised"] or "").translate(_SUPERSCRIPTS)
    if match["odd"] or (match["superscript"] and not _is_a_note(match)):
        odd = match["odd"] or "^" + match["superscript"].translate(_SUPERSCRIPTS).replace("+", "")
        power = _TEN_TO_THE.fullmatch(odd)
        if digits != "10" or power is None:
            return math.nan, "unclear"
        digits, exponent = "1", power[1]
    value = sign * _float(digits, exponent)
    return (value, "plain") if math.isfinite(value) else (math.nan, "unclear")


def _is_a_unit(match: re.Match[str]) -> bool:
    """Whether an M or B behind the digits is no million or billion: only of money it is."""
    return bool(match["money"]) and not re.search(_CURRENCY, match[0])


def _is_a_note(match: re.Match[str]) -> bool:
    """Whether a superscript is the sign of a footnote (in 1969³), no power: not of 10, and not within an equation. A
    square of at most two digits may be either, and no number is to be told from it."""
    power, digits = match["superscript"], match["digits"]
    if not power or digits == "10" or power[0] in "⁻⁺" or (power != "¹" and len(digits.replace(".", "")) < 3):
        return False
    begin, end = match.span()
    front = match.string[max(0, begin - 3) : begin]
    return not _OPERATOR_IN_FRONT.search(front) and not _OPERATOR_BEHIND.match(match.string, end)


def _scaled(match: re.Match[str], sign: float, digits: str) -> tuple[float, Form]:
    value = sign * _float(digits, str(_SCALES[match["scale"].strip().lower()]))
    return (value, "plain") if math.isfinite(value) else (math.nan, "unclear")


def _fraction(sign: float, whole: float, upper: float, lower: float) -> tuple[float, Form]:
    value = sign * (whole + upper / lower) if lower else math.nan
    return (value, "fraction") if math.isfinite(value) else (math.nan, "unclear")


def _float(digits: str, exponent: str = "") -> float:
    """The number that digits with joints, and a power of ten, are; NaN for no known form, infinite if too large."""
    plain = _GROUP_MARKS.sub(",", digits)
    if _GROUPED.fullmatch(plain):
        plain = plain.replace(",", "")
    elif not _PLAIN.fullmatch(plain):
        return math.nan
    return float(f"{plain}e{exponent.replace('−', '-') or 0}")
