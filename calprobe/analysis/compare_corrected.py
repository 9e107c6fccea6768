"""The p-values of a comparison, corrected for their number: Holm's way, and by the resamples that they come from."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np

from calprobe.analysis.compare_results import Contrast, Corrected
from calprobe.arrays import Floats
from calprobe.metrics import holm, max_t

C = TypeVar("C", bound=Corrected)


def corrected(comparison: C) -> C:
    """The comparison with every p-value corrected for all of them, those of equivalence among themselves."""
    tested = list(comparison.contrasts)
    p_values = np.array([own.difference.p_value for own in tested])
    by_holm = iter(holm(p_values).tolist())
    by_max_t = iter(_by_max_t(tested, p_values).tolist())
    margins = [own.equivalence for own in tested if own.equivalence is not None]
    within = iter(holm([own.p_value for own in margins]).tolist())

    def change(own: Contrast) -> Contrast:
        equal = own.equivalence and replace(own.equivalence, p_holm=next(within))
        return replace(own, p_holm=next(by_holm), p_max_t=next(by_max_t), equivalence=equal, draws=None)

    return comparison.replaced(change)


def _by_max_t(tested: list[Contrast], p_values: Floats) -> Floats:
    """Adjusted p-values, [tests], none below its own p; NaN where there is no test.

    Tests of other instances have resamples of their own, which are taken for independent: that corrects too much rather
    than too little (Sidak 1967).
    """
    found = np.full(len(tested), np.nan)
    places = [at for at, own in enumerate(tested) if own.draws is not None and not np.isnan(p_values[at])]
    if not places:
        return found
    draws = [own.draws for own in (tested[at] for at in places) if own.draws is not None]
    adjusted = max_t([own.statistic for own in draws], np.array([own.null_statistics() for own in draws]))
    found[places] = np.maximum(adjusted, p_values[places])
    return found
