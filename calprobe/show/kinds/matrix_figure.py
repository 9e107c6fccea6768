"""Heat maps: a share of each variant and set, and correlations of names by names."""

from __future__ import annotations

import math
from dataclasses import dataclass

from calprobe.measures.number_text import short
from calprobe.show.marks import Cells

PEARSON = "Pearson's correlation of the confidences under each two prompts"


@dataclass(frozen=True, slots=True)
class Matrix:
    """A number of each variant and set, a share of 1."""

    name: str  # the metric's, as tidy files have it
    title: str
    variants: tuple[str, ...]
    sets: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]  # [variants][sets], in [0, 1]; NaN where there is none

    @property
    def panel(self) -> Cells:
        """The darker, the nearer to 1."""
        return Cells(self.title, self.variants, self.sets, self.values, share, label=f"{self.title}, variants by sets.")


@dataclass(frozen=True, slots=True)
class Correlations:
    """Correlations of the confidences under each two prompts, or of each two confidences."""

    title: str
    prompts: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]  # [prompts][prompts], in [-1, 1]; NaN where undefined
    of: str = PEARSON
    numbered: bool = True  # whether a page puts numbers behind the names; False: they have them

    @property
    def panel(self) -> Cells:
        """Red above 0, blue below, the darker the farther from 0."""
        return Cells(self.title, self.prompts, self.prompts, self.values, signed, True, self.numbered, f"{self.of}.")


def share(value: float) -> str:
    """Three decimals, a dash for NaN."""
    return f"{value:.3f}" if math.isfinite(value) else "–"


def signed(value: float) -> str:
    """Of a number in [-1, 1] three characters and its sign, a dash for NaN.

    >>> signed(1.0), signed(-0.25), signed(float("nan"))
    ('1.0', '−.25', '–')
    """
    if math.isnan(value):
        return "–"
    return short(value, 2).replace("-", "−").replace("1.00", "1.0")
