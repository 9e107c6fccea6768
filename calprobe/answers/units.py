"""Units behind numbers: the text of one, and whether two are the same up to a power of ten."""

from __future__ import annotations

import math
import re

_LATEX = re.compile(r"\\(?:mathrm|text(?:rm|bf|it)?|mathbf|rm|left|right|[;:,! ])|[${}~]|\\(?=[()\[\]])")
_UNIT = re.compile(
    r"[^\S\n]?(?P<unit>\\?%|percent\b|per\scent\b|°[^\S\n]?[CF]?\b|[A-Za-zµμΩÅ°][\wµμΩÅ°]*(?:[·*/^][-−]?[\w()]+|\s?\^[-−]?[0-9]+|⁻?[¹²³]+)*)"
)
_PREFIXES = {
    "": 0,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "h": 2,
    "d": -1,
    "c": -2,
    "m": -3,
    "u": -6,
    "n": -9,
    "p": -12,
    "f": -15,
}
_BASES = (
    "m",
    "g",
    "s",
    "A",
    "K",
    "mol",
    "Hz",
    "N",
    "Pa",
    "J",
    "W",
    "C",
    "V",
    "F",
    "T",
    "L",
    "l",
    "eV",
    "bar",
    "cal",
    "ohm",
)
_SPELLED = {
    "percent": "%",
    "per cent": "%",
    "\\%": "%",
    "dollar": "$",
    "dollars": "$",
    "cent": "cents",
    "euro": "€",
    "euros": "€",
    "second": "s",
    "seconds": "s",
    "sec": "s",
    "minute": "min",
    "minutes": "min",
    "hour": "h",
    "hours": "h",
    "hr": "h",
    "meter": "m",
    "meters": "m",
    "metre": "m",
    "metres": "m",
    "kilometers": "km",
    "kilometres": "km",
    "gram": "g",
    "grams": "g",
    "kilogram": "kg",
    "kilograms": "kg",
    "mole": "mol",
    "moles": "mol",
    "joule": "J",
    "joules": "J",
    "kelvin": "K",
    "kelvins": "K",
    "volt": "V",
    "volts": "V",
    "watt": "W",
    "watts": "W",
    "newton": "N",
    "newtons": "N",
    "pascal": "Pa",
    "pascals": "Pa",
    "ohms": "ohm",
    "Ω": "ohm",
    "Å": "angstrom",
    "angstroms": "angstrom",
}


def unit_behind(text: str, place: int) -> str:
    """The word or symbol right behind a number; empty if there is none. Not every word there is a unit.

    >>> unit_behind("It is 5 km/h.", 7), unit_behind("It is 5.", 7)
    ('km/h', '')
    """
    behind = plain_unit(text[place : place + 60].partition("\n")[0])
    match = _UNIT.match(behind)
    return match["unit"] if match else ""


def plain_unit(text: str) -> str:
    """A unit without LaTeX's marks.

    >>> plain_unit("$\\\\mathrm{~kJ} \\\\mathrm{~mol}^{-1}$")
    'kJ mol^-1'
    """
    return re.sub(r" ?\^ ?", "^", " ".join(_LATEX.sub(" ", text).replace("−", "-").split()))


def in_unit(value: float, unit: str, wanted: str | None, near: float | None = None) -> float | None:
    """A value in the wanted unit; None if its own is known to be another. Without one of the two, as it stands.

    What stands behind a number may be no unit at all (5 apples): such a value counts as one in the wanted unit. Where
    the wanted unit holds a power of ten (10^-19 J), a reply gives it with its number (3.52e-19 J) or leaves it to the
    unit (3.52): of the two, the one of the order of magnitude of `near`, the number that is right, is meant.

    >>> in_unit(2.0, "km", "m"), in_unit(2.0, "s", "m"), in_unit(2.0, "apples", "m"), in_unit(2.0, "", "m")
    (2000.0, None, 2.0, 2.0)
    >>> in_unit(2000.0, "m", "10^3 m", near=2.1), in_unit(2.0, "", "10^3 m", near=2.1)
    (2.0, 2.0)
    """
    if not wanted:
        return value
    exponent, base = _exponent_and_unit(wanted)
    power = power_of_ten(unit, base) if unit and base else 0
    if power is None:
        if same_unit(unit, base) is False:
            return None
        power = 0
    meant = value * 10.0**power
    if not exponent or not near or not meant:
        return meant
    with_power = value * 10.0 ** (power - exponent)
    return min((meant, with_power), key=lambda candidate: abs(math.log10(abs(candidate / near))))


_TEN_TO = re.compile(r"10\^(-?[0-9]{1,3})(?![0-9.])\s?(.*)", re.DOTALL)
_WORDS_FOR_POWERS = {"hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12}


def _exponent_and_unit(unit: str) -> tuple[int, str]:
    """The power of ten that a unit begins with, 0 without one, and the unit behind it.

    >>> _exponent_and_unit("10^{-19} J"), _exponent_and_unit("million euros"), _exponent_and_unit("km")
    ((-19, 'J'), (6, 'euros'), (0, 'km'))
    """
    plain = plain_unit(unit)
    if match := _TEN_TO.fullmatch(plain):
        return int(match[1]), match[2]
    word, _, behind = plain.partition(" ")
    exponent = _WORDS_FOR_POWERS.get(word.lower().removesuffix("s"), 0)
    return exponent, behind if exponent else plain


def same_unit(first: str, second: str) -> bool | None:
    """Whether two units are the same; None if one of them is not known as a unit, so that nothing can be said.

    >>> same_unit("kg", "kilograms"), same_unit("kg", "m"), same_unit("kg", "apples")
    (True, False, None)
    """
    first_unit, second_unit = short_unit(first), short_unit(second)
    if first_unit == second_unit:
        return True
    parts = _parts(first_unit), _parts(second_unit)
    return None if None in parts else False


def power_of_ten(first: str, second: str) -> int | None:
    """What a value in the first unit is multiplied with, as a power of ten, to be one in the second; None if it is not
    known. Prefixes of single units are, powers and quotients of units are not.

    >>> power_of_ten("km", "m"), power_of_ten("km", "s")
    (3, None)
    """
    first_parts, second_parts = _parts(short_unit(first)), _parts(short_unit(second))
    return (
        first_parts[0] - second_parts[0] if first_parts and second_parts and first_parts[1] == second_parts[1] else None
    )


def short_unit(unit: str) -> str:
    """The symbol of a unit where it is known, else the unit without LaTeX's marks.

    >>> short_unit("kilograms"), short_unit("apples")
    ('kg', 'apples')
    """
    plain = plain_unit(unit).replace("μ", "u").replace("µ", "u")
    return _SPELLED.get(plain, _SPELLED.get(plain.lower(), plain))


def _parts(unit: str) -> tuple[int, str] | None:
    """Power of ten and base of a single unit."""
    if unit == "angstrom":
        return -10, "m"
    for base in sorted(_BASES, key=len, reverse=True):
        prefix = unit.removesuffix(base)
        if prefix != unit and prefix in _PREFIXES:
            return _PREFIXES[prefix], base.replace("l", "L") if base == "l" else base
    return (0, unit) if unit in ("%", "$", "€", "min", "h", "cents", "°C", "°F", "atm") else None
