"""How often an answer comes again among the samples of its question."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Ints, check_count
from calprobe.confidence.samples.entropy import check_classes


def frequencies(classes: npt.ArrayLike, asked: int) -> Floats:
    """The share of the samples that give the same answer, `#{j: class_j = class_i} / n`. Larger is surer.

    A sample counts itself. Those without an answer count in n, and so make every answer less frequent. Response level:
    a value for each sample (Wang et al. 2023; "frequency of answer").

    Args:
        classes: [samples], from 0 on; -1: no answer.
        asked: n, at least the number of samples.
    Returns:
        [samples], in [1/n, 1]; 0 where there is no answer.
    Raises:
        ValueError: more samples than were asked for, or none asked for.

    >>> frequencies([0, 0, 1, -1], asked=5).tolist()
    [0.4, 0.4, 0.2, 0.0]
    """
    numbers = check_classes(classes)
    check_count("asked", asked, max(1, len(numbers)))
    counts = np.bincount(numbers[numbers >= 0], minlength=1)
    shares: Floats = np.where(numbers >= 0, counts[np.maximum(numbers, 0)], 0) / asked
    return shares


def most_frequent(classes: npt.ArrayLike) -> Ints:
    """The classes with most samples, ascending: several where they tie; none where no sample has an answer.

    >>> most_frequent([1, 0, 1, 0, 2]).tolist(), most_frequent([-1]).tolist()
    ([0, 1], [])
    """
    numbers = check_classes(classes)
    answered = numbers[numbers >= 0]
    if not len(answered):
        return answered
    counts = np.bincount(answered)
    tied: Ints = np.flatnonzero(counts == counts.max())
    return tied
