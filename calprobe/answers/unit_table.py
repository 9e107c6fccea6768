"""Known units, each by its names, as a multiple of a product of earlier ones."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

# Symbol and name of a prefix, and its power of ten. K is no prefix of SI, and KJ a common way to write kJ.
_PREFIXES = (
    *(("P", "peta", 15), ("T", "tera", 12), ("G", "giga", 9), ("M", "mega", 6), ("k", "kilo", 3), ("K", "kilo", 3)),
    *(("h", "hecto", 2), ("da", "deca", 1), ("d", "deci", -1), ("c", "centi", -2), ("m", "milli", -3)),
    *(("u", "micro", -6), ("n", "nano", -9), ("p", "pico", -12), ("f", "femto", -15)),
)
# Symbols | names, of which the plural with -s is another | factor | of what. Nothing behind: a dimension of its own.
_PREFIXED = """
m | metre meter | 1 |
g | gram gramme | 1 |
s | second sec | 1 |
A | ampere amp | 1 |
K | kelvin | 1 |
mol | mole | 1 |
B | byte | 1 |
N | newton | 1000 | g m s^-2
J | joule | 1 | N m
W | watt | 1 | J s^-1
Pa | pascal | 1 | N m^-2
Hz | hertz | 1 | s^-1
C | coulomb | 1 | A s
V | volt | 1 | W A^-1
F | farad | 1 | C V^-1
ohm | | 1 | V A^-1
T | tesla | 1 | V s m^-2
L l | litre liter | 0.001 | m^3
eV | electronvolt | 1.602176634e-19 | J
cal | calorie | 4.184 | J
bar | | 100000 | Pa
Wh | watthour | 3600 | J
"""
_ALONE = """
$ | dollar USD | 1 |
€ | euro EUR | 1 |
£ | GBP | 1 |
¥ | yen JPY | 1 |
₹ | rupee INR | 1 |
% | percent | 1 |
cents | cent ¢ | 0.01 | $
pence | p penny | 0.01 | £
rad | radian | 1 | m m^-1
°C | | 1 | K
°F | | 5/9 | K
min | minute | 60 | s
h | hour hr | 60 | min
d | day | 24 | h
week | wk | 7 | d
year | yr | 365.25 | d
month | | 1/12 | year
decade | | 10 | year
century | centurie | 100 | year
in | inch inche | 0.0254 | m
ft | foot feet | 12 | in
yd | yard | 3 | ft
mi | mile | 1760 | yd
AU | | 149597870700 | m
ly | light-year | 9460730472580800 | m
angstrom | Å | 1e-10 | m
lb | pound | 453.59237 | g
oz | ounce | 1/16 | lb
slug | | 14593.902937 | g
t | tonne | 1000000 | g
acre | | 4840 | yd^2
hectare | | 10000 | m^2
gal | gallon | 231 | in^3
quart | qt | 1/4 | gal
pint | pt | 1/8 | gal
cc | | 0.000001 | m^3
atm | atmosphere | 101325 | Pa
Torr | torr mmHg | 101325/760 | Pa
psi | | 6894.757293168 | Pa
mph | | 1 | mi h^-1
kph | kmh kmph | 1000 | m h^-1
knot | | 1852 | m h^-1
Nm | | 1 | N m
"""
# What is added to a temperature before its factor makes kelvins of it.
ZERO_POINTS = {"°C": Fraction("273.15"), "°F": Fraction("459.67")}
CURRENCIES = ("$", "€", "£", "¥", "₹", "cents", "pence")


def all_names() -> Iterator[tuple[str, str, Fraction, str]]:
    """Each name of a unit with the unit's symbol, its factor and of what. An earlier one of the same name is meant."""
    prefixed = list(_rows(_PREFIXED))
    for symbols, names, factor, of in (*prefixed, *_rows(_ALONE)):
        for name in (*symbols, *names, *_plurals(names), *_plurals(name for name in symbols if name.islower())):
            yield name, symbols[0], factor, of or symbols[0]
    for symbols, names, factor, of in prefixed:
        for sign, word, power in _PREFIXES:
            larger = factor * Fraction(10) ** power
            shown = sign.replace("K", "k") + symbols[0]
            for name in (*symbols, *(f"{symbol}s" for symbol in symbols if symbol in ("m", "g"))):
                yield sign + name, shown, larger, of or symbols[0]
            for name in (*names, *_plurals(names), *(symbols if len(symbols[0]) > 2 else ())):
                yield word + name, shown, larger, of or symbols[0]


def _rows(table: str) -> Iterator[tuple[list[str], list[str], Fraction, str]]:
    for line in table.strip().splitlines():
        symbols, names, factor, of = (field.strip() for field in line.split("|"))
        numerator, _, denominator = factor.partition("/")
        yield symbols.split(), names.split(), Fraction(numerator) / Fraction(denominator or 1), of


def _plurals(names: list[str] | Iterator[str]) -> Iterator[str]:
    return (f"{name}s" for name in names if len(name) > 1)
