"""Types that several stages use without knowing each other."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

ModelKind = Literal["causal", "masked"]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
