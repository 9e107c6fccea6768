"""Numbers in other units: of another dimension they are wrong, of the same one they are converted."""

from __future__ import annotations

import pytest
from asked_questions import number
from hypothesis import given
from hypothesis import strategies as st

from calprobe.answers import grade
from calprobe.answers.number_reader import read_extracted, read_number
from calprobe.answers.unit_table import all_names
from calprobe.answers.units import in_unit, plain_unit, short_unit

NAMES = sorted({name for name, *_ in all_names()})


def test_names_and_signs() -> None:
    assert plain_unit(r" $\mathrm{~Pa} \mathrm{~m}^3 \mathrm{~mol}^{-1}$") == "Pa m^3 mol^-1"
    assert [short_unit(name) for name in (r"$\mathrm{kg}$", "kilograms", r"\mu m", "degrees Celsius")] == [
        "kg",
        "kg",
        "um",
        "°C",
    ]


# Gold number and unit, and a reply with the same number or another.
WRONG = [
    (5, "m", ("5 centimeters", "5 millimetres", "5 feet", "5 kilometers", "5 m^2", "5 m/s", "5 seconds", "$5")),
    (5, "mL", ("5 liters", "5 L")),
    (5, "L", ("5 milliliters", "5 mL", "5 gallons")),
    (5, "g", ("5 milligrams", "5 kg", "5 ounces")),
    (5, "W", ("5 megawatts", "5 J")),
    (5, "J/mol", ("5 kJ/mol", "5 kilojoules per mole", "5 kJ mol^-1")),
    (36, "m/s", ("36 km/h", "36 kilometers per hour", "36 m")),
    (50, "km/h", ("50 mph", "50 miles per hour", "50 miles an hour")),
    (32, "m/s^2", ("32 ft/s^2", "32 m/s", r"$32 \mathrm{~ft} / \mathrm{s}^2$")),
    (5, "cm^2", ("5 m^2", "5 square meters", "5 m²", "5 cm")),
    (42, "km", ("42 miles",)),
    (5, "cm", ("5 inches", "5 in", "5 in.")),
    (5, "kg", ("5 lb", "5 pounds", "5 lbs")),
    (72, "hours", ("72 days", "72 minutes")),
    (5, "months", ("5 years", "5 weeks")),
    (5, "days", ("5 weeks",)),
    (18, "$", ("€18", "£18", "18 euros", "18 cents")),
    (18, "€", ("$18", "18 $", "18 dollars")),
    (100, "°C", ("100 degrees Fahrenheit", "100 °F", "100 K")),
]
RIGHT = [
    (5, "m", ("500 cm", "5 meters", "5000 millimetres", "5 apples", "5", "0.005 km", "16.404 ft", "5 in total")),
    (5, "mL", ("0.005 liters", "5 cm^3", "5 cc")),
    (5, "J/mol", ("5 J mol^-1", "0.005 kJ/mol", "5 joules per mole", r"$5 \mathrm{~J} / \mathrm{mol}$")),
    (8.314, "J/(mol K)", ("8.314 J K^-1 mol^-1", "8.314 J/mol·K", "8.314 J/mol K", "8.314 J/(mol·K)")),
    (10, "m/s", ("36 km/h", "10 meters per second", "10 m s^-1")),
    (3, "days", ("72 hours", "3 days", "3 d")),
    (72, "hours", ("3 days",)),
    (18, "$", ("$18", "18 dollars", "18 $", "1800 cents", "$18 per day", "$18$", r"\$18", "18")),
    (5, "£", ("5 pounds", "£5")),
    (18, "$/hour", ("$18", "$18 per hour", "18 dollars an hour")),
    (0.3048, "m", ("1-foot", "1 ft")),
    (100, "°C", ("100 degrees Celsius", "212 °F", "100 degrees", "373.15 K")),
    (3, "miles", ("3 miles per day", "3 miles a day")),
    (12, "N m", ("12 J", "12 Nm")),
    (9.81, "m/s^2", ("9.81 ± 0.02 m/s^2", r"9.81 \pm 0.02 m/s²", "981 cm/s^2 +/- 2")),
]


@pytest.mark.parametrize(
    ("right", "gold", "expected"),
    [(r, g, False) for g in WRONG for r in g[2]] + [(r, g, True) for g in RIGHT for r in g[2]],
)
def test_a_value_in_another_unit(right: str, gold: tuple[float, str, tuple[str, ...]], expected: bool) -> None:
    for form in ("{}", "{}.", "The answer is {}.", "It is {}\n"):
        for read in (read_number, read_extracted):
            assert grade(read(form.format(right)), number(*gold[:2])).correct is expected


@given(st.sampled_from(NAMES), st.sampled_from(NAMES), st.floats(-1e6, 1e6).filter(lambda value: abs(value) > 1e-3))
def test_there_and_back_is_the_value(one: str, other: str, value: float) -> None:
    there = in_unit(value, one, other)
    back = in_unit(value, other, one)
    assert (there is None) == (back is None)
    if there is not None:
        assert in_unit(there, other, one) == pytest.approx(value, rel=1e-9, abs=1e-9)


@given(st.sampled_from(NAMES), st.sampled_from(NAMES), st.integers(1, 3))
def test_a_quotient_is_converted_as_its_units(one: str, other: str, power: int) -> None:
    """1 a^n / b is a^n b^-1, and 1 in its own unit."""
    quotient, product = f"{one}^{power} / {other}", f"{one}^{power} {other}^-1"
    assert in_unit(1.0, quotient, product) == pytest.approx(1.0)


@given(st.text(max_size=80), st.text(max_size=80), st.floats(allow_nan=False, allow_infinity=False))
def test_any_unit_is_taken(unit: str, wanted: str, value: float) -> None:
    in_unit(value, unit, wanted, near=5.0)
    in_unit(value, "Pm^9 PT^9 " + unit, "Pm^9 PT^9 fm^-9 PT" + wanted)
