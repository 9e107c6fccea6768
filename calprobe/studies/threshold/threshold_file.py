"""A threshold in a file: fixed on one run or table, to decide on new scores."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self, get_args

import numpy as np
import numpy.typing as npt

from calprobe.arrays import check_vector
from calprobe.confidence.estimator import Scale
from calprobe.runs.written_file import WrittenFile

_ROUNDING = 1e-9  # of probabilities that were summed

FILE = WrittenFile("calprobe threshold", "a threshold", "--out", "calprobe threshold RUN --risk .. --out FILE")


@dataclass(frozen=True, slots=True)
class Threshold:
    """Which scores are to be trusted, and the promise that goes with that.

    >>> threshold = Threshold("margin", 0.7, True, 0.05, 0.95, "runs/clm", 233)
    >>> threshold.answers([0.9, 0.7, 0.1]).tolist()
    [True, True, False]
    """

    score: str  # estimator or column
    threshold: float  # in units of the score
    at_least: bool  # whether larger scores are surer; False: smaller ones are
    risk: float  # at most so many of further answers are wrong
    level: float  # of the promise
    fixed_on: str  # run or file
    tested: int  # answers that it was tested on
    scale: Scale | None = None  # of the score; None: a file that does not say

    def __post_init__(self) -> None:
        if not isinstance(self.threshold, float | int):
            raise TypeError(f"threshold {self.threshold!r} is no number")
        if self.scale is not None and self.scale not in get_args(Scale):
            raise ValueError(f"no scale {self.scale!r}")

    def off_scale(self, scores: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Which scores cannot be of the threshold's scale, [scores]: of probabilities, those below 0 or above 1."""
        values = check_vector("scores", scores)
        is_off = (values < -_ROUNDING) | (values > 1 + _ROUNDING)
        return is_off if self.scale == "probability" else np.zeros(len(values), np.bool_)

    def answers(self, scores: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Where to answer, [scores]; abstain elsewhere, and where a score is NaN.

        Raises ValueError for no numbers, and for those of another scale.
        """
        values = check_vector("scores", scores)
        if (wrong := values[self.off_scale(values)]).size:
            raise ValueError(f"scores must lie between 0 and 1, as those of {self.fixed_on} do; got {wrong[0]:g}")
        decided: npt.NDArray[np.bool_] = values >= self.threshold if self.at_least else values <= self.threshold
        return decided

    def text(self) -> str:
        """The text of its file."""
        return FILE.text(asdict(self))

    @classmethod
    def load(cls, named: str | Path) -> Self:
        """The threshold in a file of `calprobe threshold --out`.

        Raises:
            DataMissingError: there is no such file.
            ProbeFormatError: it has something else in it.
        """
        return FILE.read(named, lambda fields: cls(**fields))
