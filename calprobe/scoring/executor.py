"""What every way of running a model has in common: token rows in, token log-probabilities out."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from calprobe.statements.token_rows import TokenRows


class Executor(Protocol):
    """Scores token rows with one model along one path. Paths differ in speed, never in what they compute."""

    def score(self, rows: TokenRows) -> npt.NDArray[np.float32]:
        """Natural-log probability of every token of `rows`, [tokens], <= 0, in the order of `rows.token_ids`.

        The result for a statement depends neither on the order of `rows` nor on duplicates among them.
        """
