"""How many trials simulations take: few in the suite, more in `make fuzz`; and what they may miss by chance."""

from __future__ import annotations

import math
import os

TRIALS = 100 if "CALPROBE_FUZZ" in os.environ else 40


def chance(rate: float) -> float:
    """Three standard errors of the share of TRIALS that has this rate."""
    return 3 * math.sqrt(rate * (1 - rate) / TRIALS)
