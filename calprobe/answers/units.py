"""Units behind numbers: the text of one, and whether two are the same up to a power of ten."""

from __future__ import annotations

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
}


def unit_behind(text: str, place: int) -> str:
    """The word or symbol right behind a number; empty if there is none. Not every word there is a unit.

    >>> unit_behind("It is 5 km/h.", 7), unit_behind("It is 5.", 7)
    ('km/h', '')
    """
    behind = plain_unit(text[place : place + 60].partition("\n")[0])
    found = _UNIT.match(behind)
    return found["unit"] if found else ""


def plain_unit(text: str) -> str:
    """A unit without LaTeX's marks.

    >>> plain_unit("$\\\\mathrm{~kJ} \\\\mathrm{~mol}^{-1}$")
    'kJ mol^-1'
    """
    return re.sub(r" ?\^ ?", "^", " ".join(_LATEX.sub(" ", text).replace("−", "-").split()))


def in_unit(value: float, unit: str, wanted: str | None) -> float | None:
    """A value in the wanted unit; None if its own is known to be another. Without one of the two, as it stands.

    What stands behind a number may be no unit at all (5 apples): such a value counts as one in the wanted unit.

    >>> in_unit(2.0, "km", "m"), in_unit(2.0, "s", "m"), in_unit(2.0, "apples", "m"), in_unit(2.0, "", "m")
    (2000.0, None, 2.0, 2.0)
    """
    if not unit or not wanted:
        return value
    power = power_of_ten(unit, wanted)
    if power is not None:
        return value * 10.0**power
    return None if same_unit(unit, wanted) is False else value


def same_unit(first: str, second: str) -> bool | None:
    """Whether two units are the same; None if one of them is not known as a unit, so that nothing can be said.

    >>> same_unit("kg", "kilograms"), same_unit("kg", "m"), same_unit("kg", "apples")
    (True, False, None)
    """
    one, other = short_unit(first), short_unit(second)
    if one == other:
        return True
    known = _parts(one), _parts(other)
    return None if None in known else False


def power_of_ten(first: str, second: str) -> int | None:
    """What a value in the first unit is multiplied with, as a power of ten, to be one in the second; None if it is not
    known. Prefixes of single units are, powers and quotients of units are not.

    >>> power_of_ten("km", "m"), power_of_ten("km", "s")
    (3, None)
    """
    one, other = _parts(short_unit(first)), _parts(short_unit(second))
    return one[0] - other[0] if one and other and one[1] == other[1] else None


def short_unit(unit: str) -> str:
    """The symbol of a unit where it is known, else the unit without LaTeX's marks.

    >>> short_unit("kilograms"), short_unit("apples")
    ('kg', 'apples')
    """
    plain = plain_unit(unit).replace("μ", "u").replace("µ", "u")
    return _SPELLED.get(plain, _SPELLED.get(plain.lower(), plain))


def _parts(unit: str) -> tuple[int, str] | None:
    """Power of ten and base of a single unit."""
    for base in sorted(_BASES, key=len, reverse=True):
        prefix = unit.removesuffix(base)
        if prefix != unit and prefix in _PREFIXES:
            return _PREFIXES[prefix], base.replace("l", "L") if base == "l" else base
    return (0, unit) if unit in ("%", "$", "€", "min", "h", "cents", "°C", "°F", "angstrom", "atm") else None
