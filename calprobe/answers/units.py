"""Units behind numbers: the text of one, and a value in another unit of the same dimension."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from calprobe.answers.unit_table import CURRENCIES, ZERO_POINTS, all_names

_LATEX = re.compile(r"\\(?:mathrm|text(?:rm|bf|it)?|mathbf|rm|left|right|[;:,! ])|[${}~]|\\(?=[()\[\]])")
# One form for each sign of units.
_FORMS = (
    (re.compile(r" ?\^ ?\\circ ?|\\(?:circ|degree)\b ?|\b[Dd]egrees? (?=(?:[CF]|[Cc]elsius|[Ff]ahrenheit)\b)"), "°"),
    (re.compile(r"° ?(?:[Cc]elsius\b|C\b)|\b[Cc]elsius\b"), "°C"),
    (re.compile(r"° ?(?:[Ff]ahrenheit\b|F\b)|\b[Ff]ahrenheit\b"), "°F"),
    (re.compile(r"\\mu\b ?|[µμ]"), "u"),
    (re.compile(r"\\Omega\b|[ΩΩ]"), "ohm"),
    (re.compile(r" ?\\(?:cdot|times)\b ?| ?[·⋅×*] ?(?=[A-Za-z°])"), "·"),
    (re.compile(r"\\%"), "%"),
    (re.compile(r"\bper cent\b"), "percent"),
    (re.compile(r" ?\^ ?|\*\*"), "^"),
)
_SUPERSCRIPT = re.compile(r"⁻?[¹²³⁴]")
_DIGITS_OF = str.maketrans("⁻¹²³⁴", "-1234")
_TERM = re.compile(
    r"(?P<joint> ?(?:[/·-]|per\b|an?(?= [a-z]{3})) ?| ?)\(?(?:(?P<power>square|cubic|sq|cu) )?(?!in [a-z])"
    r"(?P<name>[%$€£¥₹¢]|°[CF]?|light-years?|[A-Za-zÅ]+)"
    r"(?:(?P<squared> squared| cubed)|\^?\(?(?P<exponent>[-+]?[1-9])(?![0-9]|\.[0-9])\)?)?\)?"
)
_WORD = re.compile(r"°|[^\W\d_]\w*(?:[·/^]-?[\w()]+)*")
_DOLLARS = re.compile(r"[^\S\n]?\\?\$(?=[\s.,;!?)]|\Z)(?![^\n]*\$)")
_END_OF_MATH = re.compile(r"\A\s*\$")
_MATH_ENDS = re.compile(r"[^$\n]{0,200}\$(?![0-9])")  # behind a number with $ in front that is LaTeX's
_UNIT_CHARACTERS = 120  # behind a number that its unit stands in; LaTeX takes many
_POWERS = {"square": 2, "sq": 2, "squared": 2, "cubic": 3, "cu": 3, "cubed": 3}
# Behind a unit and a blank these are words and directions (5 km N), unless they have an exponent.
_NO_FACTORS = ("in", "N", "W", "A", "C", "F")


@dataclass(frozen=True, slots=True)
class _Unit:
    """A value is (number + zero) * factor in the product of the dimensions."""

    factor: Fraction
    dimensions: tuple[tuple[str, int], ...]
    zero: Fraction = Fraction(0)


def unit_of(text: str, start: int, end: int) -> str:
    """The unit of the number at [start, end): the sign of a currency in front of it, else what stands behind.

    >>> unit_of("It is €18 now.", 6, 9), unit_of("It is $18$ km", 6, 9), unit_of("It is $18", 6, 9)
    ('€', 'km', '$')
    """
    numeral = text[start:end]
    sign = re.search(r"[$€£¥₹]", numeral)
    is_latex = "\\$" not in numeral and (numeral.count("$") > 1 or _MATH_ENDS.match(text, end))
    if sign and not (sign[0] == "$" and is_latex):
        return sign[0]
    return unit_behind(text, end)


def unit_behind(text: str, place: int) -> str:
    """The unit, else the word, right behind a number; empty if there is none.

    >>> unit_behind("It is 5 km / h.", 7), unit_behind("5 kJ mol^{-1} in all", 1), unit_behind("5 apples", 1)
    ('km / h', 'kJ mol^-1', 'apples')
    """
    behind = text[place : place + _UNIT_CHARACTERS].partition("\n")[0]
    if _DOLLARS.match(behind) and text.count("$", text.rfind("\n", 0, place) + 1, place) % 2 == 0:  # LaTeX's are pairs
        return "$"
    behind, end = plain_unit(_END_OF_MATH.sub("", behind)), 0
    while term := _TERM.match(behind, end):
        known = _of_name(term["name"], _units())
        joined_by_blank = end and not term["joint"].strip() and not (term["exponent"] or term["power"])
        if (
            known is None
            or (not end and term["joint"] not in ("", " ", "-"))
            or (joined_by_blank and term["name"] in _NO_FACTORS)
        ):
            break
        end = term.end() - (term[0].endswith(")") and "(" not in term[0])
        if known[0] in CURRENCIES:
            break
    if not end and (word := _WORD.match(behind)) and word[0] != "in":
        end = word.end()
    return behind[:end].lstrip("-")


def plain_unit(text: str) -> str:
    """A unit without LaTeX's marks, and with one form for each sign.

    >>> plain_unit("$\\\\mathrm{~kJ} \\\\mathrm{~mol}^{-1}$"), plain_unit("m²"), plain_unit("$")
    ('kJ mol^-1', 'm^2', '$')
    """
    # A single sign in front is of money, LaTeX's are pairs.
    money = "$" if text.count("$") == 1 and text.strip().lstrip("\\").startswith("$") else ""
    plain = money + " ".join(_LATEX.sub(" ", text.removeprefix("\\$") if money else text).replace("−", "-").split())
    for pattern, form in _FORMS:
        plain = pattern.sub(form, plain)
    return _SUPERSCRIPT.sub(lambda match: "^" + match[0].translate(_DIGITS_OF), plain).strip()


def in_unit(value: float, unit: str, wanted: str | None, near: float | None = None) -> float | None:
    """A value in the wanted unit; None if its own is known to be of another dimension. Without one of the two, as it
    stands.

    What stands behind a number may be no unit at all (5 apples): such a value counts as one in the wanted unit. Where
    the wanted unit holds a power of ten (10^-19 J), a reply gives it with its number (3.52e-19 J) or leaves it to the
    unit (3.52): of the two, the one of the order of magnitude of `near`, the number that is right, is meant.

    >>> in_unit(2.0, "km", "m"), in_unit(2.0, "s", "m"), in_unit(2.0, "apples", "m"), in_unit(2.0, "", "m")
    (2000.0, None, 2.0, 2.0)
    >>> in_unit(2000.0, "m", "10^3 m", near=2.1), in_unit(2.0, "", "10^3 m", near=2.1)
    (2.0, 2.0)
    >>> in_unit(72.0, "hours", "days"), in_unit(36.0, "km/h", "m/s"), in_unit(212.0, "°F", "°C"), in_unit(5.0, "€", "$")
    (3.0, 10.0, 100.0, None)
    """
    if not wanted:
        return value
    exponent, base = _exponent_and_unit(wanted)
    meant = _converted(value, plain_unit(unit), base)
    if meant is None or not exponent or not near or not meant:
        return meant
    with_power = meant * 10.0**-exponent
    return min((meant, with_power), key=lambda candidate: abs(math.log10(abs(candidate / near))))


def _converted(value: float, unit: str, wanted: str) -> float | None:
    names = {short_unit(unit), short_unit(wanted)}
    own, right = _parsed(unit), _parsed(wanted)
    # Pounds are of mass or money.
    if len(names) == 1 or own is None or right is None or names == {"lb", "£"}:
        return value
    if own.dimensions != right.dimensions:
        # "3 miles per day" answers a question for miles.
        numerator = re.split(r" (?:per|an?) ", unit, maxsplit=1)[0]
        return None if numerator == unit else _converted(value, numerator, wanted)
    factor = own.factor / right.factor
    if own.zero == right.zero:
        return value * float(factor) if factor >= 1 else value / float(1 / factor)
    return value * float(factor) + float(own.zero * factor - right.zero)


_TEN_TO = re.compile(r"10\^(-?[0-9]{1,3})(?![0-9.])\s?(.*)", re.DOTALL)
WORDS_FOR_POWERS = {"hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12}


def _exponent_and_unit(unit: str) -> tuple[int, str]:
    """The power of ten that a unit begins with, 0 without one, and the unit behind it.

    >>> _exponent_and_unit("10^{-19} J"), _exponent_and_unit("million euros"), _exponent_and_unit("km")
    ((-19, 'J'), (6, 'euros'), (0, 'km'))
    """
    plain = plain_unit(unit)
    if match := _TEN_TO.fullmatch(plain):
        return int(match[1]), match[2]
    word, _, behind = plain.partition(" ")
    exponent = WORDS_FOR_POWERS.get(word.lower().removesuffix("s"), 0)
    return exponent, behind if exponent else plain


def short_unit(unit: str) -> str:
    """The symbol of a unit where it is known, else the unit without LaTeX's marks.

    >>> short_unit("kilograms"), short_unit("apples")
    ('kg', 'apples')
    """
    plain = plain_unit(unit)
    known = _of_name(plain, _units())
    return known[0] if known else plain


def is_unit(unit: str) -> bool:
    """Whether it is a known unit, or a product or quotient of such ones.

    >>> is_unit("km / h"), is_unit("apples"), is_unit("")
    (True, False, False)
    """
    return _parsed(plain_unit(unit)) is not None


@lru_cache(maxsize=1)
def _units() -> dict[str, tuple[str, _Unit]]:
    """Symbol and unit of each name."""
    units: dict[str, tuple[str, _Unit]] = {}
    for name, symbol, factor, of in all_names():
        if name not in units:
            base = None if of == symbol else _product(of, units)
            base = base or _Unit(Fraction(1), ((of, 1),))
            zero = ZERO_POINTS.get(symbol, Fraction(0))
            units[name] = symbol, _Unit(factor * base.factor, base.dimensions, zero)
    return units


def _of_name(name: str, units: dict[str, tuple[str, _Unit]]) -> tuple[str, _Unit] | None:
    """Words may have capitals, of symbols these are others: Pa and pA are two."""
    return units.get(name) or (units.get(name.lower()) if len(name) > 3 else None)


@lru_cache(maxsize=4096)
def _parsed(unit: str) -> _Unit | None:
    """A product or quotient of known units; None if a part of it is not known."""
    return _product(unit, _units())


def _product(unit: str, units: dict[str, tuple[str, _Unit]]) -> _Unit | None:
    factor, dimensions, zero = Fraction(1), dict[str, int](), Fraction(0)
    place, sign, n_terms = 0, 1, 0
    while term := _TERM.match(unit, place):
        known = _of_name(term["name"], units)
        # Replies give "$18" and "$18 per hour" alike: quotients of money are no known units.
        if known is None or (known[0] in CURRENCIES and term[0] != unit):
            return None
        # All behind a slash is divided by: J/mol K is J/(mol K).
        sign = -1 if term["joint"].strip() not in ("", "·", "-") else sign
        power = sign * int(term["exponent"] or _POWERS.get(term["power"] or (term["squared"] or "").strip(), 1))
        factor *= known[1].factor ** power
        zero = known[1].zero if place == 0 and power == 1 else Fraction(0)
        for dimension, exponent in known[1].dimensions:
            dimensions[dimension] = dimensions.get(dimension, 0) + power * exponent
        place, n_terms = term.end(), n_terms + 1
    if place != len(unit) or not n_terms or not 1e-150 < factor < 1e150:
        return None
    return _Unit(factor, tuple(sorted((name, power) for name, power in dimensions.items() if power)), zero)
