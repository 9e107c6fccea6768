"""All replies that a scale allows: the closed set that a model chooses from when it states a confidence."""

from __future__ import annotations

from collections.abc import Mapping
from string import ascii_lowercase

from calprobe.errors import UsageError
from calprobe.words import REVERSED

Forms = tuple[str, ...]  # of one reply; the first is its name


def closed_replies(scale: str, expressions: Mapping[str, float] | None = None) -> tuple[Forms, ...]:
    """The replies of a scale, each in the forms in which it may be written; `read_on_scale` reads all of them.

    `x`: 0.00 to 1.00 by hundredths, tenths with one decimal too, and 0 and 1. `x/100`: 0% to 100%, and without the
    sign. `x/10`: 0 to 10. `expressions`: each as it stands, and in lower case. `letters`: a, b, .., and A, B, ..

    Args:
        scale: one of `calprobe.prompts.types.SCALES`; the direction changes nothing.
        expressions: of the scales `expressions` and `letters`.
    Raises:
        UsageError: another scale, or one of expressions without expressions.

    >>> closed_replies("x")[80], closed_replies("1 - x/100")[7], len(closed_replies("x/10"))
    (('0.80', '0.8'), ('7%', '7'), 11)
    >>> closed_replies("letters", {"Never": 0.0, "Ever": 1.0})
    (('a', 'A'), ('b', 'B'))
    """
    forward = scale.removeprefix(REVERSED)
    if forward == "x":
        return tuple(map(_decimal, range(101)))
    if forward == "x/100":
        return tuple((f"{percent}%", f"{percent}") for percent in range(101))
    if forward == "x/10":
        return tuple((f"{tenths}",) for tenths in range(11))
    if forward not in ("expressions", "letters"):
        raise UsageError(f"no scale {scale!r}; use x, x/100, x/10, expressions or letters, or 1 - one of these")
    if not expressions:
        raise UsageError(f"the scale {scale!r} needs the expressions and what each stands for")
    if forward == "letters":
        return tuple((letter, letter.upper()) for letter in ascii_lowercase[: len(expressions)])
    return tuple(tuple(dict.fromkeys((expression, expression.lower()))) for expression in expressions)


def _decimal(hundredths: int) -> Forms:
    """0.85; 0.80 and 0.8; 1.00, 1.0 and 1."""
    forms = [f"{hundredths / 100:.2f}"]
    if hundredths % 10 == 0:
        forms.append(f"{hundredths / 100:.1f}")
    if hundredths % 100 == 0:
        forms.append(f"{hundredths // 100}")
    return tuple(forms)
