"""Confidences with correctness, as hypothesis strategies: free values, and coarse ones that tie."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

_FREE = st.floats(0.0, 1.0)
_TWENTIETHS = st.integers(0, 20).map(lambda k: k / 20)  # ties, and values on the edges of ECE's and ACE's bins
_FEW = st.sampled_from([0.0, 0.2, 0.4, 1.0])


@st.composite
def samples(draw: st.DrawFn, least: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Confidence float64 [instances] and correctness bool [instances]."""
    value = draw(st.sampled_from([_FREE, _TWENTIETHS, _FEW, st.one_of(_FREE, _TWENTIETHS)]))
    pairs = draw(st.lists(st.tuples(value, st.booleans()), min_size=least, max_size=120))
    return np.array([c for c, _ in pairs], float), np.array([y for _, y in pairs], bool)
